"""Shards in the course of a run, and the times at which nodes change theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.data.partitions import Shard
from netsim.errors import ScenarioError
from netsim.registry import kind_of
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.traces.remarks import note_none
from netsim.units import to_ns

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class DataChange:
    """Nodes that have other shards from an instant on.

    Attributes
    ----------
    at_s : float
    at_ns : int
    kinds : tuple of str
        Of the drifts that make it.
    held : dict of int to int
        By node, the number of its shard from then on.
    """

    at_s: float
    at_ns: int
    kinds: tuple[str, ...]
    held: dict[int, int]


@dataclass(frozen=True, eq=False)
class ShardPlan:
    """A shard that a node has at some time.

    Attributes
    ----------
    node : int
    part : Shard
    labels : (C,) int64 or None
        The label that a sample of each class bears; None: that of the data set.
    """

    node: int
    part: Shard
    labels: Rows | None

    @property
    def concept(self) -> bytes:
        """Equal for equal labels."""
        return b"" if self.labels is None else self.labels.tobytes()


@dataclass
class Course:
    """The shards of a run.

    Attributes
    ----------
    shards : list of ShardPlan
        Those of the data-holding nodes at the start first, then all others.
    changes : list of DataChange
        In order of time.
    """

    shards: list[ShardPlan]
    changes: list[DataChange] = field(default_factory=list)


def course_of(
    scenario: Scenario, learners: Sequence[int], parts: Sequence[Shard], pool: Pool
) -> Course:
    """Return the nodes' data in the course of a run.

    Parameters
    ----------
    scenario : Scenario
    learners : sequence of int
        The data-holding nodes.
    parts : sequence of Shard
        What each of them begins with.
    pool : Pool
        The data set.

    Returns
    -------
    Course
        Numbers in `changes` count from the number of nodes on for shards that come later.

    Raises
    ------
    ScenarioError
        If a drift can't be: it comes after the end, names no data-holding node, leaves a node
        without training samples.
    """
    streams, count = Streams(scenario.seed), scenario.nodes.count
    now = Holdings(tuple(parts), (None,) * len(parts))
    course = Course([ShardPlan(i, part, None) for i, part in zip(learners, parts, strict=True)])
    numbers = {(plan.node, id(plan.part), plan.concept): plan.node for plan in course.shards}
    due = sorted(
        (
            (at_s, table, again)
            for table, drift in enumerate(scenario.data.drift)
            for again, at_s in enumerate(drift.at_s)
        ),
    )
    held: dict[int, int] = {plan.node: plan.node for plan in course.shards}
    for at_s in sorted({at_s for at_s, _, _ in due}):
        drifts = [
            (scenario.data.drift[table], table, again) for at, table, again in due if at == at_s
        ]
        for drift, table, again in drifts:
            _require_possible(drift, at_s, scenario)
            who = drift.affected(learners, Streams(streams.key("drift", table)))
            if drift.fraction and not who:
                where = f'[[data.drift]] kind = "{kind_of(drift)}", fraction'
                note_none(where, drift.fraction, len(learners), "changed")
            now = drift.change(now, who, pool, Streams(streams.key("drift", table, again + 1)))
        moved = {}
        for node, part, labels in zip(learners, now.parts, now.labels, strict=True):
            plan = ShardPlan(node, part, labels)
            key = node, id(part), plan.concept
            if key not in numbers:
                _require_training(plan, at_s)
                numbers[key] = count + len(course.shards) - len(learners)
                course.shards.append(plan)
            if held[node] != numbers[key]:
                moved[node] = held[node] = numbers[key]
        kinds = tuple(kind_of(drift) for drift, _, _ in drifts)
        course.changes.append(DataChange(at_s, to_ns(at_s), kinds, moved))
    return course


def _require_possible(drift: Drift, at_s: float, scenario: Scenario) -> None:
    where = f'[[data.drift]] kind = "{kind_of(drift)}"'
    if at_s >= scenario.horizon_s:
        raise ScenarioError(
            f"{where}: at_s = {at_s:g} is not before horizon_s = {scenario.horizon_s:g}; it would "
            "never happen"
        )
    if drift.needs_classes and not scenario.task.has_classes:
        raise ScenarioError(
            f"{where}: is on the classes of samples, which [task] kind = "
            f'"{kind_of(scenario.task)}" does not learn; take another drift, such as "redraw"'
        )


def _require_training(plan: ShardPlan, at_s: float) -> None:
    if not len(plan.part.train):
        raise ScenarioError(
            f"[[data.drift]] at_s = {at_s:g}: leaves node {plan.node} without training samples; "
            "take a partition that gives some to every node, or leave the node out"
        )
