"""Keys that a scenario states and that nothing reads, as its others are.

A table says so of its own keys (`Table.unread_keys`); what depends on several tables is said here.
None is remarked on that has its default, is as the radio's preset has it, or is read after a change
or for one of the algorithms.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from netsim.channels.path_loss import PathLoss
from netsim.links.radio.table import Radio
from netsim.registry import Table
from netsim.scenario.draft import KeyPath
from netsim.scenario.labels import shown
from netsim.scenario.nodes import SERVER, overridden
from netsim.scenario.tables import Scenario
from netsim.scenario.training import OwnTraining

_PLACED = (
    'with [nodes] placement = "iid_links" every pair has mean_snr_db, whatever this is; set '
    'placement = "disc", "square" or "given"'
)


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each key, at first or by a change or a `set`, that nothing reads."""
    worlds = [scenario, *(later for _, later in scenario.later)]
    worlds += [scenario.of(entry) for entry in scenario.algorithm if entry.set]
    unread = [_unread(world) for world in worlds]
    every = {key: text for found in reversed(unread) for key, text in found.items()}
    read = {
        key
        for world, found in zip(worlds, unread, strict=True)
        for key in _stated_in(world, every.keys() - found.keys())
    }
    unread_texts = [text for key, text in every.items() if key not in read]
    return [*unread_texts, *_of_changes(scenario)]


def _of_changes(scenario: Scenario) -> Iterator[str]:
    """Of changes after which all is as it was before."""
    played = {id(world): world for world in map(scenario.of, scenario.algorithm)}.values()
    for k, (at_s, _) in enumerate(scenario.later):
        pairs = [((world, *(later for _, later in world.later))[k : k + 2]) for world in played]
        if all(_tables_of(before) == _tables_of(after) for before, after in pairs):
            why = "all is so already"
            if scenario.ideal_network:
                why += ", as ideal_network leaves radio and link aside"
            yield f"[[changes]] at_s = {at_s:g} has no effect: {why}"


def _tables_of(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", exclude={"changes", "sweep", "paper", "name"})


def _stated_in(scenario: Scenario, keys: Set[tuple[KeyPath, str]]) -> Iterator[tuple[KeyPath, str]]:
    """Those of some keys that a scenario states."""
    for path, table in _tables(scenario, ()):
        for key in type(table).model_fields:
            if (path, key) in keys and _is_own(table, key):
                yield path, key
    for entry in scenario.algorithm:
        for key in OwnTraining.model_fields:
            named = _OF_ENTRY, f"{key} of {entry.name}"
            if named in keys and getattr(entry.training, key) is not None:
                yield named


def _unread(scenario: Scenario) -> dict[tuple[KeyPath, str], str]:
    """Sentences by table and key."""
    across: dict[KeyPath, Mapping[str, str]] = {
        (): _of_groups(scenario, ""),
        ("energy",): _of_groups(scenario, "energy"),
        ("radio",): {**_of_radio(scenario), **_of_groups(scenario, "radio")},
        ("radio", "mac"): _of_frames(scenario),
        ("radio", "path_loss"): _of_path_loss(scenario),
        ("energy", "radio"): _of_sleep(scenario),
        ("radio", "shadowing"): _of_shadowing(scenario),
        ("nodes",): _of_nodes(scenario),
        ("nodes", "groups"): _of_servers(scenario),
        ("link",): {**_of_link(scenario), **_of_groups(scenario, "link")},
        ("training",): _of_training(scenario),
        ("metrics",): _of_metrics(scenario),
    }
    found = {
        (path, key): f"{_stated(path, key, getattr(table, key))} has no effect: {why}"
        for path, table in _tables(scenario, ())
        for key, why in {**table.unread_keys(), **across.get(path, {})}.items()
        if _is_own(table, key)
    }
    return found | _of_algorithms(scenario)


_OF_ENTRY: KeyPath = ("algorithm", "training")
"""Table of an algorithm's own keys of the optimizer; keys are told with the algorithm's name."""
_OF_ALL_GROUPS = ("battery_j", "churn", "downlink_bps", "sleep", "uplink_bps")
"""Keys of groups that take the place of the scenario's own for good."""
_OF_RADIOS = ("sleep", "tx_power_dbm")
"""Keys of groups that are of their nodes' radios."""


def _of_groups(scenario: Scenario, table: str) -> dict[str, str]:
    """Of keys of a table, "" for the scenario's own, that every group states for its nodes."""
    found = {}
    for key in _OF_ALL_GROUPS:
        above, _, last = overridden()[key].rpartition(".")
        if above == table and all(own is not None for own in scenario.nodes.of_groups(key)):
            found[last] = f"every node has {key} by its group"
    return found


def _of_frames(scenario: Scenario) -> Mapping[str, str]:
    radio = scenario.radio
    if radio is None or not radio.plays_frames:
        return {}
    return {"anomalous_slots": "frames are played one by one, and so are their slots"}


def _of_path_loss(scenario: Scenario) -> Mapping[str, str]:
    if scenario.radio is None:
        return {}
    law, laws = scenario.radio.path_loss, scenario.per_node("mobility")
    if scenario.nodes.heights or any(law.states_heights for law in laws):
        return dict.fromkeys(law.instead_of_heights, "nodes have heights of their own")
    return dict.fromkeys(law.beside_heights, "nodes have no heights")


def _of_sleep(scenario: Scenario) -> Mapping[str, str]:
    sleeps = any(law is not None and law.kind != "none" for law in scenario.per_node("sleep"))
    if sleeps or "sleep_w" not in type(scenario.energy.radio).model_fields:
        return {}
    return {"sleep_w": "no radio sleeps"}


def _of_shadowing(scenario: Scenario) -> Mapping[str, str]:
    radio = scenario.radio
    drawn = radio is not None and "decorrelation_m" in type(radio.shadowing).model_fields
    if not drawn or _has_places(scenario):
        return {}
    return {"decorrelation_m": "nodes have no places"}


def _has_places(scenario: Scenario) -> bool:
    laws = scenario.per_node("mobility")
    return scenario.nodes.placement != "iid_links" or any(law.states_places for law in laws)


def _of_metrics(scenario: Scenario) -> Mapping[str, str]:
    if all(entry.stages for entry in scenario.algorithm):
        return {"stages": "every algorithm has stages of its own"}
    return {}


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
    if _has_places(scenario) or not by_law:
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
    topology = scenario.topology
    is_shipped = type(topology).__module__.startswith("netsim.topology.")
    by_places = topology.reads_places or (topology.reads_places is None and not is_shipped)
    if scenario.radio is None and not scenario.ideal_network and not by_places:
        why = "nodes have no [radio], and only maps show where they are"
        return dict.fromkeys(("placement", "radius_m", "height_m", "heights_m"), why)
    moves = any(law.kind != "static" for law in scenario.per_node("mobility"))
    if scenario.nodes.placement == "disc" or moves:
        return {}
    return {"radius_m": 'it is read with placement = "disc", and by nodes that move'}


def _of_servers(scenario: Scenario) -> Mapping[str, str]:
    """Of keys of radios that groups of servers alone state, where these are on wires."""
    if scenario.radio is None or scenario.link is None:
        return {}
    others = [group for group in scenario.nodes.groups if group.role != SERVER]
    keys = [key for key in _OF_RADIOS if all(getattr(other, key) is None for other in others)]
    return dict.fromkeys(keys, "servers are on the wires of [link], and have no radio")


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
    found = dict(_OF_OPTIMIZER[kinds.pop()]) if len(kinds) == 1 else {}
    for key in OwnTraining.model_fields:
        own = [getattr(entry.training, key) for entry in scenario.algorithm]
        if None not in own and any(value != getattr(scenario.training, key) for value in own):
            found[key] = "every algorithm has its own"
    return found


def _of_algorithms(scenario: Scenario) -> dict[tuple[KeyPath, str], str]:
    """Of keys of the optimizer that an algorithm states for itself, and another one reads."""
    found: dict[tuple[KeyPath, str], str] = {}
    for entry in scenario.algorithm:
        for key, why in _OF_OPTIMIZER[scenario.training_of(entry).optimizer].items():
            if (value := getattr(entry.training, key)) is not None:
                stated = f"{_stated(_OF_ENTRY, key, value)} of {entry.name}"
                found[_OF_ENTRY, f"{key} of {entry.name}"] = f"{stated} has no effect: {why}"
    return found


def _is_own(table: Any, key: str) -> bool:
    """True if a key has neither its default nor, of a radio, what the preset says."""
    if isinstance(table, Radio) and key in table.preset.radio():
        return any(beside.partition(".")[0] == key for beside in table.beside_preset)
    value, default = getattr(table, key), type(table).model_fields[key].get_default()
    if not isinstance(value, Table) or default is None:
        return bool(table.changed((key,)))
    kind = getattr(value, "kind", None)
    return kind != default["kind"] or bool(value.changed(type(value).model_fields))


def _stated(path: KeyPath, key: str, value: Any) -> str:
    """`[table] key = value`."""
    if isinstance(value, Table):
        path, key, value = (*path, key), "kind", getattr(value, "kind", "")
    table = f"[{'.'.join(map(str, path))}] " if path else ""
    return f"{table}{key} = {shown(value)}"
