"""Kill a run or a sweep, or fill its disk, at one change of the file system after another.

Called as a script, by `test_crash_points.py`: one warm process forks a child for every point, so
that each begins with netsim imported. Its arguments: the folder to work in, what is played (`run`,
`several`, `sweep`), what goes wrong (`killed`, `full`), and of the points every how many-th, from
which on. It prints JSON: how many points there are, and what was found wrong.

What a process leaves that is killed is what lies on the disk then. So one undisturbed process keeps
a copy of the folder before each change, and `resume` is tried on the copies; of changes that find
the same files with the same bytes (an fsync, say) on one. A few points are killed in earnest, and
must leave the files of their copy. A disk that is full changes what comes after: every such point
is played.

Changes are: opening a file so that it is made or emptied, every write that reaches the system,
truncating, fsync, renaming, linking, removing, making and removing folders. Opened, renamed and
removed files come from Python's audit events, before they happen; writes and fsync from
replacements. A file that nobody was seen to open would show that something writes past them.
"""

import builtins
import errno
import gc
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

SCENARIO = """\
horizon_s = 3.0
[nodes]
count = 3
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
validation = 0.2
[model]
kind = "mlp"
hidden = [4]
[metrics]
every_s = 1.0
keep = ["head"]
"""
ALGORITHMS = {
    "run": '[algorithm]\nkind = "dpsgd"\n',
    "several": '[[algorithm]]\nkind = "dpsgd"\n[[algorithm]]\nkind = "local"\npace = "rounds"\n',
    "sweep": '[algorithm]\nkind = "dpsgd"\n[sweep]\njobs = 1\nselect = "accuracy"\n'
    "[sweep.over]\n'training.learning_rate' = [0.1, 0.2]\n",
}
FIRST = {"sweep": ".sweep.csv"}
"""A sweep's own end begins with this file; what came before are runs."""
looks = []
"""One entry for each look of a run at whether a checkpoint is due, since the last command."""
MADE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
GROWS = {"open", "write", "os.mkdir", "os.link"}
"""Changes for which a full disk has no room."""
IN_EARNEST = 16
"""Of the points of which a copy is tried, every so many-th is killed, too."""


def files_of(folder):
    """Bytes of each file below a folder by its name, of a link where it leads, of a folder none."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path).encode()
        else:
            found[name] = b"" if path.is_dir() else path.read_bytes()
    return found


class Watch:
    """Counts changes below a folder, and lets one of them go wrong.

    Parameters
    ----------
    folder : Path
    at : int
        The change that goes wrong; 0: none.
    how : {"killed", "full"}
    from_first : str
        Only changes from the first one on that concerns a file of this name count.
    copies : Path, optional
        Gets a copy of the folder above for each state in which a change finds it.
    """

    def __init__(self, folder, at, how, from_first="", copies=None):
        self.folder, self.at, self.how = f"{folder}{os.sep}", at, how
        self.copies, self.states = copies, {}
        self.count, self.opened, self.is_full = 0, set(), False
        self.is_on, self.from_first = not from_first, from_first
        self.thread = threading.get_ident()

    def change(self, what, path):
        if threading.get_ident() != self.thread:
            return  # the heartbeat of a lock
        path = os.path.abspath(path)
        if not path.startswith(self.folder):
            return
        self.is_on |= os.path.basename(path).startswith(self.from_first)
        if not self.is_on or (self.how == "full" and what not in GROWS):
            return
        self.count += 1
        if self.copies is not None:
            self.copy(Path(self.folder).parent)
        if self.count == self.at and self.how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        self.is_full |= self.count == self.at
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def copy(self, place):
        files = files_of(place)
        state = hashlib.sha256(repr(files).encode()).hexdigest()
        if state not in self.states:
            shutil.copytree(place, self.copies / str(self.count), symlinks=True)
            self.states[state] = self.count

    def hook(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | os.PathLike) and flags & MADE:
                self.opened.add(os.path.abspath(path))
                is_made = flags & (os.O_CREAT | os.O_TRUNC)
                self.change("open" if is_made else "open to write over", path)
        elif event == "os.rename":
            _, target, *_ = arguments
            self.opened.add(os.path.abspath(target))
            self.change(event, target)
        elif event == "os.link":
            self.opened.add(os.path.abspath(arguments[1]))
            self.change(event, arguments[1])
        elif event in ("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.symlink"):
            self.change(event, arguments[0])

    def begin(self):
        watch, real_open, real_fsync = self, io.open, os.fsync

        class Counted(io.FileIO):
            def write(self, data):
                watch.change("write over" if "+" in self.mode else "write", self.name)
                return super().write(data)

            def truncate(self, size=None):
                watch.change("truncate", self.name)
                return super().truncate(size)

        def counted_open(file, mode="r", buffering=-1, encoding=None, *rest, **more):
            if isinstance(file, int) or not set(mode) & set("wax+"):
                return real_open(file, mode, buffering, encoding, *rest, **more)
            raw = Counted(os.fspath(file), mode.replace("b", "").replace("t", ""))
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding or "utf-8")

        def counted_fsync(descriptor):
            watch.change("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
            real_fsync(descriptor)

        io.open = builtins.open = counted_open
        os.fsync = counted_fsync
        sys.addaudithook(self.hook)


@cache
def command_line():
    """The command `netsim`, put together once: that takes as long as a run."""
    from typer.main import get_command

    from netsim.console.app import app

    return get_command(app)


def command(*arguments):
    """Call netsim in this process; its exit code and all that it said."""
    looks.clear()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            command_line().main(list(arguments), standalone_mode=True)
        except SystemExit as end:
            return end.code or 0, said.getvalue()
    return 0, said.getvalue()


def in_child(act):
    """Result of a function in a forked process; None if that was killed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            given = json.dumps(act()).encode()
        except BaseException as error:
            given = json.dumps({"error": repr(error)}).encode()
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(given)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        given = pipe.read()
    os.waitpid(child, 0)
    return json.loads(given) if given else None


def prepared():
    """Make checkpoints come by events, not by the clock, and pictures and fsync cheap.

    What pictures show is not looked at here; their files are written as ever. Power does not fail.
    """
    from matplotlib.figure import Figure

    from netsim.engine import polling
    from netsim.engine.checkpoints import journal, writing
    from netsim.views.render import pictures as figures
    from netsim.views.render.figure import style as plot_style

    def events(self):
        looks.append(0)
        return 10

    polling.Polling.events = events
    writing.Pace.is_due = lambda self: len(looks) in (2, 3)
    journal.KEPT = 1
    writing.Pace.postponed = lambda self, size_bytes: False

    def save(shown, heading, path):
        picture = Figure()
        picture.savefig = lambda file, **_: [file.write(bytes(10_000)) for _ in range(2)]
        return plot_style.save(picture, path)

    def draw(folder, *_):
        for name in ("curves", "weights"):
            save(None, "", folder / "figures" / f"{name}.png")

    figures.draw = figures.draw_comparison = draw
    figures.save = save
    os.fsync = lambda descriptor: None


def played(out):
    """The command that plays what is in `s.toml` into a folder."""
    return ("run", "s.toml", "--out", str(out), "-q")


def contents(folder):
    """Hash of each file of a finished folder by name, without times of the wall clock."""
    import pandas as pd

    from netsim.recording.checksums import sha256

    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or ".unfinished-" in name or "journal/" in name:
            continue
        if path.name.startswith("part-"):
            name = f"{name.rpartition('/')[0]}/"
            if name not in found:
                rows = pd.read_parquet(path.parent)
                found[name] = rows.to_csv(float_format="%r")
        elif path.name == "summary.json":
            summary = json.loads(path.read_text())
            for key in ("wall_s", "engine"):
                summary.pop(key)
            found[name] = json.dumps(summary)
        elif path.name in ("environment.json", "checksums.json", "report.html", "comparison.csv"):
            found[name] = "there"  # wall times, and what has been resumed
        elif path.name == "sweep.csv":
            found[name] = "there"
        elif path.name == "status.json" and "played_again" in path.read_text():
            told = json.loads(path.read_text())
            found[name] = json.dumps([told["state"], told["runs"], told["done"]])
        else:
            found[name] = sha256(path)
    return found


def go_on(what, out):
    """Go on with one command; what is wrong then."""
    commands = ["resume"] if out.exists() else []  # a run that could not begin leaves nothing
    code, said = command("resume", str(out), "-q") if commands else (0, "")
    if not commands or (code == 2 and "netsim run SCENARIO --out" in said):
        commands.append("run")
        code, said = command(*played(out))
    if code:
        return {"wrong": f"{commands} exit {code}: {said}", "commands": commands}
    again, said = command("resume", str(out), "-q")
    if again or "has ended" not in said:
        return {"wrong": f"resume once more: exit {again}: {said}", "commands": commands}
    code, said = command("verify", "--no-rerun", str(out))
    if code:
        return {"wrong": f"verify exit {code}: {said}", "commands": commands}
    hidden = [str(p) for p in out.rglob(".*") if p.name != ".parts" and "set_aside" not in str(p)]
    if hidden or list(out.glob("journal/*.json")):
        return {"wrong": f"left behind: {hidden}", "commands": commands}
    return {"wrong": "", "commands": commands, "contents": contents(out)}


def main(place, what, how, every, first):
    os.chdir(place)
    Path("s.toml").write_text(SCENARIO + ALGORITHMS[what])
    os.environ["XDG_STATE_HOME"] = os.path.abspath("state")

    first_file, place = FIRST.get(what, ""), Path("place")
    out, copies = place / "out", Path("copies")
    place.mkdir()
    copies.mkdir()

    def undisturbed():
        kept = copies if how == "killed" else None
        watch = Watch(os.path.abspath(out), 0, how, first_file, kept)
        watch.begin()
        code, said = command(*played(out))
        files = {str(p) for p in out.resolve().rglob("*") if p.is_file()}
        return {
            "points": watch.count,
            "copied": sorted(watch.states.values()),
            "code": code,
            "said": said,
            "unseen": sorted(files - watch.opened),
            "contents": contents(out),
        }

    prepared()
    for words in (played("warm"), ("resume", "warm"), ("verify", "--no-rerun", "warm")):
        command(*words)  # and imports what it needs
    gc.freeze()
    whole = in_child(undisturbed)
    assert whole["code"] == 0, whole["said"]
    found = {"points": whole["points"], "unseen": whole["unseen"], "wrong": {}, "tried": 0}
    found |= {"commands": {}, "copies": len(whole["copied"]), "killed": 0}

    def disturbed(at):
        watch = Watch(os.path.abspath(out), at, how, first_file)
        watch.begin()
        return command(*played(out))

    points = whole["copied"] if how == "killed" else range(1, whole["points"] + 1)
    for number, at in enumerate(points[first - 1 :: every]):
        shutil.rmtree(place)
        wrong, ended = "", None
        if how == "full" or number % IN_EARNEST == 0:
            place.mkdir()
            ended = in_child(lambda at=at: disturbed(at))
            if how == "full" and (not isinstance(ended, list) or ended[0] not in (0, 1, 2)):
                wrong = f"ended otherwise: {ended}"
            if how == "killed":
                left = [files_of(folder).keys() for folder in (place, copies / str(at))]
                if ended is not None:
                    wrong = f"was not killed: {ended}"
                elif left[0] != left[1]:
                    wrong = f"files of a copy and of a killed process: {left}"
                found["killed"] += 1
        else:
            shutil.move(copies / str(at), place)
        after = in_child(lambda: go_on(what, out))
        wrong = wrong or (str(after) if after is None or "error" in after else after["wrong"])
        if not wrong and after["contents"] != whole["contents"]:
            both = whole["contents"].keys() | after["contents"].keys()
            other = [n for n in both if whole["contents"].get(n) != after["contents"].get(n)]
            wrong = f"others than undisturbed: {other}"
        if wrong:
            found["wrong"][at] = f"{ended}\n{wrong}"
        found["tried"] += 1
        way = "+".join((after or {}).get("commands", ()))
        found["commands"][way] = found["commands"].get(way, 0) + 1
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
