"""Nothing arrives, waits or is given up after its time to live, whatever it meets on its way."""

import pytest

from netsim.errors import ScenarioError
from netsim.scenario import from_dict

from .media import FAMILY, MEDIA, named, of_cells, radio
from .networks import BASE, play, traffic_kinds

MS = 1_000_000
FAR_M = 2_997_924.58  # 10 ms of light


@pytest.mark.thinned(4)
@pytest.mark.parametrize("mac", MEDIA, ids=named)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_time_on_the_way_counts(ether, mac, fidelity):
    keys = radio(mac, fidelity=fidelity, ttl_s=0.1, propagation_delay=True)
    if "interference_m" in mac:
        keys["mac"] = mac | {"interference_m": FAR_M}
    e = ether(keys, nodes=3, distance_m=lambda *_: FAR_M, base_stations=of_cells(mac))
    for at_ms in range(1, 2_000, 100):
        for src in (1, 2):
            e.send(src, 0, 3_000 * (at_ms // 100 + 1), at_ns=at_ms * MS)
        e.send(0, [1, 2], 1_000, at_ns=(at_ms + 50) * MS)
    ended = e.run()
    took = [x.at_ns - x.sent_ns for x in ended]
    assert max(took) <= 100 * MS
    came = [t for t, x in zip(took, ended, strict=True) if x.outcome == "delivered"]
    assert min(came) >= 11 * MS - 1
    assert "deadline" in {x.outcome for x in ended}


def test_a_message_that_is_still_on_its_way_has_expired(ether):
    for ttl_ms, outcome, at_ms in ((12.5, "deadline", 12.5), (13.5, "delivered", 13)):
        keys = radio({"kind": "orthogonal"}, ttl_s=ttl_ms / 1e3, propagation_delay=True)
        e = ether(keys, distance_m=lambda *_: FAR_M)
        e.send(0, 1, 3_000, parts=True)
        (x,) = e.run()
        assert (x.outcome, x.at_ns, x.attempts) == (outcome, at_ms * MS, 3)


def test_rounds_of_a_broadcast_wait_no_longer(ether):
    """Its second round waits for a radio that is taken to the end of the time to live and on."""
    keys = radio({"kind": "orthogonal"}, ttl_s=0.5, packet_error={"kind": "fixed", "loss": 0.5})
    e = ether(keys | {"broadcast": {"kind": "repeated", "max_rounds": 7}}, nodes=3)
    e.send(0, [1, 2], 32_000)
    e.send(0, 1, 10**6, at_ns=10 * MS)
    ended = e.run()
    assert {(x.src, x.outcome) for x in ended} == {(0, "deadline")}
    assert {x.at_ns - x.sent_ns for x in ended} == {500 * MS}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unicasts", "broadcasts", "asking"])
@pytest.mark.parametrize("routing", ["none", "hops"])
def test_networks_keep_to_it(kind, routing):
    """Far apart, with relays and repeated broadcasts, over each medium and wires to a server."""
    for mac in {mac["kind"]: mac for mac in MEDIA}.values():
        hub = bool(of_cells(mac))
        found = BASE | {
            "horizon_s": 2.0,
            "nodes": BASE["nodes"]
            | {"placement": "given", "positions_m": [[4e5 * k, 0.0] for k in range(6)]},
            "radio": {
                "mac": mac, "ttl_s": 0.05, "propagation_delay": True, "packet_payload_bytes": 60,
                "rate": {"kind": "fixed", "rate_bps": 1e5}, "noise_temperature_k": 1e-7,
                "fading": {"kind": "none"}, "routing": {"kind": routing},
                "broadcast": {"kind": "repeated", "max_rounds": 3},
            },
            "exchange": {"schedule": "poisson", "rate_hz": 5.0},
            "topology": {"kind": "hub", "centre": 0} if hub else {"kind": "complete"},
            "algorithm": [{"kind": kind}],
        }  # fmt: skip
        try:
            scenario = from_dict(found, kinds=traffic_kinds())
        except ScenarioError:
            assert FAMILY[mac["kind"]].has_base_stations or mac["kind"] == "nr_sidelink_mode2"
            continue
        assert play(scenario)["messages"]["sent"] > 30
