"""Shipped components pass the checks for components of one's own."""

import pytest

from netsim.registry import Choice, family, tag_of
from netsim.scenario import Scenario
from netsim.scenario.file_paths import marked_keys
from netsim.scenario.kinds import kinds_of
from netsim.testing import ComponentCase, components

KINDS = kinds_of()
FAMILIES = list(dict.fromkeys(mark.package for _, mark in marked_keys(Scenario, Choice)))
REQUIRED = {
    "netsim.channels.rate": {"rate_bps": 1e6, "min_rate_bps": 1e5},
    "netsim.schedules": {"rate_hz": 1.0, "period_s": 1.0},
    "netsim.topology.churn": {"mean_on_s": 5.0, "mean_off_s": 1.0},
    "netsim.topology.mobility": {"waypoints_m": [[-40.0, 0.0, 30.0], [40.0, 0.0, 50.0]]},
    "netsim.topology": {"degree": 2, "probability": 0.5, "links": 2, "blocks": 2, "rewiring": 0.2},
    "netsim.data.drifts": {"at_s": 1.0, "classes": [[0, 1]], "partition": {"kind": "iid"}},
    "netsim.devices.speed": {"flops_per_s": 1e9},
    "netsim.devices.energy.harvest": {
        "power_w": 0.1,
        "peak_w": 0.1,
        "good_w": 0.1,
        "probability": 0.5,
        "good_to_bad": 0.5,
        "bad_to_good": 0.5,
    },
}
"""Values for keys without a default; a kind takes those that it has."""
ELSEWHERE = {
    "file", "contacts", "trace", "bonnmotion", "ns2", "sumo", "the_one", "gains", "deepmimo",
    "sionna_rt", "table", "ns3_fad", "devices", "dpfl_toy", "mapl_scenario", "alexnet_small",
    "emnist_cnn", "googlenet", "l2c_cifar_cnn", "l2c_miniimagenet_cnn", "lenet", "labelling",
    "walker", "plus_grid",
}  # fmt: skip
"""They need files, or other data: larger images, more rows, another number of nodes."""
NO_LEARNING = {("netsim.data.sets", "none"), ("netsim.models", "none")}
"""Methods that learn refuse them; tests/engine/test_learning_from_outside.py plays them."""
KEYS = {"class_mix": {"test_samples": 10}, "bipartite": {"links": 2}, "group_ring": {"links": 2}}
TEXT = {"data": {"kind": "text", "length": 8, "partition": {"kind": "iid"}}}
TABLES = {
    "minstrel": {"radio": {"packet_error": {"kind": "ofdm_80211"}}},
    "ofdm_80211": {
        "radio": {"packet_error": {"kind": "ofdm_80211"}, "rate": {"kind": "ofdm_80211"}}
    },
    "transformer": TEXT | {"task": {"kind": "next_token"}},
    "next_token": TEXT | {"model": {"kind": "transformer"}},
    "diabetes": {"task": {"kind": "regression"}},
}


def cases():
    for package in FAMILIES:
        for kind, component in family(package, tag_of(package)).items():
            fields = component.model_fields
            known = REQUIRED.get(package, {})
            keys = {k: v for k, v in known.items() if k in fields and fields[k].is_required()}
            keys |= KEYS.get(kind, {})
            missing = [k for k, f in fields.items() if f.is_required() and k not in keys]
            learns = (package, kind) not in NO_LEARNING
            if (
                learns
                and kind not in ELSEWHERE
                and not missing
                and not getattr(component, "needs_files", 0)
            ):
                yield pytest.param(
                    ComponentCase(KINDS, package, kind, keys, tables=TABLES.get(kind, {})),
                    id=f"{package.removeprefix('netsim.')}.{kind}",
                )


def test_every_family_is_reached_by_a_table():
    assert len(FAMILIES) >= 21
    assert ComponentCase(KINDS, "netsim.channels.fading", "none").path == ("radio", "fading")


@pytest.mark.thinned(6)
@pytest.mark.parametrize("case", list(cases()))
def test_a_component_keeps_what_its_family_promises(case):
    components.keeps_what_its_family_promises(case)
