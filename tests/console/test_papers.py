"""`netsim list papers`."""

import json

import pytest

from netsim.console import papers
from netsim.engine.step_times import Times
from netsim.errors import ScenarioError
from netsim.scenario import algorithm_files, load


@pytest.fixture
def timings(monkeypatch):
    made = []

    def timed(scenario, training, model, played):
        made.append(model.kind)
        return Times(step_s=1.0, sample_s=0.0)

    monkeypatch.setattr(papers, "timed", timed)
    return made


def test_times_are_kept_from_one_call_to_the_next(tmp_path, timings):
    path = tmp_path / "cache" / "times.json"
    scenario = load("quickstart")
    asked = (scenario, scenario.training, scenario.model[0], None)
    told = []
    timer = papers.KeptTimes(path, anew=False, say=told.append)
    assert timer(*asked) == timer(*asked) == Times(1.0, 0.0)
    assert papers.KeptTimes(path, anew=False)(*asked) == Times(1.0, 0.0)
    assert len(timings) == 1
    [line] = told
    assert str(path) in line
    papers.KeptTimes(path, anew=True)(*asked)
    assert len(timings) == 2
    assert len(json.loads(path.read_text())) == 1
    path.write_text("[]")
    with pytest.raises(ScenarioError, match="no table of times"):
        papers.KeptTimes(path, anew=False)


def test_another_kernel_is_timed_anew(tmp_path, timings, monkeypatch):
    scenario = load("quickstart")
    asked = (scenario, scenario.training, scenario.model[0], None)
    for count, identity in enumerate(("avx2 of before", "avx2 of now"), 1):
        monkeypatch.setattr(papers.library, "identity", lambda identity=identity: identity)
        for _ in range(2):
            papers.KeptTimes(tmp_path / "times.json", anew=False)(*asked)
        assert len(timings) == count


def test_hours_count_points_seeds_and_algorithms(monkeypatch):
    """Table 3 of DPFL: 16 points, one seed, 100 nodes, 100 rounds of 5 epochs of 400 in 16."""
    known = papers.scenario_file.shipped()
    one = {"paper_dpfl_period": known["paper_dpfl_period"]}
    monkeypatch.setattr(papers.scenario_file, "shipped", lambda: one)
    monkeypatch.setattr(papers.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(papers.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("netsim.scenario.file.locate", lambda name: known[name])
    timer = lambda *_: Times(step_s=0.01, sample_s=0.0)  # noqa: E731
    [entry] = papers.entries(algorithm_files.algorithms(), timer)
    assert (entry.paper, entry.plays, entry.scenario) == ("DPFL", ("Table 3",), "paper_dpfl_period")
    assert entry.hours == pytest.approx(16 * 100 * 100 * 5 * 25 * 0.01 / 2 / 3600)


def test_the_command_prints_paper_table_scenario_and_hours(netsim, monkeypatch, tmp_path, timings):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    known = papers.scenario_file.shipped()
    some = {name: known[name] for name in ("kd_pdfl_iot", "paper_pfedgraph_sizes", "quickstart")}
    monkeypatch.setattr(papers.scenario_file, "shipped", lambda: some)
    monkeypatch.setattr("netsim.scenario.file.locate", lambda name: known[name])
    result = netsim("list", "papers")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert any("KD-PDFL" in x and "Table I, Fig. 3" in x and "kd_pdfl_iot" in x for x in lines)
    assert any("pFedGraph" in x and "Table 9" in x for x in lines)
    assert "quickstart" not in result.output
    assert str(tmp_path) in result.output.replace("\n", "")
