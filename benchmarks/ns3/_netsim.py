"""netsim's side: scenarios that mean what the C++ programs here mean, played without learning."""

import gc
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from netsim import engine, world
from netsim.console.commands.export import export
from netsim.scenario import from_dict

ALGORITHMS = Path(__file__).parent / "algorithms"
PAYLOAD_BYTES, HEADER_BYTES = 1464, 36
FEW = 500
"""Up to so many nodes have samples of `digits`, which ships; more need $NETSIM_DATA."""
MODEL_BYTES = 51_240
"""Size of a pushed message: 35 frames."""
EXPONENT, REFERENCE_DB = 3.0, 46.6777
SENSITIVITY_DBM = -82.0
"""ns-3's threshold of a preamble."""
RANGE_M = 10 ** ((20.0 - REFERENCE_DB - SENSITIVITY_DBM) / (10 * EXPONENT))
"""Distance at which 20 dBm fall to it: 69.8 m."""

EIFS_S = {6: 94e-6, 24: 94e-6, 54: 94e-6}
"""SIFS, an acknowledgement at 6 Mb/s and DIFS."""


def overhead_s(mbps: int, frame_bytes: int = PAYLOAD_BYTES + HEADER_BYTES) -> float:
    """Return the time of an 802.11a frame without its bits: preamble, SIGNAL, 22 bits, padding."""
    symbols = math.ceil((8 * frame_bytes + 22) / (4 * mbps))
    return 20e-6 + 4e-6 * symbols - 8 * frame_bytes / (1e6 * mbps)


def radio(mbps: int = 6, mac: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """The table [radio] of 802.11a at one rate, as `wifi.h` has it.

    Parameters
    ----------
    mbps : int
    mac : dict or None
        More keys of [radio.mac].
    **keys
        More keys of [radio].
    """
    return {
        "carrier_hz": 5.15e9,
        "tx_power_dbm": 20.0,
        "sensitivity_dbm": SENSITIVITY_DBM,
        "packet_payload_bytes": PAYLOAD_BYTES,
        "packet_header_bytes": HEADER_BYTES,
        "attempt_overhead_s": overhead_s(mbps),
        "threshold_db": {6: 3.96, 24: 13.51, 54: 22.62}[mbps],
        "path_loss": {"kind": "log_distance", "exponent": EXPONENT, "reference_db": REFERENCE_DB},
        "fading": {"kind": "none"},
        "rate": {"kind": "fixed", "rate_bps": mbps * 1e6},
        "packet_error": {"kind": "ofdm_80211", "mbps": mbps},
        "arq": {"kind": "hole", "max_attempts": 7},
        "mac": {"kind": "csma", "capture": True, "eifs_s": EIFS_S[mbps], **(mac or {})},
    } | keys


def in_disc(nodes: int, radius_m: float, seed: int) -> list[list[float]]:
    """Places in a disc, as [x, y] in m."""
    rng = np.random.default_rng(1000 + seed)
    r, a = radius_m * np.sqrt(rng.uniform(size=nodes)), 2 * math.pi * rng.uniform(size=nodes)
    return [[float(x), float(y)] for x, y in np.stack([r * np.cos(a), r * np.sin(a)], 1).round(3)]


def pushes(
    nodes: int, radius_m: float, rate_hz: float, lasting_s: float, seed: int, fidelity: str
) -> dict[str, Any]:
    """The tables of an ad hoc network whose nodes push models to all that they hear.

    Parameters
    ----------
    nodes : int
    radius_m : float
        Of the disc that they are in.
    rate_hz : float
        Wake-ups of a node.
    lasting_s : float
        For how long it pushes; then there is a minute for what waits.
    seed : int
        Of places and of all draws.
    fidelity : {"message", "packet"}
    """
    return {
        "seed": seed,
        "horizon_s": lasting_s + 60.0,
        "nodes": {
            "count": nodes,
            "placement": "given",
            "positions_m": in_disc(nodes, radius_m, seed),
        },
        "topology": {"kind": "geometric", "radius_m": RANGE_M},
        "exchange": {"schedule": "poisson", "rate_hz": rate_hz},
        "radio": radio(control_bits=8 * MODEL_BYTES, fidelity=fidelity),
        "algorithm": {"kind": "push", "until_s": lasting_s},
    }


def play(tables: dict[str, Any], folder: Path | None = None) -> tuple[dict[str, Any], float]:
    """Play a scenario without learning.

    Parameters
    ----------
    tables : dict
        Of the scenario, without data, model and metrics.
    folder : Path or None
        The run folder; None: none is written.

    Returns
    -------
    summary : dict
    cpu_s : float
        CPU time of the playing alone.
    """
    base = {
        "exchange": {"schedule": "poisson", "rate_hz": 1.0},
        "data": {"kind": "digits" if tables["nodes"]["count"] <= FEW else "fashion_mnist"},
        "model": {"kind": "mlp", "hidden": []},
        "metrics": {"every_s": tables["horizon_s"], "common_test_samples": 10},
        "run": {"log_messages": folder is not None},
    }
    scenario = from_dict(base | tables, "ns3", algorithms_folder=ALGORITHMS)
    elsewhere = os.environ.get("NETSIM_DATA")
    built = world.build(scenario, Path(elsewhere) if elsewhere else None)
    playing = engine.play  # imported when it is first asked for: no part of the playing
    gc.collect()
    start = time.process_time()
    found = playing(built, scenario.algorithm[0], folder=folder, timing_only=True)
    return found, time.process_time() - start


def exported(run: Path, folder: Path, algorithms: Path | None = None) -> Path:
    """A run folder for ns-3, as by `netsim export`."""
    components = () if algorithms is None else (algorithms,)
    return export(run, (None, "ns3"), folder, 1.0, components, None)
