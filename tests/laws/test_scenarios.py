"""Two ways to say the same: defaults written out or left out, lengths in another unit."""

import tomllib
from copy import deepcopy
from itertools import zip_longest

import pytest

from netsim import engine, world
from netsim.errors import ProtocolError, ScenarioError
from netsim.registry import Choice, family, tag_of
from netsim.scenario import Scenario, from_dict, to_toml
from netsim.scenario.file_paths import OnDisk, marked_keys

from .networks import BASE, VALUES, axes, play, tables, traffic_kinds

LEARNING = BASE | {
    "exchange": {"schedule": "poisson", "rate_hz": 2.0},
    "algorithm": [{"kind": "dpsgd"}],
    "compute": {"kind": "fixed", "step_s": 0.01},
}
WORLDS = {
    "radio": LEARNING,
    "wires": {k: v for k, v in LEARNING.items() if k != "radio"}
    | {"link": {"latency_s": 0.01, "uplink_bps": 1e5, "slow_start": {}}},
    "changing": LEARNING
    | {
        "churn": {"kind": "exponential", "mean_on_s": 1.0, "mean_off_s": 0.2},
        "mobility": {"kind": "random_waypoint"},
        "energy": {"battery_j": 1.0},
        "attack": {"kind": "label_flip", "fraction": 0.3},
    },
}


def outcome(found, timing_only=False):
    """The summary of a run, but for what it cost, and the event log in it."""
    scenario = from_dict(found)
    summary = engine.play(
        world.build(scenario), scenario.algorithm[0], None, timing_only, check=True
    )
    del summary["wall_s"]
    summary["engine"] = {k: summary["engine"][k] for k in ("events", "backend", "device")}
    return summary


def written_out(found):
    """The tables of a scenario with every default that can be written."""
    scenario = from_dict(found)
    whole = tomllib.loads(to_toml(scenario, scenario.algorithm[0]))
    return whole | {"algorithm": [whole["algorithm"]]}


def keys_of(found, path=()):
    """Paths of all tables and keys; a list is one key."""
    for key, value in found.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from keys_of(value, (*path, key))


def at(found, path):
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def with_key(found, whole, path):
    """Tables with one key more, or one table; of a table that chooses its kind with its kind."""
    made, inner = deepcopy(found), whole
    place = made
    for key in path[:-1]:
        inner = inner[key]
        place = place.setdefault(key, {})
        for tag in ("kind", "schedule"):
            if tag in inner:
                place.setdefault(tag, inner[tag])
    value = inner[path[-1]]
    if not isinstance(value, dict):
        place[path[-1]] = value
    elif path[-1] in place:
        place[path[-1]] = value | place[path[-1]]
    else:
        place[path[-1]] = value
    return made


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", WORLDS)
def test_a_scenario_with_all_defaults_written_out_is_the_same(name):
    whole = written_out(WORLDS[name])
    assert len(list(keys_of(whole))) > 80
    assert outcome(whole) == outcome(WORLDS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_each_default_written_out_changes_nothing(name):
    """Alone in its table: one of every table at a time, and where that fails each by itself."""
    found = WORLDS[name]
    whole, want, wrong = written_out(found), outcome(found), []
    by_table = {}
    for path in keys_of(whole):
        if path[0] == "algorithm" or path == ("radio", "rate", "kind"):  # it needs a rate beside it
            continue
        by_table.setdefault(path[0], []).append(path)
    for paths in zip_longest(*by_table.values()):
        made = found
        for path in filter(None, paths):
            made = with_key(made, whole, path)
        if outcome(made) != want:
            alone = [p for p in paths if p and outcome(with_key(found, whole, p)) != want]
            wrong.extend(alone or [paths])
    assert wrong == []


def kinds():
    """(path, table with its required keys) of every kind that a scenario can choose."""
    seen = set()
    for path, chosen in marked_keys(Scenario, Choice):
        tag = tag_of(chosen.package)
        for kind, component in family(chosen.package, tag).items():
            on_disk = any(True for _ in marked_keys(component, OnDisk))
            in_a_list = "*" in path or path[0] == "algorithm"
            if in_a_list or on_disk or (path, kind) in seen:
                continue
            seen.add((path, kind))
            required = {
                k: VALUES.get(k, 1)
                for k, field in component.model_fields.items()
                if field.is_required() and k != tag
            }
            yield path, {tag: kind} | required


def laid(found, path, table):
    made = deepcopy(found)
    place = made
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = table
    return made


@pytest.mark.slow
def test_every_kind_with_its_defaults_written_out_is_the_same():
    wrong, played = [], set()
    for path, table in kinds():
        for found in WORLDS.values():
            made = laid(found, path, table)
            try:
                whole = at(written_out(made), path)
                want = outcome(made, timing_only=True)
            except (ScenarioError, ProtocolError):
                continue  # a kind that needs another world
            if outcome(laid(found, path, whole), timing_only=True) != want:
                wrong.append((path, table))
            played.add((path, next(iter(table.values()))))
            break
    assert wrong == []
    assert len(played) > 80
    assert {path for path, _ in played} == {path for path, _ in kinds()}


# -- lengths in another unit ---------------------------------------------------------------------

POWERS = {"_m": 1, "m_per_s": 1, "_per_bit_m2": -2, "carrier_hz": -1}
"""Units by the end of a key: a wavelength is a length, too."""
OF_A_PLACE = ("umi", "inh", "itu_indoor", "uma", "rma", "okumura_hata", "v2v", "walker")
OF_A_PLACE += ("tdma_reuse",)
"""Path losses that are fitted to places of one size; orbits, whose size gravity fixes; and slots in
which receivers hear their own sending from a distance of one metre."""
PLACES = ("radio.path_loss", "radio.shadowing", "radio.fading", "radio.power", "radio.mac")
PLACES += ("mobility", "energy.radio")


def scaled(found, by):
    """Tables with all lengths `by` times as long."""

    def times(value, factor):
        if isinstance(value, list):
            return [times(one, factor) for one in value]
        return value * factor

    made = {}
    for key, value in found.items():
        power = next((n for end, n in POWERS.items() if key.endswith(end)), None)
        if isinstance(value, dict):
            made[key] = scaled(value, by)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            made[key] = [scaled(one, by) for one in value]
        else:
            made[key] = value if power is None else times(value, by**power)
    return made


def places():
    """Scenarios by what in them has to do with lengths."""
    yield "geometric", {"topology": {"kind": "geometric", "radius_m": 50.0}}
    yield "square", {"nodes": {"count": 6, "placement": "square", "side_m": 90.0}}
    doppler = {"kind": "rayleigh", "speed_m_per_s": 1.5, "process": "sum_of_sinusoids"}
    yield "Doppler", {"radio": BASE["radio"] | {"fading": doppler}}
    yield (
        "stated loss",
        {"radio": BASE["radio"] | {"path_loss": {"kind": "log_distance", "reference_db": 40.0}}},
    )
    for name in PLACES:
        for option, table in enumerate(axes()[name]):
            if table.get("kind") not in OF_A_PLACE:
                found = tables({"radio.mac": 0} | {name: option})
                yield (
                    f"{name} {' '.join(map(str, table.values()))}",
                    {key: found[key] for key in (name.partition(".")[0], "topology")},
                )


def traffic(found):
    """The summary of a run in which every node sends to another one at a time."""
    return play(from_dict(found | {"algorithm": [{"kind": "unicasts"}]}, kinds=traffic_kinds()))


def in_a_place(laid_over):
    """A scenario at the edge of its range, with its defaults; moving nodes are shadowed.

    Positions are looked at where a node has moved by a tenth of the decorrelation distance, and at
    least every metre, whatever the unit: here by the tenth.
    """
    found = LEARNING | laid_over
    found["radio"] = {"tx_power_dbm": 0.0} | found["radio"]
    if "mobility" in laid_over:
        found["topology"] = {"kind": "geometric", "radius_m": 50.0}
        found["radio"]["shadowing"] = {"kind": "log_normal", "sigma_db": 3, "decorrelation_m": 4}
    whole = written_out(found)
    if whole["nodes"]["placement"] != "square":
        del whole["nodes"]["side_m"]  # not read then, and refused if it is not the default
    return whole


@pytest.mark.thinned(8)
@pytest.mark.parametrize(("name", "laid_over"), [pytest.param(n, t, id=n) for n, t in places()])
@pytest.mark.slow
def test_lengths_in_another_unit_change_nothing(name, laid_over):
    """Twice as long, the path loss's reference and the wavelength, too: bit by bit the same."""
    found = in_a_place(laid_over)
    here, there = traffic(found), traffic(scaled(found, 2.0))
    assert here["messages"]["delivered"] >= 3
    assert there["event_log_sha256"] == here["event_log_sha256"]
    assert there["energy"] == here["energy"]
    reach_m, as_far_m = (one["links"].get("range_m") or 0.0 for one in (here, there))
    assert as_far_m == pytest.approx(2 * reach_m)


def test_lengths_alone_change_what_happens():
    found = in_a_place({})
    longer = scaled(found, 2.0) | {"radio": found["radio"]}
    assert traffic(longer)["event_log_sha256"] != traffic(found)["event_log_sha256"]
