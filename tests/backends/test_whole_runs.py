"""Whole runs of the shipped systems: all backends log the same events and learn the same.

In float64, so that what differs is a mistake and not the order of a sum.
"""

from functools import cache

import pytest
import torch

from netsim import engine, world
from netsim.backends.native.library import why_missing
from netsim.scenario import load

RUNS = {
    "small_pfedgraph": ["horizon_s=8"],
    "small_dpfl": ["horizon_s=4"],
    "async_dpfl": ["horizon_s=8"],
    "small_l2c": ["horizon_s=60"],
    "small_mapl": ["horizon_s=5", 'training.optimizer="sgd"', "training.learning_rate=0.05"],
    "kd_pdfl_iot": [
        "horizon_s=20",
        "exchange.slots_per_exchange=5",
        'data={kind="digits", validation=0.2, partition={kind="dirichlet", alpha=0.5}}',
    ],
}
"""Shipped scenarios and what makes them short, or lets them do without files."""

SLOW = {*RUNS} - {"kd_pdfl_iot"}


@cache
def play(name, backend):
    """Each algorithm of a scenario: its summary, and every model published at its end."""
    scenario = load(name, [*RUNS[name], 'training.dtype="float64"', f'run.backend="{backend}"'])
    built = world.build(scenario)
    found = {}
    for entry in scenario.algorithm:
        run = engine.Simulation(built, entry, None, False, None)
        run.to_horizon()
        models = {
            (node.id, stage): publication.ref.tensor().clone()
            for node in run.parts
            for stage, publication in node.publishing.published.items()
        }
        found[entry.name] = (run.finish(None), models)
    return found


NEEDS_KERNEL = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["stacked", pytest.param("native", marks=NEEDS_KERNEL)])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in RUNS]
)
def test_a_shipped_scenario_logs_and_learns_as_one_by_one(name, backend):
    alone, grouped = (play(name, each) for each in ("sequential", backend))
    for algorithm, (summary, models) in alone.items():
        other, others = grouped[algorithm]
        assert other["engine"]["backend"] == backend
        assert other["engine"]["one_by_one"] == {}
        assert other["event_log_sha256"] == summary["event_log_sha256"]
        assert other["accuracy"] == summary["accuracy"]
        assert models.keys() == others.keys()
        assert models
        for key, model in models.items():
            torch.testing.assert_close(
                others[key], model, rtol=1e-9, atol=1e-9, msg=lambda m, k=key: f"{k}: {m}"
            )
