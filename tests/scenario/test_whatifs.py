"""Every shipped what-if asks one question, is valid at every point of its sweep, and plays."""

from pathlib import Path

import pytest

from netsim import engine, world
from netsim.campaign import grid
from netsim.engine import runner
from netsim.scenario import check, draft_of
from netsim.scenario.kinds import kinds_of

FOLDER = Path(__file__).parents[2] / "scenarios"
NAMES = sorted(path.stem for path in FOLDER.glob("whatif_*.toml"))


def test_there_are_what_ifs():
    assert len(NAMES) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_a_what_if_asks_one_question_and_says_how_to_run_it(name):
    first, second, *_ = (FOLDER / f"{name}.toml").read_text().splitlines()
    assert first.startswith("# What if ")
    assert first.endswith("?")
    assert f"netsim run {name}" in second


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_what_if_is_valid_at_every_point_and_its_first_plays(name, tmp_path):
    modules = kinds_of()
    draft = draft_of(name, ["horizon_s=12.0", "metrics.every_s=6.0"], modules)
    scenario = check(draft, modules)
    assert scenario.sweep is not None
    assert scenario.sweep.over
    assert len(scenario.sweep.seeds) >= 3
    jobs = grid.plan(draft, scenario, tmp_path, ())
    small = check(jobs[0].draft, modules)
    built = world.build(small)
    for entry in small.algorithm:
        found = engine.play(built, entry)
        assert 0.0 < found["accuracy"]["mean"] <= 1.0
    last = check(jobs[-1].draft, modules)
    assert runner.machine_problems(last, draft.path, modules) == []
    world.build(last)
