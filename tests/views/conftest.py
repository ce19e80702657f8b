"""Small run folders whose numbers can be worked out by hand; larger ones, and a browser."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.recording.conftest import written

__all__ = ["written"]

MESSAGES = (
    # sent, done, from, to, kind, outcome, age
    (0.0, 1.0, 0, 1, "Model", "delivered", 2.0),
    (0.5, 1.5, 0, 1, "Model", "outage", None),
    (2.0, 4.0, 1, 0, "Model", "delivered", 3.0),
    (6.0, 7.0, 1, 2, "Request", "deadline", None),
    (9.0, 10.0, 2, 0, "Model", "delivered", 1.0),
)
WEIGHTS = (
    # time, node, peer, weight
    (1.0, 0, 1, 0.25),
    (1.1, 0, 1, 0.5),
    (1.1, 0, 0, 0.5),
    (6.0, 1, 0, 0.75),
    (9.9, 0, 1, 0.5),
)
WAKES = (
    # time, node, what, count
    (0.0, 0, "job", 2),
    (1.0, 0, "job", 2),
    (2.0, 1, "off", 0),
    (5.0, 1, "on", 0),
    (5.0, 2, "job", 4),
)


def table(folder: Path, name: str, columns: dict) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name / "part-00000.parquet")


def words(values) -> pa.Array:
    return pa.array(list(values), pa.string()).dictionary_encode()


def write_run(
    folder: Path,
    *,
    messages=MESSAGES,
    weights=WEIGHTS,
    wakes=WAKES,
    places=True,
    metrics=True,
    summary=True,
    state: dict | None = None,
    name: str = "tiny",
    algorithm: str = "dpsgd",
) -> Path:
    """A run of three nodes and ten seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = {
        "node": [0, 1, 2],
        "role": ["node"] * 3,
        "step_s": [1.0, 1.0, 0.5],
        "train_samples": [10, 20, 30],
    }
    if places:
        nodes |= {"x_m": [0.0, 100.0, 50.0], "y_m": [0.0, 0.0, 80.0]}
    pq.write_table(pa.table(nodes), folder / "nodes.parquet")
    if messages:
        sent, done, src, dst, kind, outcome, age = zip(*messages, strict=True)
        table(folder, "messages", {
            "t_sent_s": sent, "t_done_s": done, "src": src, "dst": dst, "kind": words(kind),
            "bits": [8_000_000] * len(sent), "outcome": words(outcome),
            "age_s": pa.array(age, pa.float64()), "bits_transmitted": [8_000_000] * len(sent),
            "attempts": [1] * len(sent), "packets_lost": [0] * len(sent), "round": [0] * len(sent),
            "snr_db": pa.array([None] * len(sent), pa.float64()),
        })  # fmt: skip
        used = [k for k, one in enumerate(age) if one is not None]
        table(folder, "uses", {
            "message": used, "t_sent_s": [sent[k] for k in used],
            "t_arrived_s": [done[k] for k in used], "src": [src[k] for k in used],
            "dst": [dst[k] for k in used], "kind": words([kind[k] for k in used]),
            "fate": words(["used"] * len(used)),
            "t_used_s": [float(sent[k] + age[k]) for k in used],
            "age_at_use_s": [float(age[k]) for k in used], "used_by": words(["mix"] * len(used)),
            "weight": [0.5] * len(used),
        })  # fmt: skip
    if weights:
        t, node, peer, weight = zip(*weights, strict=True)
        table(folder, "graph", {"t_s": t, "node": node, "peer": peer, "weight": weight})
    if wakes:
        t, node, what, count = zip(*wakes, strict=True)
        table(folder, "wakes", {"t_s": t, "node": node, "what": words(what), "count": count})
    if metrics:
        t = np.repeat([5.0, 10.0], 3)
        table(folder, "metrics", {
            "t_s": t, "node": np.tile([0, 1, 2], 2), "metric": words(["accuracy"] * 6),
            "stage": words(["mixed"] * 6), "value": [0.2, 0.4, 0.6, 0.5, 0.6, 0.7],
            "steps": [2, 0, 4, 4, 0, 8], "bits_transmitted": [8_000_000] * 3 + [16_000_000] * 3,
            "energy_j": [0.0] * 6,
        })  # fmt: skip
    (folder / "scenario.toml").write_text(f'name = "{name}"\nseed = 3\nhorizon_s = 10.0\n')
    (folder / "status.json").write_text(json.dumps(state or {"state": "done", "virtual_s": 10.0}))
    if summary:
        told = {
            "name": name, "algorithm": algorithm, "seed": 3, "nodes": 3, "virtual_s": 10.0,
            "wall_s": 1.0, "accuracy": {"mean": 0.6, "std": 0.08}, "diverged": [], "warnings": [],
            "messages": {"sent": 5, "delivered": 3, "lost": 1, "expired": 1},
        }  # fmt: skip
        (folder / "summary.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="session", name="write_run")
def _write_run():
    return write_run
