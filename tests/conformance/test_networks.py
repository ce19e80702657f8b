"""The papers' five systems, file for file, over whatever network a scenario describes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netsim import engine, world
from netsim.protocols.declaration import declaration_of
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

from .conftest import tables

MODULES = kinds_of()

SYSTEMS: dict[str, dict[str, Any]] = {
    "kd_pdfl": {"timeout_s": 1.0},
    "dpfl": {"initial_epochs": 1, "local_epochs": 1, "poll_s": 0.2},
    "mapl": {"local_epochs": 1, "warmup_rounds": 1, "augmentation": {"flip": 0.0}},
    "pfedgraph": {"steps": 1},
    "l2c": {"local_epochs": 1, "prune_after": 2, "kept_peers": 3},
    "meta_l2c": {"local_epochs": 1, "prune_after": 2, "kept_peers": 3},
}

RADIO: dict[str, Any] = {
    "mean_snr_db": 15.0,
    "threshold_db": 5.0,
    "rate": {"kind": "fixed", "rate_bps": 1e6},
    "fading": {"kind": "rayleigh", "coherence_s": 0.05},
}
CONTACTS = "contacts.txt"
PLACED = {"nodes": {"count": 6, "placement": "disc", "radius_m": 60.0}}


def share(found, outcome: str) -> float:
    """Share of all messages that ended so."""
    counts = [kind.get(outcome, 0) for kind in found["outcomes"].values()]
    return sum(counts) / found["messages"]["sent"]


@dataclass(frozen=True)
class Network:
    """Tables of a scenario, and what must be seen of them in a summary."""

    tables: dict[str, Any]
    seen: Callable[[dict[str, Any]], bool]


NETWORKS = {
    "ideal": Network({}, lambda s: share(s, "delivered") == 1.0 and s["delay"]["max_s"] == 0.0),
    "latency and rate": Network(
        {"link": {"latency_s": 0.1, "rate_bps": 1e6}},
        lambda s: share(s, "delivered") == 1.0 and s["delay"]["p50_s"] >= 0.1,
    ),
    "lossy wire": Network(
        {"link": {"loss": 0.1, "packet_payload_bytes": 200}}, lambda s: share(s, "retries") > 0.05
    ),
    "lossy wire with retransmission": Network(
        {
            "link": {
                "loss": 0.3,
                "packet_payload_bytes": 200,
                "rate_bps": 1e6,
                "arq": {"kind": "unlimited"},
            }
        },
        lambda s: share(s, "delivered") == 1.0 and s["delay"]["mean_s"] > 0.0,
    ),
    # a pair is in outage for 1 - exp(-10^(5/10) / 10^(8/10)) = 39 % of the time
    "Rayleigh outage": Network(
        {"radio": {**RADIO, "mean_snr_db": 8.0}}, lambda s: 0.05 < share(s, "outage") < 0.5
    ),
    "Rician, fades held for an exchange": Network(
        {"radio": {**RADIO, "fading": {"kind": "rician", "k_factor_db": 3.0, "hold": "exchange"}}},
        lambda s: share(s, "delivered") > 0.5,
    ),
    "Shannon rate with retransmission": Network(
        {
            **PLACED,
            "radio": {
                "tx_power_dbm": 10.0,
                "bandwidth_hz": 1e6,
                "rate": {"kind": "shannon_gap", "min_rate_bps": 1e4},
                "packet_error": {"kind": "exponential_snr"},
                "packet_payload_bytes": 200,
                "arq": {"kind": "abort", "max_attempts": 7},
                "fading": {"kind": "rayleigh", "coherence_s": 0.05},
            },
        },
        lambda s: share(s, "delivered") > 0.3 and s["delay"]["p99_s"] > s["delay"]["p50_s"],
    ),
    "slow radio whose messages expire": Network(
        {"radio": {**RADIO, "rate": {"kind": "fixed", "rate_bps": 2.9e4}, "ttl_s": 0.7}},
        lambda s: share(s, "deadline") > 0.05,
    ),
    "few neighbours": Network(
        {"topology": {"kind": "ring"}, "link": {"latency_s": 0.05}},
        lambda s: share(s, "delivered") == 1.0,
    ),
    "stragglers": Network(
        {"compute": {"kind": "shifted_exponential", "step_s": 0.02, "straggle_s": 0.5}},
        lambda s: share(s, "delivered") == 1.0,
    ),
    "Doppler and shadowing": Network(
        {
            **PLACED,
            "radio": {
                "reachable": 3.0,
                "calibrate": "power",
                "rate": {"kind": "fixed", "rate_bps": 1e6},
                "fading": {"kind": "rayleigh", "doppler_hz": 10.0},
                "shadowing": {"kind": "log_normal", "sigma_db": 4.0, "decorrelation_m": 10.0},
            },
        },
        lambda s: share(s, "outage") > 0.02,
    ),
    "access links shared at max-min rates": Network(
        {"link": {"uplink_bps": 1e5, "downlink_bps": 1e5, "latency_s": 0.01}},
        lambda s: share(s, "delivered") == 1.0 and s["delay"]["p95_s"] > s["delay"]["p50_s"],
    ),
    "losses in bursts": Network(
        {"link": {"packet_payload_bytes": 50, "bursts": {"p_good_to_bad": 0.02}}},
        lambda s: share(s, "retries") > 0.05,
    ),
    "contacts of a trace": Network(
        {
            "topology": {"kind": "contacts", "path": CONTACTS},
            "link": {"latency_s": 0.05, "rate_bps": 1e5},
        },
        lambda s: share(s, "delivered") > 0.3,
    ),
    "nodes that come and go": Network(
        {
            "churn": {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0},
            "link": {"latency_s": 0.1},
        },
        lambda s: share(s, "off") > 0.05,
    ),
    "batteries that run empty": Network(
        {
            "radio": {**RADIO, "tx_power_dbm": 20.0},
            "energy": {"battery_j": 0.05},
        },
        lambda s: s["energy_j"] > 0.1,
    ),
    "nodes that move": Network(
        {
            **PLACED,
            "mobility": {"kind": "random_waypoint", "min_m_per_s": 5.0, "max_m_per_s": 5.0},
            "radio": {**RADIO, "reachable": 2.0, "calibrate": "power"},
        },
        lambda s: share(s, "outage") > 0.02,
    ),
    "one channel, interference": Network(
        {"radio": {**RADIO, "mac": {"kind": "shared"}}}, lambda s: share(s, "delivered") < 0.99
    ),
    "carrier sensing": Network(
        {"radio": {**RADIO, "mac": {"kind": "csma"}}}, lambda s: s["delay"]["p95_s"] > 0.0
    ),
    "radios that sleep": Network(
        {
            "radio": {
                **RADIO,
                "sleep": {"kind": "duty_cycle", "period_s": 0.5, "awake_fraction": 0.6},
            }
        },
        lambda s: share(s, "asleep") > 0.1,
    ),
    "carrier sensing, some are hidden": Network(
        {
            **PLACED,
            "radio": {
                "reachable": 4.0,
                "calibrate": "power",
                "rate": {"kind": "fixed", "rate_bps": 1e6},
                "mac": {"kind": "csma", "carrier_sense_m": 50.0},
            },
        },
        lambda s: share(s, "delivered") > 0.3,
    ),
    "packet by packet": Network(
        {"radio": {**RADIO, "packet_payload_bytes": 200, "fidelity": "packet"}},
        lambda s: share(s, "delivered") > 0.3,
    ),
}


def played(system: str, network: Network, folder: Path) -> dict[str, Any]:
    """Thirty seconds of six nodes, a wake-up of each every three; nothing is computed."""
    meetings = [f"{t} {i} {(i + 1 + t // 6) % 6}" for t in range(40) for i in range(6)]
    meetings = [line for line in meetings if len(set(line.split()[1:])) == 2]
    (folder / CONTACTS).write_text("\n".join(meetings))
    schedule = {"schedule": "poisson", "rate_hz": 0.35, "slot_s": 0.5}
    if "poisson" not in (declaration_of(MODULES[system]).schedules or ("poisson",)):
        schedule = {"schedule": "star", "slot_s": 0.5, "slots_per_exchange": 2}
    base = {"horizon_s": 30.0, "nodes": {"count": 6}, "compute": {"kind": "fixed", "step_s": 0.02}}
    described = tables(system, schedule, params=SYSTEMS[system], **base | network.tables)
    described["data"] = {**described["data"], "path": str(folder)}
    scenario = from_dict(described, "networks")
    return engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)


@pytest.mark.thinned(132)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_runs_unchanged_over_any_network(system, network, tmp_path):
    found = played(system, NETWORKS[network], tmp_path)
    messages = found["messages"]
    ways = ("delivered", "partial", "lost", "expired", "withdrawn")
    assert messages["sent"] == sum(messages[way] for way in ways)
    assert messages["delivered"] > 0
    assert found["local_steps"] > 0
    assert found["staleness"]["used"] > 0
    assert NETWORKS[network].seen(found), (found["outcomes"], found["delay"])
