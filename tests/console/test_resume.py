"""`netsim resume` on the command line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import netsim as python
from netsim.engine import component_record
from netsim.engine.checkpoints.command import Command
from netsim.errors import ScenarioError
from netsim.recording import checksums

ROOT = str(Path(__file__).parents[2])

TWO = """\
extends = "s.toml"
[[algorithm]]
kind = "alone"
[[algorithm]]
kind = "alone"
name = "eager"
local_steps = 4
"""


@pytest.fixture
def stopping(here, monkeypatch):
    """A folder of algorithms whose `alone` interrupts itself once the returned function is called.

    The shared `alone` would do so again in the replay.
    """
    folder = here / "stopping"
    folder.mkdir()
    source = (here / "algorithms" / "alone.py").read_text()
    source = "import os\n" + source.replace(
        "        trained =",
        '        if os.environ.get("STOP") == f"{node.id} {params.local_steps}":\n'
        "            signal.raise_signal(getattr(signal, os.environ['STOP_BY']))\n"
        "        trained =",
    )
    (folder / "alone.py").write_text(source)

    def stop(at, by="SIGINT"):
        monkeypatch.setenv("STOP", at)
        monkeypatch.setenv("STOP_BY", by)

    return stop


@pytest.fixture
def call(netsim, stopping):
    def called(*arguments):
        own = ["--algorithms", "stopping"] if arguments[0] == "run" else []
        return netsim(*arguments, *own, algorithms=False)

    return called


@pytest.mark.slow
@pytest.mark.thinned(2)
@pytest.mark.parametrize(("by", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_says_how_to_go_on_and_resume_does(call, here, stopping, by, code):
    assert call("run", "s.toml", "--out", "whole").exit_code == 0
    stopping("2 1", by)
    result = call("run", "s.toml", "--out", "cut")
    assert result.exit_code == code
    assert "netsim resume cut goes on with it" in result.stderr
    stopping("")
    again = call("run", "s.toml", "--out", "cut")
    assert again.exit_code == 2
    assert "holds an unfinished run; go on with netsim resume cut" in again.stderr
    result = call("resume", "cut")
    assert result.exit_code == 0, result.output
    assert "goes on at" in result.stderr
    assert "results in cut" in result.stdout
    one, other = (json.loads((here / f / "summary.json").read_text()) for f in ("whole", "cut"))
    for name in ("event_log_sha256", "parameters_sha256", "accuracy"):
        assert one[name] == other[name]
    pd.testing.assert_frame_equal(
        pd.read_parquet(here / "whole/metrics"), pd.read_parquet(here / "cut/metrics")
    )
    result = call("resume", "cut")
    assert result.exit_code == 0
    assert "cut: has ended; there is nothing to go on with" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("say", ["resume", "compare", "from Python"])
def test_the_folder_of_an_algorithm_that_was_taken_away_is_missed(netsim, here, say):
    """Nothing says that all has ended, nor that `netsim resume` goes on."""
    named = "".join(f"[[algorithm]]\nname = '{name}'\n" for name in ("one", "two"))
    (here / "out/one").mkdir(parents=True)
    (here / "out/scenario.toml").write_text(named)
    (here / "out/one/status.json").write_text('{"state": "done"}')
    (here / "out/one/summary.json").write_text("{}")
    for folder in ("out/one", "out"):
        checksums.write(here / folder)
    if say == "from Python":
        with pytest.raises(ScenarioError, match="out/two: is missing, and the run has ended"):
            python.resume("out")
        return
    result = netsim(say, "out", algorithms=False)
    told = {"resume": "out/two: is missing, and the run has ended", "compare": "is gone"}[say]
    assert told in result.stderr
    assert "netsim resume out goes on" not in result.stderr
    assert "nothing to go on" not in result.stdout


def test_of_several_algorithms_those_that_ended_stay_and_the_rest_is_played(call, here, stopping):
    (here / "two.toml").write_text(TWO)
    assert call("run", "two.toml", "--out", "whole").exit_code == 0
    for at, left in (("1 4", ["alone", "eager"]), ("1 1", ["alone"])):
        stopping(at)
        out = f"cut {at}"
        assert call("run", "two.toml", "--out", out).exit_code == 130
        assert [
            f.name for f in sorted((here / out).iterdir()) if (f / "status.json").exists()
        ] == left
        assert (here / out / "scenario.toml").is_file()
        stopping("")
        result = call("resume", out, "--no-figures")
        assert result.exit_code == 0, result.output
        assert ("alone: has ended already" in result.stderr) == (len(left) == 2)
        for name in ("alone", "eager"):
            one, other = (
                json.loads((here / f / name / "summary.json").read_text()) for f in ("whole", out)
            )
            assert one["parameters_sha256"] == other["parameters_sha256"]
        assert (here / out / "comparison.csv").is_file()
        assert not (here / out / "journal").exists()


@pytest.mark.slow
def test_one_that_failed_is_gone_on_with_after_the_others_were_played(call, here, stopping):
    path = here / "stopping" / "alone.py"
    path.write_text(path.read_text().replace("signal.raise_signal(", "raise ValueError("))
    (here / "two.toml").write_text(TWO)
    stopping("1 1")
    quickly = ("--out", "cut", "--no-figures", "--no-report")
    result = call("run", "two.toml", *quickly)
    assert result.exit_code == 1
    assert "the others were played to their end: cut/eager" in " ".join(result.stderr.split())
    assert not (here / "cut" / "comparison.csv").exists()
    result = call("verify", "cut", "--no-rerun")
    assert result.exit_code == 2
    assert "netsim resume cut" in " ".join(result.stderr.split())
    assert call("resume", "cut").exit_code == 1
    stopping("")
    result = call("resume", "cut")
    assert result.exit_code == 0, result.output
    assert "eager: has ended already" in " ".join(result.stderr.split())
    assert (here / "cut" / "comparison.csv").is_file()
    assert not (here / "cut" / "journal").exists()
    assert call("verify", "cut", "--no-rerun").exit_code == 0


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, "is not a folder"),
        ("", "has no scenario.toml"),
        ("[sweep]\nseeds = [0, 1]", "sweep.json is missing"),
        ("horizon_s = 1", "nodes"),
    ],
)
def test_what_is_no_run_is_refused(netsim, here, made, says):
    if made is not None:
        (here / "x").mkdir()
        if made:
            text = (here / "s.toml").read_text() + made if "sweep" in made else made
            (here / "x/scenario.toml").write_text(text)
    result = netsim("resume", "x")
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_command_of_an_earlier_version_keeps_what_it_says(tmp_path):
    """It lacks keys that came later, and has one that is no longer kept."""
    (tmp_path / "journal").mkdir()
    said = {"sub_folders": False, "timing_only": True, "figures": False, "gone": 1}
    (tmp_path / "journal/command.json").write_text(json.dumps(said))
    assert Command.read(tmp_path) == Command(sub_folders=False, timing_only=True, figures=False)


@pytest.mark.parametrize("text", ["", "[]", '{"sub_folders": 1}', "[" * 9999])
def test_what_a_run_was_begun_with_is_refused_where_it_is_something_else(tmp_path, text):
    (tmp_path / "journal").mkdir()
    assert Command.read(tmp_path) == Command(sub_folders=True)
    (tmp_path / "journal/command.json").write_text(text)
    with pytest.raises(ScenarioError, match=r"command\.json: "):
        Command.read(tmp_path)


@pytest.fixture
def cut(call, stopping, here):
    """A run that was interrupted, with a checkpoint."""
    stopping("2 1")
    assert call("run", "s.toml", "--out", "cut", "-q").exit_code == 130
    stopping("")
    return here / "cut"


def edit(folder, was, now):
    path = folder / "scenario.toml"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))


def contents(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_sweep_added_to_a_run_that_was_begun_is_named(call, cut):
    path = cut / "scenario.toml"
    path.write_text(path.read_text() + "\n[sweep]\nseeds = [0, 1]\n")
    before = contents(cut)
    result = call("resume", "cut", "--with-changes")
    assert result.exit_code == 2
    assert "cut/scenario.toml: [sweep] is not of the run that was begun here" in result.stderr
    assert contents(cut) == before


@pytest.mark.thinned(4)
@pytest.mark.parametrize("text", ["/dev/zero", "a = ", "horizon_s = 'x'", "", "a.b = 1\na = 2"])
def test_a_kept_scenario_that_is_none_is_refused_by_the_name_of_its_file(call, cut, text):
    (cut / "journal" / "scenario.json").write_text(json.dumps({"scenario": text, "instead_of": []}))
    result = call("resume", "cut")
    assert result.exit_code == 2
    assert "cut/journal/scenario.json: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ("learning_rate = 0.05", "learning_rate = 0.001",
         "training.learning_rate: 0.05 when the run was begun, 0.001 now"),
        ("seed = 0", "seed = 1", "seed: 0 when the run was begun, 1 now"),
        ("    64,", "    32,", "model.hidden: [64] when the run was begun, [32] now"),
        ("rate_hz = 1.0", "rate_hz = 2.0", "exchange.rate_hz: 1.0 when the run was begun, 2.0 now"),
        ("beta1 = 0.9\n", "", ""),
    ],
)  # fmt: skip
def test_an_edited_scenario_is_named_with_both_values_and_refused(call, cut, was, now, says):
    edit(cut, was, now)
    before = contents(cut)
    result = call("resume", "cut")
    if not says:  # a default that was left out changes nothing
        assert result.exit_code == 0, result.output
        return
    assert result.exit_code == 2
    assert f"cut/scenario.toml: {says}" in result.stderr
    assert "--with-changes" in result.stderr
    assert contents(cut) == before


@pytest.mark.slow
def test_changes_that_are_wanted_hold_from_there_on_and_the_run_says_so(call, cut):
    edit(cut, "learning_rate = 0.05", "learning_rate = 0.001")
    edited = (cut / "scenario.toml").read_bytes()
    result = call("resume", "cut", "--with-changes", "--no-figures")
    assert result.exit_code == 0, result.output
    assert "training.learning_rate: 0.05 until" in result.stderr
    [change] = json.loads((cut / "summary.json").read_text())["changes"]
    assert 0 < change["at_s"] < 4
    assert change["set"] == {"training.learning_rate": 0.001}
    page = (cut / "report.html").read_text()
    assert f"From {change['at_s']} s on: training.learning_rate = 0.001." in page
    played = (cut / "scenario.toml").read_text()
    assert "learning_rate = 0.05" in played
    assert f"at_s = {change['at_s']!r}" in played
    assert edited in [p.read_bytes() for p in cut.glob("journal/set_aside-*/scenario.toml")]
    result = call("verify", "cut", "--algorithms", "stopping")
    assert result.exit_code == 0, result.output  # the whole of it can be played again


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("was", "now"), [("seed = 0", "seed = 1"), ("    64,", "    32,")])
def test_what_can_not_change_in_mid_run_is_refused_with_the_reason(call, cut, was, now):
    edit(cut, was, now)
    before = contents(cut)
    result = call("resume", "cut", "--with-changes")
    assert result.exit_code == 2
    assert "what can't change while a run goes on is played anew" in result.stderr
    assert "random numbers of its own" not in result.stderr
    assert contents(cut) == before


@pytest.mark.slow
def test_the_scenario_of_several_algorithms_is_put_back(call, stopping, here):
    (here / "two.toml").write_text(TWO)
    stopping("1 4")
    assert call("run", "two.toml", "--out", "cut", "-q").exit_code == 130
    stopping("")
    edit(here / "cut", "learning_rate = 0.05", "learning_rate = 0.001")
    for more in ((), ("--with-changes",)):
        result = call("resume", "cut", *more)
        assert result.exit_code == 2
        assert "training.learning_rate: 0.05 when the run was begun, 0.001 now" in result.stderr


# -- components -----------------------------------------------------------------------------------


CANARY = """
from pathlib import Path
Path("CANARY").write_text("imported")
"""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["absolute", "relative"])
def test_a_run_folder_from_elsewhere_imports_nothing(netsim, cut, here, kind):
    """Whatever its files name; the user's own record is of another folder."""
    theirs = here / "theirs"
    shutil.copytree(cut, theirs)
    evil = theirs / "code"
    evil.mkdir()
    (evil / "alone.py").write_text(CANARY)
    named = str(evil) if kind == "absolute" else "theirs/code"
    for path in theirs.rglob("*.json"):
        told = json.loads(path.read_text())
        path.write_text(json.dumps({**told, "components": [named], "folders": [named]}))
    for command in (("resume",), ("verify",), ("fork", "--at", "1", "--set", "a=1")):
        result = netsim(command[0], "theirs", *command[1:], algorithms=False)
        assert result.exit_code == 2, result.output
        assert not (here / "CANARY").exists()


@pytest.mark.slow
def test_components_that_are_not_known_are_asked_for(netsim, cut, here):
    moved = here / "moved"
    cut.rename(moved)
    result = netsim("resume", "moved", algorithms=False)
    assert result.exit_code == 2
    assert "--components DIR" in result.stderr
    result = netsim("resume", "moved", "--components", "stopping", algorithms=False)
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_a_component_that_has_changed_since_is_named(call, cut, here):
    path = here / "stopping" / "alone.py"
    path.write_text(path.read_text() + "# more\n")
    (here / "stopping" / "other.py").write_text(path.read_text())
    result = call("resume", "cut")
    assert result.exit_code == 0, result.output
    assert "alone.py: has changed since the run was begun" in " ".join(result.stderr.split())
    assert "other.py: is new since the run was begun" in " ".join(result.stderr.split())
    assert component_record.recall(cut) == ((), [])  # nothing is kept of a run that has ended


def test_nothing_of_components_is_in_a_run_folder(cut):
    for path in (cut / "journal").glob("*.json"):
        if path.name != "scenario.json" and not path.name.startswith("checkpoint"):
            assert "stopping" not in path.read_text()
    folders, changes = component_record.recall(cut)
    assert [folder.name for folder in folders] == ["stopping"]
    assert changes == []


# -- two commands that agree ----------------------------------------------------------------------


LOCKED = """
import os, signal, sys
from pathlib import Path
from netsim.engine.checkpoints.command import Command
from netsim.recording import folder_lock
out = Path("out")
out.mkdir()
folder_lock.acquire(out)
if "command" in sys.argv:
    Command(False).write(out)
if "tables" in sys.argv:
    (out / "messages").mkdir()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stage", [(), ("command",), ("command", "tables")])
def test_of_a_run_that_was_killed_before_it_had_begun_both_commands_say_the_same(
    netsim, here, stage
):
    command = [sys.executable, "-c", LOCKED, *stage]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": ROOT}, check=False)
    assert any((here / "out").iterdir())
    result = netsim("resume", "out")
    assert result.exit_code == 2
    assert "play the scenario with netsim run SCENARIO --out out" in result.stderr
    result = netsim("run", "s.toml", "--out", "out", "-q", "--no-figures")
    assert result.exit_code == 0, result.output
    assert not list((here / "out").glob(".*"))


def test_a_folder_that_holds_anything_else_is_not_taken(netsim, here):
    for name in ("mine", "messages/mine", "journal/mine"):
        (here / "out" / name).mkdir(parents=True)
        result = netsim("run", "s.toml", "--out", "out")
        assert result.exit_code == 2
        assert "is not empty" in result.stderr
        shutil.rmtree(here / "out")


@pytest.mark.slow
def test_figures_and_page_are_drawn_as_the_run_was_begun(call, stopping, here):
    stopping("2 1")
    assert call("run", "s.toml", "--out", "cut", "--no-report", "--no-figures").exit_code == 130
    stopping("")
    assert call("resume", "cut", "-q").exit_code == 0
    assert not (here / "cut" / "report.html").exists()
    assert not (here / "cut" / "figures").exists()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("lost", ["report.html", "messages"])
def test_an_ended_run_that_lacks_a_file_is_not_called_complete(call, here, lost):
    assert call("run", "s.toml", "--out", "whole", "--report").exit_code == 0
    path = here / "whole" / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    result = call("resume", "whole")
    assert result.exit_code == 2
    assert f"whole/{lost}" in result.stderr
    assert "is missing" in result.stderr


@pytest.mark.slow
def test_a_run_without_a_status_is_played_anew_and_keeps_what_was_there(call, here):
    assert call("run", "s.toml", "--out", "whole").exit_code == 0
    before = (here / "whole" / "messages" / "part-00000.parquet").read_bytes()
    (here / "whole" / "status.json").unlink()
    assert call("resume", "whole", "--algorithms", "stopping").exit_code == 0
    aside = here / "whole" / "journal" / "set_aside-1" / "messages" / "part-00000.parquet"
    assert aside.read_bytes() == before
    assert call("verify", "whole", "--no-rerun").exit_code == 0
