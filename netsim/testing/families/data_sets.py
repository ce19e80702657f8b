"""Data sets: rows with a label each, split once and for all."""

import numpy as np

from netsim.data.sets import DataSet
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require


def check(data_set: DataSet, case: ComponentCase) -> None:
    """Check that arrays fit together, no row is in both splits, and a second reading is equal."""
    samples = data_set.read(case.folder)
    rows = len(samples.x)
    require(len(samples.y) == rows, f"{rows} inputs have {len(samples.y)} labels")
    require(np.isfinite(samples.x).all(), "inputs are not finite")
    for name in ("train", "test"):
        chosen = getattr(samples, name)
        require(len(chosen) > 0, f"it has no {name} rows")
        require(len(np.unique(chosen)) == len(chosen), f"{name} names a row twice")
        inside = chosen.min() >= 0 and chosen.max() < rows
        require(inside, f"{name} names rows that there are not")
    shared = np.intersect1d(samples.train, samples.test)
    require(len(shared) == 0, f"{len(shared)} rows are in both train and test")
    if samples.has_classes:
        named = len(samples.class_names) == samples.num_classes
        require(named, "class_names must name every class")
    again = data_set.read(case.folder)
    same = np.array_equal(again.x, samples.x) and np.array_equal(again.train, samples.train)
    require(same, "read twice, it is another one: key its draws by a seed of its own")
