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
