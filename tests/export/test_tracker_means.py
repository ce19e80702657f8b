"""Means over nodes in dashboards: those of the page, at the same evaluations."""

import numpy as np
import pandas as pd
import pytest

from netsim import engine, scenario, world
from netsim.export.trackers import from_folder, scalars
from netsim.recording import run_folder
from netsim.recording.metrics import curve
from netsim.recording.observers import Observers
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
    points = list(from_folder.points(folder, {}))
    for name, wanted in (("mean", on_page.mean), ("std", on_page.std)):
        told = {
            p.t_s: p.values[f"accuracy/{name}"] for p in points if f"accuracy/{name}" in p.values
        }
        assert told == dict(zip(on_page.t_s, wanted, strict=True))
    many = {p.t_s: p.values["accuracy/nodes"] for p in points if "accuracy/nodes" in p.values}
    assert many == {t: n for t in range(TIMES) if (n := sum(k <= t for k in joined))}


TWO_STAGES = {
    "name": "stages",
    "horizon_s": 20.0,
    "nodes": {"count": 4},
    "topology": {"kind": "ring"},
    "link": {"rate_bps": 1e6},
    "exchange": {"schedule": "poisson", "rate_hz": 0.3},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "compute": {"kind": "fixed", "step_s": 0.1},
    "metrics": {"every_s": 4.0, "stages": ["trained", "mixed"]},
    "algorithm": {"kind": "epidemic", "receivers": 1},
}


def test_every_stage_that_is_measured_reaches_dashboards_and_progress(tmp_path):
    """Of several stages one is the headline; the others are there under their names."""
    folder, live, shown = tmp_path / "run", [], []
    observers = Observers(on_evaluation=live.append)
    chosen = scenario.from_dict(TWO_STAGES)
    engine.play(
        world.build(chosen),
        chosen.algorithm[0],
        folder,
        observers=observers,
        on_progress=lambda progress: shown.append(progress.score),
    )
    rows = pd.read_parquet(folder / "metrics")
    assert set(rows.stage) == {"trained", "mixed"}
    evaluations = scalars.Evaluations(run_folder.nodes(folder))
    told = {}
    for event in live:
        told.setdefault(event.t_s, {}).update(evaluations.final_numbers(event, 0))
    for point in evaluations.rest():
        told[point.t_s].update(point.values)
    exported = {}
    for point in from_folder.points(folder, run_folder.scenario_tables(folder)):
        values = {k: v for k, v in point.values.items() if not k.startswith("traffic/")}
        if values:
            exported.setdefault(point.t_s, {}).update(values)
    assert exported == told
    last_s = rows.t_s.max()
    of_stages = rows[rows.t_s == last_s].groupby(["metric", "stage"]).value.mean()
    for (metric, stage), mean in of_stages.items():
        assert told[last_s][f"{metric}/{stage}/mean"] == pytest.approx(mean)
    headline = of_stages["accuracy", "mixed"]
    assert headline != of_stages["accuracy", "trained"]
    assert told[last_s]["accuracy/mean"] == pytest.approx(headline)
    assert shown[-1] == pytest.approx(headline)
