"""`netsim resume` on the command line."""

import json

import pandas as pd
import pytest

from netsim.engine.checkpoints.command import Command

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


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"algorithms": 3, "sub_folders": 1}', "[" * 9999]
)
def test_what_a_run_was_begun_with_may_be_unreadable(tmp_path, text):
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal/command.json").write_text(text)
    assert Command.read(tmp_path) == Command(sub_folders=True)
