"""Networks of all kinds: what a radio network can be made of, found in the registry."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from netsim import engine, world
from netsim.errors import ScenarioError
from netsim.links.radio.table import Radio
from netsim.registry import Choice, family, tag_of
from netsim.scenario import Scenario, from_dict
from netsim.scenario.file_paths import OnDisk, marked_keys
from netsim.scenario.kinds import Kinds, kinds_of

from .covering import CoveringArray, Row

TRAFFIC = Path(__file__).parent / "traffic"
FAMILIES = ("netsim.channels.", "netsim.topology.churn", "netsim.topology.mobility")
FAMILIES += ("netsim.devices.energy.", "netsim.schedules")
VALUES = {
    "rate_bps": 1e6, "min_rate_bps": 1e3, "rate_hz": 2.0, "period_s": 0.4, "mean_on_s": 0.6,
    "mean_off_s": 0.3, "tx_w": 1.3, "rx_w": 0.9, "idle_w": 0.1, "awake_fraction": 0.1,
    "cycles_per_sample": 1e5, "clock_hz": 1e9, "joules": 0.0, "target_snr_db": 20.0, "loss": 0.1,
    "interval_s": 0.3, "slot_s": 2e-3, "p_good_to_bad": 0.05,
    "p_bad_to_good": 0.3, "max_rounds": 2, "sigma_db": 4.0, "decorrelation_m": 20.0,
    "waypoints_m": [[-40.0, 0.0, 30.0], [40.0, 0.0, 50.0]],
    "interference_m": 40.0, "satellites": 6, "altitude_m": 2e6, "inclination_deg": 60.0,
}  # fmt: skip
"""By key; others keep their defaults, or are 1 where they have none."""
OF_ORBITS = {"altitude_m"}
"""Keys of which only those without a default have these values: drones fly lower."""
BASE: dict[str, Any] = {
    "seed": 5,
    "horizon_s": 0.7,
    "nodes": {
        "count": 6,
        "placement": "disc",
        "radius_m": 60.0,
        "groups": [{"name": "server", "count": 1, "role": "server"}],
    },
    "radio": {"ttl_s": 0.5, "packet_payload_bytes": 60},
    "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 5}},
    "model": {"kind": "mlp", "hidden": [2]},
    "metrics": {"every_s": 0.5, "common_test_samples": 5},
}


@cache
def traffic_kinds() -> Kinds:
    """The kinds of a scenario, with the algorithms of `TRAFFIC`, whose folder is read once."""
    return kinds_of((TRAFFIC,))


@cache
def axes() -> dict[str, list[dict[str, Any]]]:
    """By axis the tables that it chooses from, the scenario's default first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, chosen in marked_keys(Scenario, Choice):
        if chosen.package.startswith(FAMILIES) and path[0] not in ("nodes", "link"):
            found[".".join(path)] = list(_kinds(chosen.package))
    found["exchange"].sort(key=lambda table: table["schedule"] != "poisson")
    defaults = from_dict(
        BASE | {"exchange": found["exchange"][0], "algorithm": [{"kind": "local"}]}
    )
    for name, options in found.items():
        made: Any = defaults
        for key in name.split("."):
            made = getattr(made, key)
        options.sort(key=lambda table: table.get("kind") != getattr(made, "kind", None))
    for key in ("propagation_delay", "discovery"):
        found[f"radio.{key}"] = [{}, *_switched(Radio.model_fields[key], key)]
    found["radio.bursts"] = [{}, {k: VALUES[k] for k in ("p_good_to_bad", "p_bad_to_good")}]
    found["algorithm"] = [{"kind": path.stem} for path in sorted(TRAFFIC.glob("[a-z]*.py"))]
    return found


def _kinds(package: str) -> Iterator[dict[str, Any]]:
    """Tables of a family's components; of media once more for each switch and choice of theirs."""
    tag = tag_of(package)
    for kind, component in family(package, tag).items():
        if any(True for _ in marked_keys(component, OnDisk)):
            continue
        fields = {k: f for k, f in component.model_fields.items() if k != tag}
        table = {tag: kind} | {
            k: VALUES.get(k, 1)
            for k, f in fields.items()
            if f.is_required()
            or (k in VALUES and k not in OF_ORBITS and package != "netsim.channels.mac")
        }
        yield table
        if package != "netsim.channels.mac":
            continue
        for key, field in fields.items():
            yield from (table | switched for switched in _switched(field, key))


def _switched(field: FieldInfo, key: str) -> Iterator[dict[str, Any]]:
    """A switch the other way round, or each other choice."""
    if field.annotation is bool:
        yield {key: not field.default}
    elif get_origin(field.annotation) is Literal:
        for value in get_args(field.annotation):
            if value not in (field.default, NoneType):
                yield {key: value}


def tables(row: Row) -> dict[str, Any]:
    """The scenario of a row."""
    found: dict[str, Any] = {k: dict(v) if isinstance(v, dict) else v for k, v in BASE.items()}
    for name, option in row.items():
        chosen, (*path, last) = axes()[name][option], name.split(".")
        at = found
        for key in path:
            at = at.setdefault(key, {})
        if last in chosen:  # a key of the radio itself
            at |= chosen
        elif chosen:
            at[last] = [chosen] if name == "algorithm" else chosen
    if found.get("energy", {}).get("harvest", {"kind": "none"})["kind"] != "none":
        found["energy"]["battery_j"] = 5.0
    if found.get("mobility", {}).get("kind") == "walker":  # it says where all are: far apart
        found["nodes"] = {k: found["nodes"][k] for k in ("count", "groups")}
        found["radio"] |= {"noise_temperature_k": 1e-16}
    hub = family("netsim.channels.mac")[found["radio"]["mac"]["kind"]].has_base_stations
    return found | {"topology": {"kind": "hub", "centre": 0} if hub else {"kind": "complete"}}


def scenario_of(row: Row, **radio: Any) -> Scenario:
    """The validated scenario of a row."""
    found = tables(row)
    found["radio"] |= radio
    return from_dict(found, kinds=traffic_kinds())


def allowed(row: Row) -> bool:
    """Return whether a row is a scenario."""
    try:
        made = scenario_of(row)
    except ScenarioError:
        return False
    assert made.radio is not None
    in_space = made.mobility.states_places
    return not (in_space and made.radio.shadowing.drawn)  # which the world refuses


def array(seed: int = 0) -> CoveringArray:
    """All kinds in pairs."""
    return CoveringArray(axes(), allowed, seed)


def play(scenario: Scenario) -> dict[str, Any]:
    """The summary of a run with all invariants checked."""
    return engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True, check=True)


def described(row: Row) -> str:
    """The row in words, but for what is as by default."""
    return ", ".join(
        f"{name} {list(axes()[name][option].values())}" for name, option in row.items() if option
    )
