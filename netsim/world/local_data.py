"""What each node learns from: the partition of the data set, validation samples, wrong labels."""

import numpy as np
import torch

from netsim.data.sets import Samples
from netsim.data.validation import cut_validation
from netsim.errors import ScenarioError
from netsim.learning.shards import NodeRows, Shards
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
        The data set.
    roles : tuple of str
        By node; servers hold no data.
    malicious : frozenset of int
        Nodes whose training labels an attack may falsify.
    streams : Streams
    device : torch.device
    dtype : torch.dtype
        Of the inputs.

    Raises
    ------
    ScenarioError
        If every node is a server, or the data set has too few samples for the partition.
    """
    learners = _learners(roles)
    if not learners:
        raise ScenarioError("[nodes] groups: every node is a server; none holds data")
    parts = scenario.data.partition.split(
        samples.y,
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
    x = torch.from_numpy(samples.x).to(device=device, dtype=dtype)
    y = torch.from_numpy(samples.y).to(device)
    batch_size = scenario.training.batch_size
    shards = Shards(x, y, rows, common, batch_size, streams, samples.scale)
    if scenario.attack is not None:
        labels = scenario.attack.relabelled(samples.y, samples.num_classes)
        if labels is not samples.y:
            return shards.relabelled(malicious, labels)
    return shards


def _learners(roles: tuple[str, ...]) -> list[int]:
    """The nodes that hold data."""
    return [i for i, role in enumerate(roles) if role != SERVER]
