"""Synthetic run folders, written through the Recorder as a run would."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netsim.recording import summary
from netsim.recording.recorder import Recorder

S = 1_000_000_000
LOSSES = ("outage", "retries", "deadline", "busy")


def play(
    folder: Path,
    algorithm: str = "kd_pdfl",
    *,
    nodes: int = 20,
    evaluations: int = 21,
    seed: int = 0,
    gain: float = 0.3,
    megabits: float = 1.3,
    horizon_s: int = 600,
    weights: bool = True,
    log_messages: bool = True,
) -> dict:
    """Write the run folder of an invented run whose accuracy saturates at 0.45 + gain."""
    draws = np.random.default_rng((seed, nodes, sum(algorithm.encode())))
    recorder = Recorder(folder, log_messages=log_messages)
    recorder.nodes({"node": range(nodes), "x_m": draws.normal(size=nodes).tolist()})
    level = draws.normal(0, 0.05, nodes)
    group = np.arange(nodes) % 3
    bits = np.zeros(nodes, dtype=int)
    times_s = np.linspace(0, horizon_s, evaluations)
    for k, t_s in enumerate(times_s):
        t_ns = round(t_s * S)
        if k and nodes > 1:
            for node in range(nodes):
                for peer in draws.choice(np.delete(np.arange(nodes), node), 5):
                    near = group[node] == group[peer]
                    ok = draws.random() < (0.95 if near else 0.7)
                    sent_ns = t_ns - int(draws.integers(1, S))
                    bits[node] += round(megabits * 1e6)
                    recorder.message(
                        sent_ns, sent_ns + 10**7, node, int(peer), "Model", round(megabits * 1e6),
                        134, 0 if ok else 3, float(draws.normal(18, 6)),
                        "delivered" if ok else LOSSES[draws.integers(4)], k, 0.01 if ok else None,
                        round(megabits * 1e6),
                    )  # fmt: skip
                recorder.wake(t_ns, node, k, "woke" if draws.random() < 0.9 else "skipped")
                recorder.job(t_ns, node, 20)
            recorder.airtime_ns += nodes * S
        recorder.bits_transmitted = int(bits.sum())
        recorder.spent(t_ns)
        share = 1 - np.exp(-t_s / (horizon_s / 4))
        for node in range(nodes):
            value = 0.2 + (gain + 0.25) * share + level[node] + draws.normal(0, 0.01)
            spent = (20 * k, int(bits[node]), 0.02 * k)
            recorder.metric(t_ns, node, "accuracy", "mixed", float(np.clip(value, 0, 1)), *spent)
            recorder.metric(
                t_ns, node, "accuracy_all_classes", "mixed", float(0.12 + gain * share / 2
                + level[node] / 3), *spent,
            )  # fmt: skip
            recorder.metric(t_ns, node, "accuracy_validation", "mixed", float(value), *spent)
        if weights and k % 5 == 0:
            for node in range(nodes):
                near = np.where(group == group[node], 1.0, 0.15) * draws.uniform(0.6, 1, nodes)
                near[node] = 0
                for peer in range(nodes):
                    weight = 0.35 if peer == node else 0.65 * near[peer] / max(near.sum(), 1e-9)
                    recorder.graph(t_ns, node, peer, float(weight))
    return summary.write(
        folder,
        {
            "name": "kd_pdfl_iot", "algorithm": algorithm, "seed": seed, "nodes": nodes,
            "virtual_s": float(horizon_s), "wall_s": 3.2, "energy_j": 12.5,
            **recorder.close(),
        },
    )  # fmt: skip


@pytest.fixture
def written() -> Callable[..., dict]:
    return play
