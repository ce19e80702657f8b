"""Small scenarios to test components in: seconds of CPU time, all that is played is real."""

from pathlib import Path
from typing import Any

from netsim import engine, world
from netsim.scenario import Scenario

SCHEDULES: dict[str, dict[str, Any]] = {
    "star": {"schedule": "star", "slots_per_exchange": 5},
    "rounds": {"schedule": "rounds", "interval_s": 2.0},
    "poisson": {"schedule": "poisson", "rate_hz": 0.2, "slot_s": 1.0},
    "periodic": {"schedule": "periodic", "period_s": 5.0, "slot_s": 1.0},
}
"""Every schedule that ships, as an `[exchange]` of a run of thirty seconds."""

WORLDS: dict[str, dict[str, Any]] = {
    "clean": {"link": {"latency_s": 0.05}},
    "lossy": {"link": {"latency_s": 0.05, "loss": 0.3}},
    "server": {"nodes": {"count": 5, "groups": [{"name": "hub", "count": 1, "role": "server"}]}},
}

CELL_PLACES = {"placement": "disc", "radius_m": 50.0}
CELL = {
    "bandwidth_hz": 1e6,
    "ttl_s": 20.0,
    "mac": {"kind": "ofdma"},
    "rate": {"kind": "shannon_gap", "min_rate_bps": 1e4},
    "packet_error": {"kind": "rate_outage"},
    "arq": {"kind": "unlimited"},
}
"""Radio of methods that divide a band, in place of the `[link]` of a world."""

CHURN = {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0}

DISC = {
    "horizon_s": 4.0,
    "nodes": {"count": 4, "placement": "disc", "radius_m": 50.0},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0, "slot_s": 0.1},
    "radio": {
        "path_loss": {"kind": "log_distance"},
        "rate": {"kind": "fixed", "rate_bps": 1e7},
        "ttl_s": 2.0,
    },
    "algorithm": {"kind": "dpsgd"},
}
"""Four nodes with radios, 50 m around the origin."""


def tables(kind: str, exchange: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Five nodes, twenty samples each, a model of four hidden units.

    Parameters
    ----------
    kind : str
        The algorithm.
    exchange : dict
        The schedule.
    **changed : object
        Other tables of the scenario; `params` are the algorithm's.

    Returns
    -------
    dict
        The scenario's tables.
    """
    params = changed.pop("params", {})
    base = {
        "horizon_s": 4.0,
        "nodes": {"count": 5},
        "exchange": exchange,
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "training": {"learning_rate": 0.1},
        "metrics": {"every_s": 2.0, "common_test_samples": 5},
        "run": {"device": "cpu"},
        "algorithm": {"kind": kind, **params},
    }
    return base | changed


def played(
    scenario: Scenario, timing_only: bool = False, folder: Path | None = None, check: bool = False
) -> dict[str, Any]:
    """The summary of a scenario's first algorithm.

    Parameters
    ----------
    scenario : Scenario
    timing_only : bool
        Without learning.
    folder : Path or None
        The data folder.
    check : bool
        Whether to check the invariants while it plays.
    """
    built = world.build(scenario, folder)
    return engine.play(built, scenario.algorithm[0], timing_only=timing_only, check=check)


def require(holds: object, otherwise: str) -> None:
    """Raise AssertionError unless something holds.

    Raises
    ------
    AssertionError
    """
    if not holds:
        raise AssertionError(otherwise)
