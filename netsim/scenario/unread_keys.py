"""Keys that a scenario states and that nothing reads, as its others are.

A table says so of its own keys (`Table.unread_keys`); what depends on several tables is said here.
None is remarked on that has its default, is as the radio's preset has it, or is read after a change
or for one of the algorithms.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from netsim.channels.path_loss import PathLoss
from netsim.links.radio.table import Radio
from netsim.registry import Table
from netsim.scenario.draft import KeyPath
from netsim.scenario.labels import shown
from netsim.scenario.tables import Scenario

_PLACED = (
    'with [nodes] placement = "iid_links" every pair has mean_snr_db, whatever this is; set '
    'placement = "disc", "square" or "given"'
)


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each key without effect."""
    worlds = [later for _, later in scenario.later]
    worlds += [scenario.of(entry) for entry in scenario.algorithm if entry.set]
    others = [_unread(world) for world in worlds]
    return [
        text for key, text in _unread(scenario).items() if all(key in unread for unread in others)
    ]


def _unread(scenario: Scenario) -> dict[tuple[KeyPath, str], str]:
    """Sentences by table and key."""
    across: dict[KeyPath, Mapping[str, str]] = {
        ("radio",): _of_radio(scenario),
        ("nodes",): _of_nodes(scenario),
        ("link",): _of_link(scenario),
        ("training",): _of_training(scenario),
    }
    found = {
        (path, key): f"{_stated(path, key, getattr(table, key))} has no effect: {why}"
        for path, table in _tables(scenario, ())
        for key, why in {**table.unread_keys(), **across.get(path, {})}.items()
        if _is_own(table, key)
    }
    return found | _of_algorithms(scenario)


def _tables(table: Table, path: KeyPath) -> Iterator[tuple[KeyPath, Table]]:
    """A table and those inside it, each with its path."""
    yield path, table
    for key in type(table).model_fields:
        value = getattr(table, key, None)
        below = (*path, *(() if key == "params" else (key,)))
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Table):
                yield from _tables(one, below)


def _of_radio(scenario: Scenario) -> Mapping[str, str]:
    radio = scenario.radio
    if radio is None:
        return {}
    by_law = type(radio.path_loss).link_gains is PathLoss.link_gains
    laws = scenario.per_node("mobility")
    placed = scenario.nodes.placement != "iid_links" or any(law.states_places for law in laws)
    if placed or not by_law:
        found = {"mean_snr_db": "mean SNRs follow from places, or from the gains of a file"}
        if radio.reachable is not None and radio.calibrate == "power":
            found["tx_power_dbm"] = "reachable sets it"
        return found
    found = {}
    if not radio.shadowing.drawn or radio.shadowing.sigma_db is not None:
        found["path_loss"] = _PLACED
    if radio.fading.speed_m_per_s is None:
        found["carrier_hz"] = _PLACED
    in_dbm = radio.sensitivity_dbm is not None or radio.power.controlled or radio.mac.reserves
    if not in_dbm:
        found |= dict.fromkeys(("noise_figure_db", "noise_temperature_k"), _PLACED)
        if all(dbm is None for dbm in scenario.nodes.of_groups("tx_power_dbm")):
            found["tx_power_dbm"] = f"{_PLACED}; only energy goes by it"
    return found


def _of_nodes(scenario: Scenario) -> Mapping[str, str]:
    moves = any(law.kind != "static" for law in scenario.per_node("mobility"))
    if scenario.nodes.placement == "disc" or moves:
        return {}
    return {"radius_m": 'it is read with placement = "disc", and by nodes that move'}


def _of_link(scenario: Scenario) -> Mapping[str, str]:
    link = scenario.link
    lines = (*scenario.per_node("uplink_bps"), *scenario.per_node("downlink_bps"))
    if link is None or link.trace or link.backbone or any(lines):
        return {}
    why = "no messages share a line without uplink_bps, downlink_bps, trace or backbone"
    return dict.fromkeys(("sharing", "forwarding"), why)


_OF_OPTIMIZER = {
    "adam": {"momentum": 'it is read with optimizer = "sgd"'},
    "sgd": dict.fromkeys(("beta1", "beta2"), 'it is read with optimizer = "adam"'),
}


def _of_training(scenario: Scenario) -> Mapping[str, str]:
    kinds = {scenario.training_of(entry).optimizer for entry in scenario.algorithm}
    return _OF_OPTIMIZER[kinds.pop()] if len(kinds) == 1 else {}


def _of_algorithms(scenario: Scenario) -> dict[tuple[KeyPath, str], str]:
    """Of keys of the optimizer that an algorithm states for itself, and another one reads."""
    found: dict[tuple[KeyPath, str], str] = {}
    for entry in scenario.algorithm:
        for key, why in _OF_OPTIMIZER[scenario.training_of(entry).optimizer].items():
            if (value := getattr(entry.training, key)) is not None:
                path = ("algorithm", "training")
                stated = f"{_stated(path, key, value)} of {entry.name}"
                found[path, f"{key} of {entry.name}"] = f"{stated} has no effect: {why}"
    return found


def _is_own(table: Any, key: str) -> bool:
    """True if a key has neither its default nor, of a radio, what the preset says."""
    if isinstance(table, Radio) and key in table.preset.radio():
        return any(beside.partition(".")[0] == key for beside in table.beside_preset)
    value, default = getattr(table, key), type(table).model_fields[key].get_default()
    if not isinstance(value, Table):
        return bool(table.changed((key,)))
    kind = getattr(value, "kind", None)
    return kind != default["kind"] or bool(value.changed(type(value).model_fields))


def _stated(path: KeyPath, key: str, value: Any) -> str:
    """`[table] key = value`."""
    if isinstance(value, Table):
        path, key, value = (*path, key), "kind", getattr(value, "kind", "")
    table = f"[{'.'.join(map(str, path))}] " if path else ""
    return f"{table}{key} = {shown(value)}"
