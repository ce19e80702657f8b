"""Faults on the way end a run clearly: no incomplete result looks whole."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from netsim.engine import assembly
from netsim.errors import FolderError
from netsim.recording import whole_files
from netsim.recording.recorder import Recorder

ROOT = str(Path(__file__).parents[2])
TABLES = ("messages", "wakes", "metrics", "traffic", "graph")
SENDS = "algorithm={kind='dpsgd'}"
RUN = ("run", "s.toml", "--no-figures", "--no-report", "--set", SENDS, "--out", "out")

PAIRS = """
import sys
from netsim.console.app import app
for line in sys.stdin:
    try:
        app(["run", "s.toml", "--no-figures", "-q", "--out", line.strip(), *sys.argv[1:]])
    except SystemExit as end:
        print(end.code, flush=True)
"""


@pytest.fixture
def small_parts(here, monkeypatch):
    """Several parts in a short run: forty rows at most, and all that waits at some evaluations."""

    def checkpoint(self):
        seen.append(self)
        if len(seen) % 9 == 0:
            self._write_all()

    seen = []
    monkeypatch.setattr(assembly, "Recorder", partial(Recorder, part_rows=40))
    monkeypatch.setattr(Recorder, "checkpoint", checkpoint)


def rows(folder, table):
    parts = sorted((folder / table).glob("part-*.parquet"))
    return pd.concat([pd.read_parquet(p) for p in parts], ignore_index=True) if parts else None


@pytest.fixture
def whole(netsim, here, small_parts, once):
    """The tables of a run that nothing disturbs."""

    def play():
        assert netsim(*RUN[:-1], "undisturbed").exit_code == 0

    once("undisturbed", here / "undisturbed", play)
    return {table: rows(here / "undisturbed", table) for table in TABLES}


def require_clear_end(folder, result, reason, whole, told=True):
    """The run has failed and says why; what it has written is the beginning of what it is to be."""
    assert result.exit_code == 1, result.output
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert "done" not in ((folder / "status.json").read_text() if told else "")
    assert not list(folder.rglob("*.partial"))
    if told:
        assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    for table in TABLES:
        found = rows(folder, table)
        if found is not None:
            assert len(found) > 0, "an empty table that looks whole"
            same = whole[table].iloc[: len(found)]
            pd.testing.assert_frame_equal(found.astype(same.dtypes), same)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "lasting"),
    [
        pytest.param(errno.ENOSPC, True, id="full for good"),
        pytest.param(errno.ENOSPC, False, id="full for a moment"),
        pytest.param(errno.EDQUOT, True, id="quota"),
    ],
)
def test_a_disk_full_at_any_write(netsim, here, whole, monkeypatch, lasting, code):
    def fsync(file, real=os.fsync):
        calls.append(file)
        if len(calls) == n or (lasting and len(calls) > n):
            raise OSError(code, os.strerror(code))
        return real(file)

    monkeypatch.setattr(whole_files.os, "fsync", fsync)
    reason, n = os.strerror(code), 0
    while True:
        calls, n = [], n + 1
        result = netsim(*RUN, algorithms=False)  # no record of components, which may fail
        if result.exit_code == 0:
            break
        require_clear_end(here / "out", result, reason, whole, told=n > 6)
        assert f"can't be written: {reason}" in result.stderr
        far = ("s of virtual time and written", "all events had happened")
        assert any(text in result.stderr for text in far) == (n > 1)
        shutil.rmtree(here / "out", ignore_errors=True)
    assert n > 12  # the last write has been reached


@pytest.mark.slow
def test_a_run_folder_that_is_full_says_so_in_its_status(netsim, here, whole, monkeypatch):
    def fsync(file, real=os.fsync):
        calls.append(file)
        if len(calls) > 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file)

    calls = []
    monkeypatch.setattr(whole_files.os, "fsync", fsync)
    result = netsim(*RUN)
    require_clear_end(here / "out", result, "No space left on device", whole)
    status = json.loads((here / "out" / "status.json").read_text())
    assert "No space left on device" in status["error"]
    found = {table: rows(here / "out", table) for table in TABLES}
    assert status["rows_written"] == {t: len(r) for t, r in found.items() if r is not None}
    assert status["virtual_s"] >= 0


@pytest.fixture
def small_disk(here):
    """A function that makes a disk of so many KiB at `disk/`."""
    disk = here / "disk"

    def make(kib):
        disk.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
            pytest.skip("needs the right to mount a file system")
        return disk

    yield make
    while os.path.ismount(disk):
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_really_full(netsim, here, whole, small_disk):
    for kib in (4, 24, 48, 76, 100):
        disk = small_disk(kib)
        result = netsim(*RUN[:-1], "disk/out")
        if kib == 4:
            assert result.exit_code in (1, 2)
            assert "No space left on device" in result.stderr
        else:
            require_clear_end(disk / "out", result, "No space left on device", whole, kib > 24)
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_becomes_read_only(netsim, here, whole, small_disk, monkeypatch):
    disk = small_disk(4000)
    monkeypatch.setattr(Recorder, "checkpoint", read_only_at_the_third(disk))
    result = netsim(*RUN[:-1], "disk/out")
    require_clear_end(disk / "out", result, "Read-only file system", whole, told=False)
    assert "status.json could not be written" in result.stderr


def read_only_at_the_third(disk):
    def checkpoint(self):
        seen.append(self)
        if len(seen) == 3:
            # Over itself, as the file of the lock is open for writing.
            subprocess.run(["mount", "--bind", str(disk), str(disk)], check=True)
            subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], check=True)
        self._write_all()

    seen = []
    return checkpoint


@pytest.mark.slow
def test_a_folder_that_is_removed(netsim, here, small_parts, monkeypatch):
    def checkpoint(self):
        shutil.rmtree(here / "out", ignore_errors=True)
        self._write_all()

    monkeypatch.setattr(Recorder, "checkpoint", checkpoint)
    result = netsim(*RUN)
    assert result.exit_code == 1
    assert "out: was removed while it was written into" in result.stderr
    assert not (here / "out").exists()


def test_a_folder_that_another_process_took_over(netsim, here, small_parts, monkeypatch):
    def checkpoint(self):
        (here / "out" / ".lock-held").unlink()
        (here / "out" / ".lock-by").write_text('{"pid": 7, "host": "far"}')
        files.append((here / "out" / ".lock-held").open("w"))
        fcntl.flock(files[0], fcntl.LOCK_EX)
        before.append((here / "out" / "status.json").read_text())
        self._write_all()

    before, files = [], []
    monkeypatch.setattr(Recorder, "checkpoint", checkpoint)
    result = netsim(*RUN)
    files[0].close()
    assert result.exit_code == 1
    assert "out: was taken over by process 7 on far" in result.stderr
    assert (here / "out" / "status.json").read_text() == before[0]


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(here):
    code = (
        "import resource, sys\nfrom netsim.console.app import app\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
        f"app({[*RUN, '--algorithms', 'algorithms', '--set', 'horizon_s=60']})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "File too large" in done.stderr
    assert json.loads((here / "out" / "status.json").read_text())["state"] == "failed"


@pytest.mark.slow
def test_a_limit_on_memory(here):
    code = (
        "import resource, sys\nfrom netsim.console.app import app\nimport netsim.engine.playing\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20),) * 2)\n"
        f"app({[*RUN, '--algorithms', 'algorithms', '--set', 'model.hidden=[4000,4000]']})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "the run failed: out of memory" in done.stderr
    assert "Traceback" not in done.stderr
    if (here / "out").exists():
        assert json.loads((here / "out" / "status.json").read_text())["state"] == "failed"


def test_a_model_that_becomes_nan_is_named_and_no_number(netsim, here):
    result = netsim(*RUN, "--set", "training.learning_rate=1e30")
    assert result.exit_code == 0, result.output
    text = (here / "out" / "summary.json").read_text()
    summary = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in summary.json"))
    # node 3 trains once: its parameters are not nan, but huge
    assert [found["node"] for found in summary["diverged"]] == [0, 1, 2, 3]
    assert "diverge" in result.stderr


def test_models_that_are_nan_are_dashes_in_every_unit_and_on_the_page(netsim, here):
    """An error of regression has no percent; a lead over a rival that diverged is none."""
    whole = ("small_regression", "--set", "horizon_s=3", "--set", "nodes.count=6", "--out", "out")
    swept = ("--over", "training.learning_rate=0.02,1e30", "--seeds", "0:2", "--jobs", "1")
    result = netsim("sweep", *whole, *swept, "--against", "local", "--show", "main_metric_lead")
    assert result.exit_code == 0, result.output
    cells = [line.split()[3:] for line in result.stdout.splitlines() if "dpsgd" in line.split()[:2]]
    assert "nan" not in " ".join(map(" ".join, cells)), cells
    assert (here / "out" / "report.html").exists()
    result = netsim("run", *whole[:-1], "run", "--set", "training.learning_rate=1e30")
    assert result.exit_code == 0, result.output
    assert (here / "run" / "report.html").exists()


@pytest.mark.slow
def test_a_clock_that_is_set_back_changes_nothing(netsim, here, whole, monkeypatch):
    began, real = time.time(), time.time

    def back():
        return 2 * began - real() - 1e6

    monkeypatch.setattr(time, "time", back)
    assert netsim(*RUN).exit_code == 0
    for table in TABLES:
        found = rows(here / "out", table).astype(whole[table].dtypes)
        pd.testing.assert_frame_equal(found, whole[table])
    first, second = (
        json.loads((here / f / "summary.json").read_text()) for f in ("undisturbed", "out")
    )
    assert first["event_log_sha256"] == second["event_log_sha256"]
    assert second["wall_s"] > 0


def test_intervals_are_measured_on_clocks_that_are_never_set():
    source = Path(ROOT) / "netsim"
    day = ("time.time(", "datetime.now(", "utcnow(", "localtime(", "time.time_ns(")
    found = {
        p.name for p in source.rglob("*.py") if any(word in p.read_text("utf-8") for word in day)
    }
    assert found == {"live_worker.py"}  # a page says when it was written, by the reader's clock


@pytest.mark.slow
def test_a_run_into_the_folder_of_one_that_was_killed_is_refused(netsim, here):
    arguments = [*RUN, "-q", "--set", "horizon_s=100000", "--algorithms", "algorithms"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "netsim", *arguments], env={**os.environ, "PYTHONPATH": ROOT}
    )
    status = here / "out" / "status.json"
    until = time.monotonic() + 60
    while not status.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    result = netsim(*RUN)
    assert result.exit_code == 2
    assert f"--out out: process {killed.pid} on " in result.stderr
    assert "writes into it; wait for its end or choose another folder" in result.stderr
    killed.kill()
    killed.wait()
    result = netsim(*RUN)
    assert result.exit_code == 2
    assert f"--out out: holds what process {killed.pid} on " in result.stderr
    assert "left unfinished; go on with netsim resume out" in result.stderr
    assert json.loads(status.read_text()) == {"state": "running"}


@pytest.mark.slow
def test_a_disk_full_while_figures_are_drawn_says_that_the_run_has_ended(netsim, here, monkeypatch):
    from netsim.views.render.figure import style as plot_style

    def full(*_):
        raise FolderError("out/figures/x.png: can't be written: No space left on device")

    monkeypatch.setattr(plot_style, "write_whole", full)
    result = netsim("run", "s.toml", "-q", "--figures", "--set", SENDS, "--out", "out")
    assert result.exit_code == 1
    assert "x.png: can't be written: No space left on device" in result.stderr
    assert "all events had happened; the results are in out, and netsim resume out" in result.stderr
    assert json.loads((here / "out" / "status.json").read_text())["state"] == "failed"
    monkeypatch.undo()
    os.chdir(here)
    result = netsim("resume", "out", "-q")
    assert result.exit_code == 0, result.output
    assert list((here / "out" / "figures").iterdir())
    assert netsim("verify", "out", "--no-rerun").exit_code == 0


@pytest.mark.slow
def test_a_disk_that_is_full_when_the_page_is_written(netsim, here, monkeypatch):
    from netsim.views.render.page import html

    def full(*_):
        raise FolderError("out/report.html: can't be written: No space left on device")

    monkeypatch.setattr(html, "write_text", full)
    result = netsim("run", "s.toml", "-q", "--no-figures", "--out", "out")
    assert result.exit_code == 1
    assert "report.html: can't be written: No space left on device" in result.stderr
    assert "all events had happened; the results are in out, and netsim resume out" in result.stderr
    assert json.loads((here / "out" / "status.json").read_text())["state"] == "failed"


@pytest.mark.slow
def test_of_two_runs_into_one_folder_one_plays(here):
    """Pairs of processes, those of a pair started together."""
    pairs = 20
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    two = [
        subprocess.Popen(
            [sys.executable, "-c", PAIRS, "--algorithms", "algorithms"],
            env={**os.environ, "PYTHONPATH": ROOT},
            text=True,
            **pipes,
        )
        for _ in range(2)
    ]
    for n in range(pairs):
        for process in two:
            process.stdin.write(f"same-{n}\n")
            process.stdin.flush()
        codes = sorted(int(process.stdout.readline()) for process in two)
        assert codes == [0, 2]
        folder = here / f"same-{n}"
        assert json.loads((folder / "status.json").read_text())["state"] == "done"
        assert (folder / "summary.json").is_file()
        assert not [p for p in folder.rglob("*") if p.name.startswith(".")]
    said = [line for process in two for line in process.communicate()[1].splitlines()]
    assert len(said) == pairs
    assert all("writes into it" in s or "is writing" in s or "not empty" in s for s in said)


def test_a_folder_that_is_taken_between_two_looks_is_not_called_unfinished(tmp_path, monkeypatch):
    from netsim.engine import output_folder

    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "command.json").write_text("{}")
    (tmp_path / "scenario.toml").write_text("")
    assert "holds an unfinished run" in output_folder.out_problem(tmp_path)
    looks = iter([None, "somebody writes into it"])
    monkeypatch.setattr(output_folder, "_lock_message", lambda *_: next(looks))
    assert output_folder.out_problem(tmp_path) == "somebody writes into it"


@pytest.mark.parametrize("sign", ["checksums.json", "journal/command.json"])
def test_nothing_goes_into_the_folder_of_a_run(tmp_path, sign):
    """Its list of files would not have it, and `verify` would call it foreign."""
    from netsim.engine import output_folder

    (tmp_path / "run" / "journal").mkdir(parents=True)
    for inner in (tmp_path / "run" / "a", tmp_path / "run" / "a" / "b"):
        assert output_folder.out_problem(inner) is None
    (tmp_path / "run" / sign).write_text("{}")
    for inner in (tmp_path / "run" / "a", tmp_path / "run" / "a" / "b"):
        assert f"lies in {tmp_path / 'run'}, which holds" in output_folder.out_problem(inner)
    assert output_folder.out_problem(tmp_path / "beside") is None


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_comes_or_goes_between_any_two_looks_is_free(tmp_path, monkeypatch, there):
    """Another process creates it, or gives it back, before the first look, the second, ..."""
    from netsim.engine import output_folder

    def before(look, path, *arguments, **options):
        looks.append(path)
        if len(looks) == turn:
            (out.rmdir if there else out.mkdir)()
        return look(path, *arguments, **options)

    for turn in range(1, 100):
        out, looks = tmp_path / f"out-{turn}", []
        if there:
            out.mkdir()
        with monkeypatch.context() as patch:
            for name in ("stat", "lstat", "access", "scandir", "listdir"):
                patch.setattr(os, name, partial(before, getattr(os, name)))
            assert output_folder.out_problem(out) is None, turn
        if len(looks) < turn:
            break
    assert 3 < turn < 99


def test_a_tilde_that_no_shell_has_spelt_out_makes_no_folder_of_that_name(netsim, here):
    result = netsim("run", "s.toml", "--out=~/out", "--quiet")
    assert result.exit_code == 2
    assert "--out ~/out: names a folder ~ here, and not the home folder" in result.stderr
    assert not (here / "~").exists()
