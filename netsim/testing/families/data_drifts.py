"""Drifts: nodes that are not named keep what they have; the same draws give the same data."""

import numpy as np

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.data.partitions.iid import Iid
from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

NODES = 5


def check(drift: Drift, case: ComponentCase) -> None:
    """Check a drift of the scenario's data set at three of five nodes with random samples."""
    samples = case.scenario().data.load(case.folder)
    pool, who = Pool(samples, samples.y), [0, 2, 3]
    before = Holdings(tuple(pool.split(Iid(), NODES, Streams(0))), (None,) * NODES)

    def changed() -> Holdings:
        return drift.change(before, who, pool, Streams(1))

    after, again = changed(), changed()
    require(len(after.parts) == NODES == len(after.labels), f"of {NODES} nodes some are missing")
    for node, (part, labels) in enumerate(zip(after.parts, after.labels, strict=True)):
        same = part is before.parts[node] and labels is None
        require(same or node in who, f"node {node}: changes, and is not among those that do")
        require(len(part.train) > 0, f"node {node}: has no training rows")
        for name, rows in (("train", part.train), ("test", part.test)):
            inside = np.isin(rows, getattr(samples, name)).all()
            require(inside, f"node {node}: {name} names rows that are not of {name}")
        if labels is not None:
            known = labels.shape == (samples.num_classes,) and labels.min() >= 0
            require(known and labels.max() < samples.num_classes, f"node {node}: no such labels")
    repeats = all(
        np.array_equal(one.train, other.train) and np.array_equal(one.test, other.test)
        for one, other in zip(after.parts, again.parts, strict=True)
    )
    require(repeats, "changed twice, it is another one: draw from the streams alone")
