"""Every table and figure of the five papers: a shipped scenario plays it, or a reason is stated."""

from pathlib import Path

import numpy as np
import pytest

from netsim.campaign import grid
from netsim.campaign.sweep_points import points_of
from netsim.console.papers import NOT_PLAYED
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario import check, draft_of
from netsim.scenario import file as scenario_file
from netsim.scenario.kinds import kinds_of

MODULES = kinds_of()


def numbered(word, *numbers):
    return {f"{word} {number}" for number in numbers}


PRINTED = {
    "DPFL": numbered("Table", 1, 2, 3) | numbered("Fig.", *range(1, 16)) | {"Appendix A", "G.4"},
    "KD-PDFL": {"Table I"} | numbered("Fig.", *range(1, 6)),
    "MAPL": numbered("Table", *range(1, 10)) | numbered("Fig.", *range(1, 8)),
    "pFedGraph": numbered("Table", *range(1, 15)) | numbered("Fig.", *range(1, 6)),
    "L2C": numbered("Table", *range(1, 5)) | numbered("Fig.", *range(1, 10)),
}
"""All tables and figures of the papers, and what their appendices tell without one."""

PLAYING = [name for name, path in scenario_file.shipped().items() if "[paper]" in path.read_text()]


@pytest.mark.slow
def test_every_table_and_figure_has_a_scenario_or_a_reason():
    played = {paper: set() for paper in PRINTED}
    for name in PLAYING:
        paper = draft_of(name, (), MODULES).raw["paper"]
        played[paper["name"]] |= set(paper["plays"])
    assert not any(played[paper] & set(reasons) for paper, reasons in NOT_PLAYED.items())
    assert {paper: played[paper] | set(NOT_PLAYED[paper]) for paper in PRINTED} == PRINTED
    assert all(why for reasons in NOT_PLAYED.values() for why in reasons.values())


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", PLAYING)
def test_a_scenario_that_plays_one_is_valid_at_every_point(name):
    draft = draft_of(name, (), MODULES)
    scenario = check(draft, MODULES)
    if scenario.sweep is None:
        return
    points = points_of(scenario.sweep.over)
    assert len({point.label for point in points}) == len(points)
    one_seed = draft.copy()
    one_seed.assign("sweep.seeds", [grid.seeds(scenario.sweep, scenario.seed)[0]], "test")
    grid.plan(one_seed, check(one_seed, MODULES), Path(), ())


@pytest.mark.parametrize("name", PLAYING)
def test_its_first_comment_says_what_it_plays_and_how(name):
    text = scenario_file.shipped()[name].read_text()
    assert f"netsim run {name}" in text
    assert text.startswith("# ")


@pytest.mark.thinned(30)
@pytest.mark.parametrize("name", PLAYING)
def test_its_partitions_suit_as_many_rows_as_the_data_set_has(name):
    """On labels alone, equally many of each class; a set by groups has groups of ten."""
    draft = draft_of(name, (), MODULES)
    scenario = check(draft, MODULES)
    points = points_of(scenario.sweep.over) if scenario.sweep else []
    for point in points or [None]:
        own = draft.copy()
        own.raw.pop("sweep", None)
        for key, value in (point.values if point else {}).items():
            own.assign(key, value, name)
        one = check(own, MODULES)
        outline = one.data.outline()
        learners = sum(role != "server" for role in one.per_node("role"))
        train = np.arange(outline.train_rows)
        test = np.arange(outline.train_rows, outline.train_rows + outline.test_rows)
        labels = np.concatenate([train, test]) % outline.num_classes
        groups = np.concatenate([train, test]) % max(learners, outline.train_rows // 10)
        shards = one.data.partition.split(
            labels, train, test, outline.num_classes, learners, Streams(one.seed), groups
        )
        assert len(shards) == learners
        rows, _ = one.data.partition.expected(outline, learners)
        mean = np.mean([len(shard.train) for shard in shards])
        if one.data.partition.kind != "by_group":
            assert mean == pytest.approx(rows, rel=0.2)


def test_what_it_plays_needs_a_name_and_a_table():
    draft = draft_of(PLAYING[0], (), MODULES)
    draft.raw["paper"] = {"name": "DPFL", "plays": []}
    with pytest.raises(ScenarioError, match="plays"):
        check(draft, MODULES)
