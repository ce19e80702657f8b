"""Links that no radio has are remarked on, and none that ships or that a formula gives."""

import pytest

from netsim import scenario, world
from netsim.registry import family
from netsim.scenario.file import shipped
from netsim.world.remarks import MOST_BITS_PER_S_HZ, MOST_SNR_DB, remarks

NEAR = {
    "horizon_s": 10.0,
    "nodes": {"count": 2, "placement": "given", "positions_m": [[0.0, 0.0], [20.0, 0.0]]},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "dpsgd"},
}
FIXED = {"kind": "fixed", "rate_bps": 20e6}
CAPACITY = {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e5}


def said(**radio):
    found = remarks(world.build(scenario.from_dict({**NEAR, "radio": radio})))
    return [one for one in found if one.startswith("[radio]:")]


@pytest.mark.parametrize(
    ("radio", "told"),
    [
        ({"rate": FIXED}, []),
        ({"rate": FIXED, "bandwidth_hz": 1e6}, [f"more than {MOST_BITS_PER_S_HZ:g}"]),
        ({"rate": FIXED, "tx_power_dbm": 140.0}, [f"more than {MOST_SNR_DB:g} dB"]),
        ({"rate": CAPACITY, "tx_power_dbm": 45.0}, []),
        ({"rate": CAPACITY, "tx_power_dbm": 140.0}, [f"more than {MOST_SNR_DB:g} dB"]),
        ({"preset": {"kind": "lora"}}, []),
        (
            {"preset": {"kind": "lora"}, "packet_payload_bytes": 243},
            ["packet_payload_bytes to 242"],
        ),
    ],
)
def test_a_rate_is_remarked_on_if_it_is_stated_and_too_much_for_the_bandwidth(radio, told):
    found = said(**radio)
    assert len(found) == len(told)
    assert all(words in one for words, one in zip(told, found, strict=True))


@pytest.mark.parametrize(
    ("mac", "loss", "told"),
    [
        ({"kind": "shared"}, {"kind": "fixed", "loss": 0.1}, True),
        ({"kind": "tdma_reuse", "interference_m": 9.0}, {"kind": "fixed", "loss": 0.1}, True),
        ({"kind": "nr_sidelink_mode2"}, {"kind": "fixed", "loss": 0.1}, True),
        ({"kind": "shared"}, {"kind": "outage"}, False),
        ({"kind": "csma"}, {"kind": "fixed", "loss": 0.1}, False),
        ({"kind": "orthogonal"}, {"kind": "fixed", "loss": 0.1}, False),
    ],
)
def test_a_loss_that_no_interference_changes_is_told(mac, loss, told):
    keys = {"rate": {"kind": "fixed", "rate_bps": 1e6}, "mac": mac, "packet_error": loss}
    found = remarks(world.build(scenario.from_dict({**NEAR, "radio": keys})))
    assert any("is the same whatever the SNR" in one for one in found) == told


def of_path_loss(kind, heights_m=(), carrier_hz=1.8e9, **keys):
    nodes = NEAR["nodes"] | ({"heights_m": list(heights_m)} if heights_m else {})
    radio = {"carrier_hz": carrier_hz, "path_loss": {"kind": kind} | keys}
    found = remarks(world.build(scenario.from_dict({**NEAR, "nodes": nodes, "radio": radio})))
    return [one for one in found if "extrapolation" in one]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", sorted(family("netsim.channels.path_loss")))
def test_a_path_loss_outside_of_what_its_source_states_is_remarked_on(kind):
    law = family("netsim.channels.path_loss")[kind]
    if any(field.is_required() for field in law.model_fields.values()):
        return  # gains from files
    assert of_path_loss(kind) == []
    for at_hz, inwards in zip(law.fitted_hz or (), (1.01, 0.99), strict=law.fitted_hz is not None):
        assert of_path_loss(kind, carrier_hz=at_hz * inwards) == []
        (told,) = of_path_loss(kind, carrier_hz=at_hz / inwards)
        assert told.startswith("[radio] carrier_hz = ")
    if law.fitted_ends_m is not None:
        (high_m, _), (low_m, top_m) = law.fitted_ends_m
        assert of_path_loss(kind, heights_m=(max(low_m, 1.5), high_m)) == []
        for wrong in ((top_m + 80, top_m + 80), (1.5, 1.5)):
            (told,) = of_path_loss(kind, heights_m=wrong)
            assert told.startswith("[nodes] height_m of 0 and 1 = ")
        (told,) = of_path_loss(kind, base_height_m=high_m - 1)
        assert told.startswith("[radio.path_loss] base_height_m")


def test_the_capacity_of_the_test_is_above_the_limit():
    built = world.build(scenario.from_dict({**NEAR, "radio": {"tx_power_dbm": 45.0}}))
    snr = float(built.budget.mean_snr.snr(0, (1,), 0)[0])
    assert 2**MOST_BITS_PER_S_HZ < snr < 10 ** (MOST_SNR_DB / 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in shipped()
        if name.startswith(("async", "backhaul", "flood", "quickstart", "small", "whatif"))
        if scenario.load(name).radio
    ],
)
def test_nothing_is_remarked_of_the_radios_that_ship(name):
    found = remarks(world.build(scenario.load(name)))
    assert [one for one in found if one.startswith("[radio]")] == []


@pytest.mark.parametrize(("end_m", "is_told"), [(3000.0, False), (4000.0, True)])
def test_a_file_that_moves_a_node_faster_than_sound_is_told(tmp_path, end_m, is_told):
    """In 10 s: 300 m/s, and 400 m/s."""
    path = tmp_path / "moves.csv"
    path.write_text(f"node,t_s,x_m,y_m\n0,0,0,0\n0,10,{end_m},0\n1,0,0,0\n")
    tables = {**NEAR, "radio": {}, "mobility": {"kind": "trace", "path": str(path)}}
    found = remarks(world.build(scenario.from_dict(tables)))
    assert any("faster than sound" in text for text in found) == is_told


DRIFT = {"kind": "permute_labels", "at_s": 5.0}


@pytest.mark.parametrize("share", [0.2, 0.0])
def test_a_share_of_the_nodes_that_is_none_of_them_is_told(share):
    """A fifth of two nodes is none of them; where none is asked for nothing is said."""
    tables = {
        "malicious": {"attack": {"kind": "gauss", "fraction": share}},
        "slow": {"compute": {"kind": "stragglers", "step_s": 1.0, "share": share}},
        "changed": {"data": {"kind": "digits", "drift": [{**DRIFT, "fraction": share}]}},
    }
    for word, own in tables.items():
        found = remarks(world.build(scenario.from_dict({**NEAR, "radio": {}, **own})))
        assert any(f"none is {word}" in one for one in found) == (share > 0)
