"""Every invariant sees the fault that it is there for, and ends the run by its name."""

import numpy as np
import pytest

from netsim import engine, world
from netsim.channels.mac import ALONE
from netsim.channels.mac.csma import Access, Csma
from netsim.channels.mac.ofdma import Ofdma
from netsim.devices.energy.loads import Loads
from netsim.devices.energy.meter import EnergyMeter
from netsim.engine import invariants
from netsim.engine.invariants.airtime import Airtime
from netsim.engine.invariants.energy import Energy
from netsim.errors import InvariantError
from netsim.links.link import PhysicalLink
from netsim.links.radio.accounting.energy import EnergyAccounting
from netsim.links.radio.link import RadioLink
from netsim.links.radio.mac.cells import Cells
from netsim.links.radio.phy.channel import RadioChannel
from netsim.recording.message_log import MessageLog
from netsim.recording.traffic_stats import Traffic
from netsim.scenario import from_dict

WIRES = {"link": {"latency_s": 0.01, "rate_bps": 1e6}}
RADIO = {
    "nodes": {"count": 4, "placement": "disc", "radius_m": 40.0},
    "radio": {
        "rate": {"kind": "fixed", "rate_bps": 2e4},
        "fading": {"kind": "rayleigh", "coherence_s": 0.05},
        "propagation_delay": True,
        "ttl_s": 1.5,
    },
    "churn": {"kind": "exponential", "mean_on_s": 3.0, "mean_off_s": 0.5},
}
CSMA = {
    "radio": {
        "mac": {"kind": "csma"},
        "rate": {"kind": "fixed", "rate_bps": 2e4},
        "fading": {"kind": "none"},
        "packet_error": {"kind": "fixed", "loss": 0.0},
    },
}
STATES = {"kind": "radio_state", "tx_w": 1.3, "rx_w": 0.9, "idle_w": 0.1}


def played(folder=None, algorithm=None, check=True, **tables):
    base = {
        "seed": 3,
        "horizon_s": 6.0,
        "nodes": {"count": 4},
        "exchange": {"schedule": "poisson", "rate_hz": 2.0},
        "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
        "model": {"kind": "mlp", "hidden": [4]},
        "training": {"batch_size": 10},
        "metrics": {"every_s": 0.2},
        "compute": {"kind": "fixed", "step_s": 0.05},
        "algorithm": [algorithm or {"kind": "dpsgd"}],
    }
    scenario = from_dict(base | tables, algorithms_folder=folder)
    return engine.play(world.build(scenario), scenario.algorithm[0], check=check)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("tables", [WIRES, RADIO])
def test_a_run_as_it_should_be_breaks_none(tables):
    energy = {"radio": STATES} if tables is RADIO else {}
    assert played(**tables, energy=energy | {"battery_j": 1.2})["messages"]["sent"] > 20


@pytest.mark.thinned(2)
@pytest.mark.parametrize("keys", [{"mean_snr_db": 250.0}, {"carrier_hz": 1e3}])
def test_a_link_beyond_all_radios_breaks_none(keys):
    """More than 40 bit/s/Hz by Shannon: a remark's matter, no contradiction of the run."""
    rate = {"kind": "shannon_gap", "min_rate_bps": 1e4}
    radio = {"fading": {"kind": "none"}, "rate": rate} | keys
    placed = {} if "mean_snr_db" in keys else {"placement": "disc", "radius_m": 30.0}
    summary = played(radio=radio, nodes={"count": 4} | placed)
    assert summary["messages"]["delivered"] > 5


def test_every_invariant_has_a_planted_fault():
    names = {kind.__module__.rpartition(".")[2] for kind in invariants.kinds()}
    assert names == {name for name, *_ in FAULTS} | {"bands", "mixing_rows", "references"}


def no_third(log, *args, **kwargs):
    log.seen = getattr(log, "seen", 0) + 1
    return MESSAGE(log, *args, **kwargs) if log.seen != 3 else 0


def too_late(link, tx, outcome, *args, **kwargs):
    tx.envelope.sent_ns += 50_000_000
    FINISH(link, tx, outcome, *args, **kwargs)


def long_ago(link, tx, outcome, *args, **kwargs):
    if link.env.now > 2_000_000_000:
        tx.envelope.sent_ns -= 1_600_000_000
    FINISH(link, tx, outcome, *args, **kwargs)


def only_in_all(link, src, bits):
    link.recorder.bits_transmitted += bits


def thrice(loads, load, joules, now_ns):
    ADD(loads, load._replace(watt=3 * load.watt), 3 * joules, now_ns)


def falling(link, src, bits):
    link.recorder.bits_transmitted += -bits
    link._bits_transmitted[src] -= bits


def twice(traffic, *args):
    return TOTALS(traffic, *args) | {
        "messages": TOTALS(traffic, *args)["messages"] | {"bits_delivered": 7}
    }


def twice_on_the_air(accounting, flight, until_ns):
    AIRTIME(accounting, flight, until_ns)
    flight.airtime_ns *= 2


def side_by_side(mac, situation):
    return tuple(Access(one.frame_s, (0.0,), one.frame_s) for one in situation.senders)


MESSAGE, FINISH, TOTALS = MessageLog.messages, PhysicalLink.finish, Traffic.totals
AIRTIME, ADD = EnergyAccounting.count_airtime, Loads.add
FAULTS = [
    ("messages", WIRES, MessageLog, "messages", no_third, "all nodes at .* and sent: "),
    ("causality", WIRES, PhysicalLink, "finish", too_late, r"node \d at .* has taken less than"),
    (
        "causality",
        RADIO,
        RadioChannel,
        "attempt_ns",
        lambda self, bits, rate_bps, medium=None: 1.0,
        r"node \d at .* s: a message of \d+ bit from node \d has taken less than it can, in ns: ",
    ),
    ("time_to_live", RADIO, PhysicalLink, "finish", long_ago, "after its time to live, in ns"),
    (
        "airtime",
        RADIO,
        EnergyAccounting,
        "count_airtime",
        twice_on_the_air,
        "for longer than it took",
    ),
    (
        "capacity",
        CSMA | {"model": {"kind": "mlp", "hidden": [16]}},  # messages of several packets
        Csma,
        "access",
        side_by_side,
        " at .* sooner than the rate allows",
    ),
    ("half_duplex", RADIO, RadioLink, "_admit", RadioLink._start, r"node \d at .*"),
    ("totals", WIRES, PhysicalLink, "count_transmitted", only_in_all, "node by node and in all"),
    ("totals", RADIO, PhysicalLink, "count_transmitted", falling, r"node \d .* have fallen"),
    ("totals", WIRES, Traffic, "totals", twice, "bits_delivered of all rows and of the summary"),
    ("totals", RADIO, EnergyAccounting, "airtime_ahead_ns", lambda *_: 0, "airtime has fallen"),
    (
        "energy",
        RADIO,
        Loads,
        "drawn_j",
        lambda self, now_ns: self.counted_j,
        r"node \d at .*: energy drawn has fallen, in J: [\d.]+ against [\d.]+",
    ),
    (
        "energy",
        RADIO,
        EnergyMeter,
        "spent_j",
        lambda self, node, now_ns: 1e-8 * now_ns,
        r"node \d at .*: its battery has given more than it held, in J: .* against 1.2",
    ),
    (
        "energy",
        CSMA | {"nodes": {"count": 12}, "exchange": {"schedule": "poisson", "rate_hz": 9.0}},
        Loads,
        "add",
        thrice,
        r"node \d at .*: its radio has drawn more than its largest power allows, in J: .* against",
    ),
]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(("name", "tables", "owner", "method", "fault", "text"), FAULTS)
def test_a_planted_fault_ends_the_run(monkeypatch, name, tables, owner, method, fault, text):
    monkeypatch.setattr(owner, method, fault)
    if name == "half_duplex":  # two messages on one radio are too much airtime, too
        monkeypatch.setattr(Airtime, "watch", lambda invariant: None)
    if "power" not in text:  # most of these draw too much, too
        monkeypatch.setattr(Energy, "_powers", lambda invariant, now_ns: None)
    energy = {"radio": STATES} | ({"battery_j": 1.2} if method == "spent_j" else {})
    with pytest.raises(InvariantError, match=rf"^invariant {name}: .*{text}"):
        played(**tables, energy=energy if name == "energy" else {})


def test_cheap_ones_are_checked_after_every_run(monkeypatch):
    monkeypatch.setattr(MessageLog, "messages", no_third)
    with pytest.raises(InvariantError, match=r"^invariant messages: all nodes at 5\.\d+ s"):
        played(**WIRES, check=False)


SOURCE = """
from netsim import api

class Params(api.Params):
    pass

KEPT = []

@api.algorithm(mixes_to_one=True)
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    theta = node.initial()
    node.publish(theta, "mixed")
    yield node.sleep(0.5)
    trained = yield node.train(theta, steps=1)
    if node.id == 2:
        {body}
"""


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        (
            "mixing_rows",
            "node.log_weights([2, 1], [0.5, 0.6])",
            "node 2 at 0.55 s: .*: 1.1 aga",
        ),
        (
            "references",
            "KEPT.append(trained.theta)",
            r"\d values of the run outlive",
        ),
    ],
)
def test_what_an_algorithm_does_wrong_ends_the_run(tmp_path, name, body, text):
    (tmp_path / f"{name}.py").write_text(SOURCE.format(body=body))
    with pytest.raises(InvariantError, match=rf"^invariant {name}: {text}"):
        played(tmp_path, {"kind": name}, **WIRES)


def test_times_of_wires_are_bounded_by_what_they_are_used_for_alone():
    """Shared wires with a backbone's latency: slower than alone, never faster."""
    link = {"latency_s": 0.01, "uplink_bps": 1e6, "downlink_bps": 5e5, "jitter_s": 0.01}
    found = played(link=link)
    assert found["messages"]["delivered"] > 20
    assert np.isfinite(found["energy_j"])


CELL = {
    "nodes": {"count": 4, "groups": [{"name": "hub", "count": 1, "role": "server"}]},
    "radio": {
        "rate": {"kind": "fixed", "rate_bps": 2e5},
        "fading": {"kind": "none"},
        "mac": {"kind": "ofdma"},
    },
}


@pytest.mark.slow
def test_more_than_a_band_is_seen(monkeypatch):
    """Parts that add up to more than one, and a band that is used for longer than it was there."""
    played(algorithm={"kind": "fedasync"}, **CELL)
    with monkeypatch.context() as patch:
        patch.setattr(Cells, "band_shares", lambda self: iter([(0, True, [0.7, 0.4])]))
        with pytest.raises(InvariantError, match=r"bands: node 0 .* its uplink add up to: 1.1"):
            played(algorithm={"kind": "fedasync"}, **CELL)
    monkeypatch.setattr(Ofdma, "medium", lambda self, contenders, nodes: ALONE)  # nobody shares
    monkeypatch.setattr(Cells, "band_shares", lambda self: iter([]))
    with pytest.raises(InvariantError, match=r"bands: .* used for longer than there was time"):
        played(algorithm={"kind": "fedasync"}, **CELL)
