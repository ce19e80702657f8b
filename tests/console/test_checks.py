"""`--check`, and warnings at the end of a run."""

import json

import pytest

from netsim.recording.message_log import MessageLog


def test_warnings_are_in_the_summary_and_on_the_terminal(netsim, here):
    found = netsim("run", "s.toml", "--set", "horizon_s=1e-3", "--out", "r")
    assert found.exit_code == 0
    (warning,) = json.loads((here / "r/summary.json").read_text())["warnings"]
    assert "none of 4 nodes with data has published a model in 0.001 s" in warning
    assert f"alone: {warning}" in " ".join(found.output.split())


@pytest.mark.slow
def test_a_checked_run_is_the_same_run(netsim, here):
    found = [
        netsim("run", "s.toml", "--out", name, "--no-figures", *option).exit_code
        for name, *option in (("plain",), ("checked", "--check"))
    ]
    assert found == [0, 0]
    plain, checked = (
        json.loads((here / name / "summary.json").read_text()) for name in ("plain", "checked")
    )
    for key in ("event_log_sha256", "parameters_sha256", "messages", "energy_j", "warnings"):
        assert plain[key] == checked[key]


def test_a_broken_invariant_ends_with_1(netsim, here, monkeypatch):
    def miscounted(log):
        return log.taken + len(log.receivers) + 1

    monkeypatch.setattr(MessageLog, "count", property(miscounted))
    found = netsim("run", "s.toml", "--check", "--out", "r")
    assert found.exit_code == 1
    text = " ".join(found.output.split())
    assert "invariant messages: all nodes at 0 s: messages that have ended (1) and are in" in text
    assert json.loads((here / "r/status.json").read_text())["state"] == "failed"


def test_a_sweep_is_not_checked(netsim, here):
    (here / "s.toml").write_text((here / "s.toml").read_text() + "[sweep]\nseeds = [0, 1]\n")
    found = netsim("run", "s.toml", "--check")
    assert found.exit_code == 2
    assert "[sweep]: --check looks at single runs" in " ".join(found.output.split())
