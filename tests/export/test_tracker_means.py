"""Means over nodes in dashboards: those of the page, at the same evaluations."""

import numpy as np
import pandas as pd
import pytest

from netsim.export.trackers import from_folder
from netsim.recording import run_folder
from netsim.recording.metrics import curve
from netsim.recording.recorder import Recorder

NODES, TIMES = 4, 6


def joined_at(seed: int) -> list[int]:
    """The evaluation from which on each node has a model; one in four never has one."""
    rng = np.random.default_rng(seed)
    return [int(k) if k < TIMES else 99 for k in rng.integers(0, TIMES * 4 // 3, NODES)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("has_table", [True, False])
def test_dashboards_have_the_means_of_the_page(tmp_path, seed, has_table):
    joined = joined_at(seed)
    joined[seed % NODES] = min(joined[seed % NODES], TIMES - 1)
    folder, recorder = tmp_path / "run", Recorder(tmp_path / "run")
    for t in range(TIMES):
        for node in (k for k in range(NODES) if joined[k] <= t):
            recorder.metric(t * 10**9, node, "accuracy", "mixed", (t + node**2) / 20, 1, 0, 0.0)
    recorder.close()
    (folder / "nodes.parquet").unlink(missing_ok=True)
    if has_table:
        roles = {"role": ["node"] * NODES + ["server"], "train_samples": [5] * NODES + [0]}
        pd.DataFrame({"node": range(NODES + 1), **roles}).to_parquet(folder / "nodes.parquet")
    on_page = curve(run_folder.read(folder, "metrics"), "accuracy")
    points = list(from_folder.points(folder))
    for name, wanted in (("mean", on_page.mean), ("std", on_page.std)):
        told = {
            p.t_s: p.values[f"accuracy/{name}"] for p in points if f"accuracy/{name}" in p.values
        }
        assert told == dict(zip(on_page.t_s, wanted, strict=True))
    many = {p.t_s: p.values["accuracy/nodes"] for p in points if "accuracy/nodes" in p.values}
    assert many == {t: n for t in range(TIMES) if (n := sum(k <= t for k in joined))}
