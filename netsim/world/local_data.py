"""What each node learns from: the partition of the data set, validation samples, wrong labels."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.data.sets import Samples
from netsim.data.validation import cut_validation
from netsim.errors import ScenarioError
from netsim.learning.shards import NodeRows, Shards
from netsim.learning.tasks import Examples
from netsim.rng import Streams
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario


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
    learners = _learners(roles)
    malicious = scenario.attack.malicious(learners, streams)
    if learners and len(malicious) == len(learners):
        raise ScenarioError(
            f"[attack] fraction = {scenario.attack.fraction:g}: all {len(learners)} nodes with "
            "data are malicious; none is left to measure"
        )
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
) -> Shards:
    """The samples of every node, on the device.

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

    Raises
    ------
    ScenarioError
        If every node is a server, the data set has too few samples for the partition, or not what
        partition or attack go by.
    """
    learners = _learners(roles)
    if not learners:
        raise ScenarioError("[nodes] groups: every node is a server; none holds data")
    classes = _classes(scenario, samples)
    parts = scenario.data.partition.split(
        classes,
        samples.train,
        samples.test,
        samples.num_classes,
        len(learners),
        streams,
        samples.groups,
    )
    split, held_out = cut_validation(parts, scenario.data.validation, streams)
    none = np.zeros(0, dtype=np.int64)
    rows = [NodeRows(none, none, none) for _ in roles]
    for node, part, (train, validation) in zip(learners, parts, split, strict=True):
        rows[node] = NodeRows(train, validation, part.test)

    def limited(pool: np.ndarray, purpose: str) -> np.ndarray:
        order = pool[streams.permutation(purpose, n=len(pool))]
        return np.sort(order[: scenario.metrics.common_test_samples])

    common = {
        "common_test": limited(samples.test, "common test"),
        "common_validation": limited(held_out, "common validation"),
    }
    x, y = (_on_device(values, device, dtype) for values in (examples.x, examples.y))
    batch_size = scenario.training.batch_size
    shards = Shards(x, y, rows, common, batch_size, streams, samples.scale, scenario.task)
    if scenario.attack is not None:
        labels = scenario.attack.relabelled(samples.y, samples.num_classes)
        if labels is not samples.y:
            return shards.relabelled(malicious, labels)
    return shards


def _classes(scenario: Scenario, samples: Samples) -> NDArray[np.int64]:
    """What partition and attack go by, (n,); 0 everywhere if there are no classes to go by.

    Raises
    ------
    ScenarioError
        If they need some.
    """
    partition, attack, task = scenario.data.partition, scenario.attack, scenario.task
    if attack is not None and attack.needs_classes and not task.has_classes:
        raise ScenarioError(
            f'[attack] kind = "{_kind(attack)}": is on the classes of samples, which '
            f'[task] kind = "{_kind(task)}" does not learn; take another attack'
        )
    if samples.has_classes:
        return samples.y
    by = partition.goes_by
    if by == "classes" or (by == "groups" and samples.groups is None):
        grouped = ' or "by_group"' if samples.groups is not None else ""
        raise ScenarioError(
            f'[data.partition] kind = "{_kind(partition)}": goes by {by} of samples, the data set '
            f'"{samples.name}" has none; write kind = "iid"{grouped}'
        )
    return np.zeros(len(samples.y), dtype=np.int64)


def _kind(component: object) -> str:
    return str(getattr(component, "kind", type(component).__name__))


def _on_device(values: NDArray[Any], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Whole numbers as they are, all others in the run's precision."""
    found = torch.from_numpy(values)
    return found.to(device=device, dtype=dtype) if found.is_floating_point() else found.to(device)


def _learners(roles: tuple[str, ...]) -> list[int]:
    """The nodes that hold data."""
    return [i for i, role in enumerate(roles) if role != SERVER]
