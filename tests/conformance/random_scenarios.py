"""Random valid scenarios of all kinds of tables, small enough to play in a second or two.

From the repository root, `python -m tests.conformance.random_scenarios 300` plays so many with all
invariants checked, and says what broke.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from netsim import engine, world
from netsim.errors import NetsimError, ScenarioError
from netsim.protocols.declaration import declaration_of
from netsim.scenario import Scenario, from_dict
from netsim.scenario.kinds import kinds_of
from netsim.world.builder import World

NEED_PARAMS = {"fedavg_plus": {"switch_s": 1.0}, "pfedsim": {"general_rounds": 1}}
CHEAP = {"pfedgraph": {"steps": 3}, "dpfl": {"initial_epochs": 1, "local_epochs": 1}}


FIXED, ONCE = {"kind": "fixed"}, {"kind": "once"}
DECLARED = {kind: declaration_of(module) for kind, module in kinds_of().items()}
PLAYED = [kind for kind, one in DECLARED.items() if one.learns and not one.needs_server]
"""Methods that play in any world; others need a server, or a library."""

UNFIT = (
    "choose another topology",
    "neither is a base station",
    "has no time in which several nodes send at once",
    "which it does not serve",
    "has no validation samples",
)
"""Errors of methods that a topology, a medium access or a node's few samples are not for."""


class Draw:
    """Random choices, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def count(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def real(self, low: float, high: float) -> float:
        """Log-uniform, rounded so that it reads well."""
        return float(f"{np.exp(self.rng.uniform(np.log(low), np.log(high))):.3g}")


def tables(seed: int) -> dict[str, Any]:
    """One scenario, valid in most cases."""
    d = Draw(seed)
    place = d.chance(0.6)
    found: dict[str, Any] = {
        "name": f"random-{seed}",
        "seed": seed,
        "horizon_s": d.real(1.0, 8.0),
        "nodes": {"count": d.count(2, 8)}
        | ({"placement": "disc", "radius_m": d.real(5.0, 200.0)} if place else {}),
        "topology": topology(d),
        "exchange": exchange(d),
        "data": {
            "kind": "digits",
            "validation": d.one(0.2, 0.3),
            "partition": d.one(
                {"kind": "iid", "train_samples": 20, "test_samples": 5},
                {"kind": "class_mix", "train_min": 10, "train_max": 30, "test_samples": 5},
            ),
        },
        "model": d.one(
            [{"kind": "mlp", "hidden": [4]}],
            [{"kind": "mlp", "hidden": [20]}],
            [{"kind": "iot_mlp", "hidden": 8}],
        ),
        "training": {
            "batch_size": d.count(2, 10),
            "learning_rate": d.real(0.01, 0.5),
            "momentum": d.one(0.0, 0.9),
            "optimizer": d.one("sgd", "sgd", "adam"),
            "on_arrival": d.one("wait", "rebase", "discard_step"),
            "parameter_bits": d.one(8, 32),
        },
        "metrics": {"every_s": d.real(0.1, 3.0), "common_test_samples": 10},
        "compute": compute(d),
        "energy": energy(d),
        "run": {"device": "cpu", "backend": d.one("auto", "auto", "sequential", "stacked")},
    }
    kind = d.one("radio", "radio", "link", "both")
    if kind != "link":
        found["radio"] = radio(d, place)
    if kind != "radio":
        found["link"] = link(d)
    if "radio" in found and found["radio"]["mac"]["kind"] == "ofdma":
        found["topology"] = {"kind": "hub"}
    groups = []
    if kind == "both" or found["topology"]["kind"] == "hub" or d.chance(0.15):
        groups.append({"name": "server", "count": 1, "role": "server"})
        found["nodes"]["count"] += 1
    if d.chance(0.3):
        groups.append({"name": "weak", "count": 1, "speed": 0.3, "battery_j": d.real(0.01, 5.0)})
    if groups:
        found["nodes"]["groups"] = groups
    if d.chance(0.3):
        found["churn"] = {
            "kind": "exponential",
            "mean_on_s": d.real(0.3, 5.0),
            "mean_off_s": d.real(0.05, 1.0),
        }
    if place and d.chance(0.25):
        found["mobility"] = d.one({"kind": "random_waypoint"}, {"kind": "gauss_markov"})
    if d.chance(0.15):
        attack = d.one("gauss", "label_flip", "same_value", "shuffle", "sign_flip")
        found["attack"] = {"kind": attack, "runs_algorithm": d.chance(0.7)}
    name = d.one(*PLAYED)
    found["algorithm"] = [{"kind": name} | NEED_PARAMS.get(name, {}) | CHEAP.get(name, {})]
    if any("battery_j" in one for one in (found["energy"], *groups)):
        found["energy"] |= harvest(Draw(10**6 + seed))
    return found


def topology(d: Draw) -> dict[str, Any]:
    return d.one(
        {"kind": "complete"},
        {"kind": "complete"},
        {"kind": "ring"},
        {"kind": "erdos_renyi", "probability": d.real(0.3, 1.0)},
        {"kind": "watts_strogatz", "degree": 2, "rewiring": 0.3},
        {"kind": "barabasi_albert", "links": 1},
        {"kind": "grid"},
        {"kind": "geometric"},
        {"kind": "random_regular", "degree": 2},
        {"kind": "hub"},
    )


def exchange(d: Draw) -> dict[str, Any]:
    return d.one(
        {"schedule": "rounds", "interval_s": d.real(0.1, 2.0)},
        {"schedule": "rounds", "interval_s": d.real(0.1, 1.0), "deadline_s": d.real(0.05, 2.0)},
        {"schedule": "poisson", "rate_hz": d.real(0.3, 5.0)},
        {"schedule": "periodic", "period_s": d.real(0.2, 2.0), "drift": d.one(0.0, 0.1)},
        {"schedule": "star", "slot_s": d.real(0.02, 0.5), "slots_per_exchange": d.count(3, 6)},
    )


def compute(d: Draw) -> dict[str, Any]:
    step_s = d.one(0.0, d.real(1e-4, 0.3))
    return d.one(
        {"kind": "fixed", "step_s": step_s},
        {"kind": "shifted_exponential", "step_s": step_s, "straggle_s": d.real(0.01, 0.5)},
        {"kind": "spread", "step_s": step_s},
        {"kind": "stragglers", "step_s": step_s},
        {"kind": "flops", "flops_per_s": d.real(1e5, 1e8)},
    )


def energy(d: Draw) -> dict[str, Any]:
    found: dict[str, Any] = {
        "radio": d.one(
            {"kind": "transmit"},
            {
                "kind": "radio_state",
                "tx_w": 1.3,
                "rx_w": 0.9,
                "idle_w": d.one(0.0, 0.1),
                "sleep_w": 0.0,
            },
            {"kind": "first_order"},
        ),
        "compute": d.one(
            {"kind": "per_step", "joules": d.one(0.0, d.real(1e-3, 1.0))},
            {"kind": "cpu", "cycles_per_sample": 1e5, "clock_hz": 1e9},
        ),
    }
    if d.chance(0.4):
        found["battery_j"] = d.real(0.01, 20.0)
    return found


def harvest(d: Draw) -> dict[str, Any]:
    if d.chance(0.4):
        return {}
    watt, slot_s = d.real(1e-2, 2.0), d.real(0.02, 1.0)
    law = d.one(
        {"kind": "constant", "power_w": watt},
        {"kind": "solar", "peak_w": watt, "day_s": 3.0, "step_s": slot_s},
        {"kind": "bernoulli", "power_w": watt, "probability": 0.4, "slot_s": slot_s},
        {"kind": "markov", "good_w": watt, "good_to_bad": 0.3, "bad_to_good": 0.2},
    )
    levels = {"off_level": d.one(0.0, 0.2), "start_level": d.one(0.0, 0.5, 1.0)}
    return {"harvest": law | levels | {"on_level": d.one(0.3, 1.0)}}


def arq(d: Draw) -> dict[str, Any]:
    kind = d.one("abort", "hole", "none", "unlimited", "harq_chase")
    limited = kind in ("abort", "hole", "harq_chase")
    return {"kind": kind} | ({"max_attempts": d.count(1, 5)} if limited else {})


def bursts(d: Draw) -> dict[str, Any]:
    return {"bursts": {"p_good_to_bad": 0.05, "p_bad_to_good": 0.3}} if d.chance(0.15) else {}


def radio(d: Draw, place: bool) -> dict[str, Any]:
    coherence = {"coherence_s": d.real(1e-3, 1.0)} if d.chance(0.7) else {"hold": "exchange"}
    found = {
        "bandwidth_hz": d.real(1e5, 2e7),
        "tx_power_dbm": d.one(0.0, 10.0, 20.0),
        "threshold_db": d.one(-5.0, 5.0, 10.0),
        "packet_payload_bytes": d.count(20, 1500),
        "packet_header_bytes": d.one(0, 25),
        "attempt_overhead_s": d.one(0.0, 1e-4),
        "ttl_s": d.real(0.02, 5.0),
        "fidelity": d.one("message", "message", "message", "packet"),
        "discovery": d.one("oracle", "oracle", "probe"),
        "fading": d.one(
            {"kind": "none"},
            {"kind": "rayleigh", **coherence},
            {"kind": "rician", **coherence},
            {"kind": "nakagami", **coherence},
            {"kind": "frequency_selective", "coherence_s": 0.1, "resource_blocks": 12},
        ),
        "rate": d.one(
            {"kind": "fixed", "rate_bps": d.real(2e4, 2e7)},
            {"kind": "fixed", "rate_bps": d.real(2e4, 1e6)},
            {"kind": "shannon_gap", "min_rate_bps": 1e3},
            {"kind": "ofdm_80211"},
            {"kind": "lte_cqi"},
            {"kind": "minstrel"},
        ),
        "packet_error": d.one(
            {"kind": "outage"},
            {"kind": "exponential_snr"},
            {"kind": "fixed", "loss": d.one(0.0, 0.2)},
            {"kind": "logistic"},
            {"kind": "uncoded_bpsk"},
            {"kind": "ofdm_80211"},
            {"kind": "rate_outage"},
        ),
        "arq": arq(d),
        "mac": d.one(
            {"kind": "orthogonal"},
            {"kind": "shared"},
            {"kind": "csma"},
            {"kind": "tdma", "slot_s": d.real(1e-3, 0.1)},
            {"kind": "aloha"},
            {"kind": "ofdma", "subchannels": 4},
        ),
        "power": d.one(
            {"kind": "fixed"}, {"kind": "fixed"}, {"kind": "inversion", "target_snr_db": 10.0}
        ),
        "broadcast": d.one(
            {"kind": "once"}, {"kind": "once"}, {"kind": "repeated", "max_rounds": 3}
        ),
        "sleep": d.one(
            {"kind": "none"},
            {"kind": "none"},
            {"kind": "duty_cycle", "period_s": d.real(0.05, 2.0), "awake_fraction": 0.5},
        ),
        **bursts(d),
    }
    if d.chance(0.3):
        found["queue_limit"] = d.count(0, 3)
    if place:
        found["propagation_delay"] = d.chance(0.4)
        found["path_loss"] = d.one(
            {"kind": "log_distance"}, {"kind": "free_space"}, {"kind": "inh"}
        )
        if d.chance(0.3):
            found["shadowing"] = {"kind": "log_normal", "sigma_db": 6.0}
    return found


def link(d: Draw) -> dict[str, Any]:
    found: dict[str, Any] = {
        "latency_s": d.one(0.0, d.real(1e-4, 0.5)),
        "loss": d.one(0.0, d.real(0.01, 0.5)),
        "sharing": d.one("max_min", "fifo"),
        "forwarding": d.one("pipelined", "stored"),
        "arq": arq(d),
    }
    if found["loss"] == 0.0:
        found |= bursts(d)
    for key in ("rate_bps", "uplink_bps", "downlink_bps"):
        if d.chance(0.4):
            found[key] = d.real(1e4, 1e7)
    if d.chance(0.3):
        found["jitter_s"] = d.real(1e-4, 0.1)
    if d.chance(0.5):
        found |= {"packet_payload_bytes": d.count(20, 1500), "packet_header_bytes": d.one(0, 40)}
    if d.chance(0.4) or found["arq"]["kind"] == "unlimited":
        found["ttl_s"] = d.real(0.02, 5.0)
    if d.chance(0.2) and found["forwarding"] == "pipelined":
        found["slow_start"] = {}
    return found


def scenarios(first: int) -> Iterator[tuple[int, Scenario, World]]:
    """Those of the seeds from `first` on that are valid."""
    seed = first - 1
    while True:
        seed += 1
        try:
            scenario = from_dict(tables(seed))
            yield seed, scenario, world.build(scenario)
        except ScenarioError:
            continue


def play(scenario: Scenario, built: World, timing_only: bool) -> dict[str, Any]:
    """One run with all invariants checked."""
    return engine.play(built, scenario.algorithm[0], timing_only=timing_only, check=True)


def kinds(scenario: Scenario) -> list[str]:
    """Return the kinds of a scenario, for a table of coverage."""
    found = [scenario.exchange.schedule, scenario.algorithm[0].kind, scenario.topology.kind]
    if scenario.radio is not None:
        r = scenario.radio
        parts = (r.mac, r.arq, r.fading, r.rate, r.packet_error, r.sleep, r.power, r.broadcast)
        found += [f"{type(part).__mro__[1].__name__}.{part.kind}" for part in parts]
        found.append(f"fidelity.{r.fidelity}")
    if scenario.link is not None:
        found.append(f"link.{scenario.link.sharing}")
    return [*found, f"energy.{scenario.energy.radio.kind}", f"churn.{scenario.churn.kind}"]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(count: int, first: int) -> int:
    """Play so many; how many failed."""
    covered: Counter[str] = Counter()
    failed = messages = number = 0
    began_s = time.process_time()
    valid = scenarios(first)
    while number < count:
        seed, scenario, built = next(valid)
        timing_only = number % 2 == 1 and not DECLARED[scenario.algorithm[0].kind].needs_values
        try:
            messages += play(scenario, built, timing_only)["messages"]["sent"]
        except Exception as error:
            if any(text in str(error) for text in UNFIT):
                continue
            failed += 1
            name = type(error).__name__ if not isinstance(error, NetsimError) else "error"
            say(f"seed {seed}, timing only {timing_only}: {name}: {error}")
        number += 1
        covered.update(kinds(scenario))
    took_s = time.process_time() - began_s
    say(f"{count} scenarios, {messages} messages, {failed} failed, {took_s:.0f} s of one core")
    say(", ".join(f"{kind} {n}" for kind, n in sorted(covered.items())))
    return failed


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    sys.exit(bool(main(*(arguments + [300, 0][len(arguments) :]))))
