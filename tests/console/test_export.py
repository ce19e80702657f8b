"""`netsim export`: a run's places and links, for other programs."""

import numpy as np
import pytest


@pytest.fixture
def run(netsim, here, once):
    text = (here / "s.toml").read_text().replace("count = 4\n", 'count = 4\nplacement = "disc"\n')
    (here / "s.toml").write_text(text + "\n[radio]\n")

    def play():
        result = netsim("run", "s.toml", "-q", "--no-figures", "--out", "done")
        assert result.exit_code == 0, result.output

    once("run by radio", here / "done", play)
    return here


@pytest.mark.slow
def test_a_run_is_exported_under_its_name(netsim, run):
    result = netsim("export", "done", "--as", "gains")
    assert (result.exit_code, result.stdout) == (0, "wrote s.gains.npz\n")
    with np.load(run / "s.gains.npz") as members:
        assert members["gain_db"].shape == (1, 4, 4)
    result = netsim("export", "done", "--as", "ns2", "--out", "mine.tcl")
    assert result.stdout == "wrote mine.tcl\n"
    assert "$node_(3) set X_" in (run / "mine.tcl").read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("done", "--as", "gain"), "--as gain: no such format; there are bonnmotion, colosseum"),
        (("nowhere", "--as", "gains"), "nowhere: no finished run here"),
        (("done", "--as", "gains", "--step", "0"), "--step 0: must be at least 1e-9 s"),
        (("done", "--as", "trace", "--out", "s.toml"), "--out s.toml: is there already"),
        (("done", "--for", "ns2"), "--for ns2: no such simulator; there are ns3"),
        (("done",), "name a format, --as FORMAT, or a simulator, --for SIMULATOR"),
        (("done", "--for", "ns3"), "has no messages"),
    ],
)
def test_what_can_not_be_exported_is_refused(netsim, run, arguments, problem):
    result = netsim("export", *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_what_is_exported_of_an_unfinished_run_says_so(netsim, run):
    (run / "done" / "status.json").write_text('{"state": "interrupted", "virtual_s": 3.0}')
    result = netsim("export", "done", "--as", "timeline", "--out", "t")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == (
        "t: the run is not done (interrupted): as far as it came"
    )


def test_a_timeline_names_what_the_run_did_not_record(netsim, run):
    result = netsim("export", "done", "--as", "timeline", "--out", "t")
    told = {
        line.partition(" shows no ")[2].partition(",")[0] for line in result.stderr.splitlines()
    }
    missing = {t for t in ("intervals", "messages", "wakes") if not (run / "done" / t).exists()}
    assert told == missing != set()


@pytest.mark.parametrize("form", ["gains", "ns2", "timeline"])
def test_a_step_without_effect_is_told(netsim, run, form):
    """Nothing moves in it: gains are those of the start, and ways have no samples."""
    told = "--step had no effect: nothing in it is sampled over time"
    for step in ((), ("--step", "0.5")):
        out = f"{form}{len(step)}"
        result = netsim("export", "done", "--as", form, *step, "--out", out)
        assert (result.exit_code, told in result.stderr) == (0, bool(step)), result.stderr


def test_what_is_of_one_world_is_not_exported_of_two(netsim, run):
    """An algorithm with a `set` of its own may be in another world than the first."""
    loud = "{kind = 'local', name = 'loud', set = {radio = {tx_power_dbm = 30.0}}}"
    two = "s.toml", "--set", f"algorithm = [{{kind = 'local'}}, {loud}]"
    assert netsim("run", *two, "-q", "--no-figures", "--out", "two").exit_code == 0
    result = netsim("export", "two", "--as", "gains")
    assert result.exit_code == 2
    assert "its algorithms are in different worlds: [radio] of loud is not that of" in result.stderr
    assert netsim("export", "two/loud", "--as", "gains").exit_code == 0
