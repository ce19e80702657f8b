"""`netsim report`, and the page at the end of `netsim run`."""

import base64
import gzip
import json
import re

import pytest

from netsim.campaign import final_views

RUN = ("run", "s.toml", "--out", "out", "-q", "--no-figures")
MOVING = """
[radio]
reachable = 2.0
calibrate = "power"
[mobility]
kind = "random_waypoint"
"""
DISC = ("--set", "nodes.placement='disc'", "--set", "nodes.radius_m=100.0")


def panels_of(path, k=0):
    packed = re.search(rf'id="run-{k}">([^<]*)</script>', path.read_text()).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.mark.slow
def test_a_run_leaves_a_page_that_belongs_to_it(netsim, here):
    assert netsim(*RUN).exit_code == 0
    panels = panels_of(here / "out" / "report.html")
    assert panels["curves"]["panels"][0]["data"]["metrics"][0]["name"] == "accuracy"
    assert "links" not in panels  # nobody sent anything
    assert netsim("verify", "out", "--no-rerun").exit_code == 0
    written = netsim("report", "out", algorithms=False)
    assert written.exit_code == 0, written.output
    assert "wrote out/report.html" in written.output
    assert netsim("verify", "out", "--no-rerun").exit_code == 0


def test_a_run_without_a_page(netsim, here):
    assert netsim(*RUN, "--no-report").exit_code == 0
    assert not (here / "out" / "report.html").exists()


@pytest.mark.slow
def test_nodes_move_on_the_page_as_they_did(netsim, here):
    (here / "s.toml").write_text((here / "s.toml").read_text() + MOVING)
    result = netsim(*RUN, "--set", "algorithm={kind='dpsgd'}", *DISC)
    assert result.exit_code == 0, result.output
    network = panels_of(here / "out" / "report.html")["network"]["panels"][0]["data"]
    assert network["moves"]
    assert network["x"][0] != network["x"][-1]


def test_a_run_that_fails_has_a_page_that_says_so(netsim, here):
    failed = netsim(*RUN, "--set", "algorithm.trouble='error'")
    assert failed.exit_code == 1
    assert netsim("report", "out").exit_code == 0
    text = (here / "out" / "report.html").read_text()
    assert re.search(r"This run failed at [^\"]*on purpose", text)


@pytest.mark.slow
def test_a_sweep_has_one_page_and_its_runs_none(netsim, here):
    swept = ("sweep", "s.toml", "--over", "training.batch_size=5,10", "--jobs", "1", "-q")
    assert netsim(*swept, "--out", "out").exit_code == 0
    assert list((here / "out").rglob("report.html")) == [here / "out" / "report.html"]
    assert netsim(*swept, "--out", "plain", "--no-report").exit_code == 0
    assert list((here / "plain").rglob("report.html")) == []
    result = netsim("report", "out", "--out", "page.html")
    assert result.exit_code == 0, result.output
    panels = panels_of(here / "page.html")
    assert {"sweep_facts", "differences", "points"} <= set(panels)
    assert panels_of(here / "out" / "report.html") == panels


@pytest.mark.slow
def test_the_end_of_a_large_sweep_does_not_wait_for_its_page(netsim, here, monkeypatch):
    monkeypatch.setattr(final_views, "MOST_RUNS", 1)
    swept = ("sweep", "s.toml", "--seeds", "0,1", "--jobs", "1", "--out", "out")
    result = netsim(*swept)
    assert result.exit_code == 0, result.output
    assert "report.html" not in result.output
    assert not (here / "out" / "report.html").exists()


def test_what_is_no_run_is_refused_in_a_line(netsim, here):
    result = netsim("report", "algorithms")
    assert result.exit_code == 2
    assert "no run here or one folder below" in result.output


def test_a_page_shows_each_algorithm_in_its_own_world(netsim, here, monkeypatch):
    """With a `set` of its own, nodes of one algorithm move as those of another do not."""
    from netsim.views.render.page import run_page

    seen, gather = {}, run_page.gather

    def gathered(folder, places, **more):
        at = places([20.0])
        seen[folder.name] = None if at is None else at[0]
        return gather(folder, places, **more)

    monkeypatch.setattr(run_page, "gather", gathered)
    moving = "{kind = 'random_waypoint', max_m_per_s = 9.0}"
    entries = (
        f"{{kind = 'local', name = 'still'}}, {{kind = 'local', set = {{mobility = {moving}}}}}"
    )
    sets = "nodes.placement = 'disc'", "radio = {}", f"algorithm = [{entries}]"
    two = [word for one in sets for word in ("--set", one)]
    ran = netsim("run", "s.toml", *two, "-q", "--no-figures", "--report", "--out", "two")
    assert ran.exit_code == 0, ran.output
    at_end, seen = seen.copy(), seen
    seen.clear()
    assert netsim("report", "two").exit_code == 0
    for found in (at_end, seen):
        assert found["still"] is None
        assert found["local"].shape == (4, 2)
