"""Data of each node over time: partition, drift, validation samples, wrong labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.data.drifts import Pool
from netsim.data.partitions import Shard
from netsim.data.sets import Samples
from netsim.data.sets.none import NoData
from netsim.data.validation import cut_later, cut_validation
from netsim.errors import ScenarioError
from netsim.learning.shards import NodeRows, Shards
from netsim.learning.tasks import Examples
from netsim.registry import kind_of
from netsim.rng import Streams
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario
from netsim.traces.remarks import note_none
from netsim.world.drifting import Course, DataChange, course_of
from netsim.world.relabelling import Copies, with_labels

Rows = NDArray[np.int64]


def malicious_nodes(scenario: Scenario, roles: tuple[str, ...], streams: Streams) -> frozenset[int]:
    """The nodes that attack; none without an `[attack]`.

    Parameters
    ----------
    scenario : Scenario
    roles : tuple of str
        By node; servers never attack.
    streams : Streams

    Raises
    ------
    ScenarioError
        If no benign node with data would be left.
    """
    if scenario.attack is None:
        return frozenset()
    nodes = learning_nodes(roles)
    malicious = scenario.attack.malicious(nodes, streams)
    if nodes and len(malicious) == len(nodes):
        raise ScenarioError(
            f"[attack] fraction = {scenario.attack.fraction:g}: all {len(nodes)} nodes with "
            "data are malicious; none is left to measure"
        )
    if scenario.attack.fraction and not malicious:
        note_none("[attack] fraction", scenario.attack.fraction, len(nodes), "malicious")
    return malicious


def local_data(
    scenario: Scenario,
    samples: Samples,
    examples: Examples,
    roles: tuple[str, ...],
    malicious: frozenset[int],
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[Shards, tuple[DataChange, ...]]:
    """The samples of every node, on the device, and how they change.

    Parameters
    ----------
    scenario : Scenario
    samples : Samples
        The data set: rows, and what partitions go by.
    examples : Examples
        What the task makes of it: inputs and targets.
    roles : tuple of str
        By node; servers hold no data.
    malicious : frozenset of int
        Nodes whose training labels an attack may falsify.
    streams : Streams
    device : torch.device
    dtype : torch.dtype
        Of inputs and targets that are no whole numbers.

    Returns
    -------
    Shards
    tuple of DataChange
        Empty without drift.

    Raises
    ------
    ScenarioError
        If every node is a server, the data set has too few samples for the partition, or not what
        partition, attack or drift go by.
    """
    learners = learning_nodes(roles)
    if not learners:
        raise ScenarioError("[nodes] groups: every node is a server; none holds data")
    if isinstance(scenario.data, NoData):
        return _empty_shards(scenario, examples, roles, streams, device, dtype), ()
    pool = Pool(samples, _classes(scenario, samples))
    parts = pool.split(scenario.data.partition, len(learners), streams)
    course = course_of(scenario, learners, parts, pool)
    split, held_out = _cut_validation(course, parts, scenario.data.validation, streams)

    def limited(pool: np.ndarray, purpose: str) -> np.ndarray:
        order = pool[streams.permutation(purpose, n=len(pool))]
        return np.sort(order[: scenario.metrics.common_test_samples])

    common = {
        "common_test": limited(samples.test, "common test"),
        "common_validation": limited(held_out, "common validation"),
    }
    x, y = (_on_device(values, device, dtype) for values in (examples.x, examples.y))
    own = [
        NodeRows(train, validation, plan.part.test)
        for plan, (train, validation) in zip(course.shards, split, strict=True)
    ]
    own, copies = _relabel_rows(scenario, samples, course, own, common, malicious)
    if copies is not None and len(copies.sources):
        index = torch.from_numpy(copies.sources).to(device)
        x = torch.cat([x, x[index]])
        y = torch.cat([y, torch.from_numpy(copies.labels).to(y)])
    none = np.zeros(0, dtype=np.int64)
    rows = [NodeRows(none, none, none) for _ in roles]
    for node, first in zip(learners, own, strict=False):
        rows[node] = first
    later = course.shards[len(learners) :]
    shards = Shards(
        *(x, y, rows + own[len(learners) :], common, scenario.training.batch_size, streams),
        *(samples.scale, scenario.task, [*range(len(roles)), *(plan.node for plan in later)]),
    )
    return shards, tuple(course.changes)


def _empty_shards(
    scenario: Scenario,
    examples: Examples,
    roles: tuple[str, ...],
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> Shards:
    """Shards of nodes without samples.

    Parameters
    ----------
    scenario, examples, roles, streams, device, dtype
        As of `local_data`.
    """
    x, y = (_on_device(values, device, dtype) for values in (examples.x, examples.y))
    none = np.zeros(0, dtype=np.int64)
    rows = [NodeRows(none, none, none) for _ in roles]
    common = {"common_test": none, "common_validation": none}
    return Shards(x, y, rows, common, scenario.training.batch_size, streams, None, scenario.task)


def _cut_validation(
    course: Course, parts: Sequence[Shard], fraction: float, streams: Streams
) -> tuple[list[tuple[Rows, Rows]], Rows]:
    """Training and validation rows of each shard of the course; all that are set aside at first.

    Parameters
    ----------
    course : Course
    parts : sequence of Shard
        What the data-holding nodes begin with.
    fraction : float
        Share of the training rows that is set aside.
    streams : Streams
    """
    first, held_out = cut_validation(parts, fraction, streams)
    known = {id(part): cut for part, cut in zip(parts, first, strict=True)}
    new = list({id(p.part): p.part for p in course.shards if id(p.part) not in known}.values())
    if new:
        before = np.unique(np.concatenate([part.train for part in parts]))
        cut = cut_later(new, before, held_out, fraction, streams)
        known |= {id(part): own for part, own in zip(new, cut, strict=True)}
    return [known[id(plan.part)] for plan in course.shards], held_out


def _relabel_rows(
    scenario: Scenario,
    samples: Samples,
    course: Course,
    own: list[NodeRows],
    common: Mapping[str, Rows],
    malicious: frozenset[int],
) -> tuple[list[NodeRows], Copies | None]:
    """Rows at which samples have the labels that drifts and an attack give them.

    Parameters
    ----------
    scenario : Scenario
    samples : Samples
    course : Course
    own : list of NodeRows
        Of each shard of the course, in rows of the data set.
    common : mapping of str to int64 array
        Rows of the splits that all nodes share.
    malicious : frozenset of int
        Nodes whose training and validation labels an attack falsifies; test labels stay.
    """
    attack, count = scenario.attack, samples.num_classes
    concepts = {plan.concept: plan.labels for plan in course.shards}
    if not scenario.task.has_classes:
        return own, None
    true = {k: samples.y if labels is None else labels[samples.y] for k, labels in concepts.items()}
    false = true
    if attack is not None:
        false = {k: attack.relabelled(labels, count) for k, labels in true.items()}
    if len(true) == 1 and all(false[k] is true[k] for k in true):
        return own, None
    wanted: list[tuple[Rows, Rows]] = []
    for plan, rows in zip(course.shards, own, strict=True):
        labels = true[plan.concept]
        trained = false[plan.concept] if plan.node in malicious else labels
        wanted += [(rows.train, trained), (rows.validation, trained), (rows.test, labels)]
    wanted += [(rows, true[k]) for k in concepts for rows in common.values()]
    copies = with_labels(samples.y, count, wanted)
    found = iter(copies.rows)
    split = [(next(found), next(found), next(found)) for _ in own]
    shared = {k: {name: next(found) for name in common} for k in concepts}
    return [
        NodeRows(*three, shared[plan.concept] if plan.concept else {})
        for plan, three in zip(course.shards, split, strict=True)
    ], copies


def _classes(scenario: Scenario, samples: Samples) -> NDArray[np.int64]:
    """Class of every row, (n,); 0 everywhere if there are none.

    Raises
    ------
    ScenarioError
        If the attack needs some.
    """
    attack, task = scenario.attack, scenario.task
    if attack is not None and attack.needs_classes and not task.has_classes:
        raise ScenarioError(
            f'[attack] kind = "{kind_of(attack)}": is on the classes of samples, which '
            f'[task] kind = "{kind_of(task)}" does not learn; take another attack'
        )
    return samples.y if samples.has_classes else np.zeros(len(samples.y), dtype=np.int64)


def _on_device(values: NDArray[Any], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Whole numbers as they are, all others in the run's precision."""
    found = torch.from_numpy(values)
    return found.to(device=device, dtype=dtype) if found.is_floating_point() else found.to(device)


def learning_nodes(roles: tuple[str, ...]) -> list[int]:
    """The nodes that hold data."""
    return [i for i, role in enumerate(roles) if role != SERVER]
