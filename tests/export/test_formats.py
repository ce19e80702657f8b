"""Exports can be played again: the same places, gains, packet errors and fades."""

import dataclasses

import numpy as np
import pytest

from netsim import world
from netsim.channels.fading.ns3_fad import Ns3Trace
from netsim.channels.packet_error.table import TabledPacketError
from netsim.channels.path_loss.gains import MeasuredGains
from netsim.errors import ScenarioError
from netsim.export import formats
from netsim.links.radio.phy.channel import RadioChannel
from netsim.registry import public_modules
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.topology.mobility.bonnmotion import BonnMotion
from netsim.topology.mobility.ns2 import Ns2
from netsim.topology.mobility.sumo import Sumo
from netsim.topology.mobility.trace import Trace
from netsim.units import db_to_linear, to_ns

NODES = 4
BASE = {
    "horizon_s": 40.0,
    "nodes": {"count": NODES, "placement": "disc", "radius_m": 60.0},
    "exchange": {"schedule": "rounds"},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "local"},
    "radio": {"shadowing": {"kind": "log_normal", "sigma_db": 4.0, "decorrelation_m": 10.0}},
}
MOVING = BASE | {"mobility": {"kind": "random_waypoint", "max_m_per_s": 9.0, "pause_s": 2.0}}


def layout(tables, step_s=1.0):
    built = world.build(from_dict(tables))
    scenario = built.scenario
    return formats.Layout(
        name="run",
        nodes=scenario.nodes.count,
        horizon_ns=to_ns(scenario.horizon_s),
        step_ns=to_ns(step_s),
        positions_m=built.positions_m,
        track=built.track,
        radio=scenario.radio,
        budget=built.budget,
        tx_power_dbm=built.tx_power_dbm,
        streams=built.streams,
    )


def written(tmp_path, of, wanted):
    return str(formats.write(of, wanted, tmp_path / f"file{formats.formats()[wanted].SUFFIX}"))


def test_every_format_is_one_file_with_an_ending_of_its_own():
    known = formats.formats()
    assert {"gains", "bonnmotion", "ns2", "sumo", "per-table", "ns3-fad"} <= set(known)
    assert len({module.SUFFIX for module in known.values()}) == len(known)
    assert all(module.__doc__ for module in known.values())


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("wanted", "law", "off_m"),
    [("bonnmotion", BonnMotion, 1e-6), ("trace", Trace, 1e-6), ("ns2", Ns2, 1e-5)],
)
@pytest.mark.parametrize("tables", [MOVING, BASE], ids=["moving", "still"])
def test_ways_are_the_same_at_every_instant(tmp_path, wanted, law, off_m, tables):
    of = layout(tables)
    again = law(path=written(tmp_path, of, wanted)).track(
        np.zeros((NODES, 2)), 60.0, Streams(9), None
    )
    for time_ns in [to_ns(t) for t in np.linspace(0, 40, 97)]:
        want = of.positions_m if of.track is None else of.track.at(range(NODES), time_ns)
        assert again.at(range(NODES), time_ns) == pytest.approx(want, abs=off_m)


CIRCLING = BASE | {"horizon_s": 45.0, "mobility": {"kind": "circle", "m_per_s": 2.0}}


@pytest.mark.parametrize(
    ("wanted", "law"), [("bonnmotion", BonnMotion), ("trace", Trace), ("ns2", Ns2), ("sumo", Sumo)]
)
def test_ways_that_are_sampled_go_up_to_the_end_and_say_how_far_they_are_off(tmp_path, wanted, law):
    of = layout(CIRCLING, step_s=10.0)
    again = law(path=written(tmp_path, of, wanted)).track(
        np.zeros((NODES, 2)), 60.0, Streams(9), None
    )
    for t in (0.0, 10.0, 40.0, 45.0):
        want = of.track.at(range(NODES), to_ns(t))
        assert again.at(range(NODES), to_ns(t)) == pytest.approx(want, abs=1e-4)
    (remark,) = [text for text in of.remarks if "straight line" in text]
    told_m = float(remark.split(" m from")[0].split()[-1])
    off_m = [
        np.hypot(*(again.at(range(NODES), to_ns(t)) - of.track.at(range(NODES), to_ns(t))).T)
        for t in (5.0, 15.0, 25.0, 35.0, 42.5)
    ]
    assert told_m == pytest.approx(np.max(off_m), rel=0.06)


def test_straight_ways_that_are_sampled_say_how_far_their_turns_are_off(tmp_path):
    of = layout(MOVING, step_s=4.0)
    again = Sumo(path=written(tmp_path, of, "sumo")).track(
        np.zeros((NODES, 2)), 60.0, Streams(9), None
    )
    (remark,) = of.remarks
    off_m = [
        np.hypot(*(again.at([node], t_ns)[0] - (x, y)))
        for node in range(NODES)
        for t_ns, x, y in of.track.knots(node, of.horizon_ns)
    ]
    assert f"up to {max(off_m):.2g} m from the straight line" in remark
    assert max(off_m) > 1.0


def test_places_of_a_run_whose_links_change_are_written_and_its_gains_refused(tmp_path):
    of = dataclasses.replace(layout(MOVING), links_change=True)
    for wanted in ("bonnmotion", "ns2", "sumo", "trace"):
        written(tmp_path, of, wanted)
    for wanted in ("gains", "colosseum", "per-table", "ns3-fad"):
        with pytest.raises(ScenarioError, match="alter links in mid-run"):
            written(tmp_path, of, wanted)


def test_sampled_ways_are_the_same_at_the_samples(tmp_path):
    of = layout(MOVING, step_s=0.5)
    again = Sumo(path=written(tmp_path, of, "sumo")).track(
        np.zeros((NODES, 2)), 60.0, Streams(9), None
    )
    for k in range(81):
        time_ns = to_ns(0.5 * k)
        assert (again.at(range(NODES), time_ns) == of.track.at(range(NODES), time_ns)).all()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("wanted", ["gains", "colosseum"])
@pytest.mark.parametrize("tables", [MOVING, BASE], ids=["moving", "still"])
def test_gains_are_the_same_at_the_samples(tmp_path, wanted, tables):
    of = layout(tables)
    path = written(tmp_path, of, wanted)
    played = {**tables["radio"], "path_loss": {"kind": "gains", "path": path}}
    del played["shadowing"]
    again = world.build(from_dict(tables | {"radio": played})).budget.mean_snr
    for t in (0, 3, 17, 40):
        for src in range(NODES):
            others = [j for j in range(NODES) if j != src]
            want = of.budget.mean_snr.snr(src, others, to_ns(t))
            assert again.snr(src, others, to_ns(t)) == pytest.approx(want, rel=1e-4)


def test_gains_state_places_and_carrier(tmp_path):
    of = layout(MOVING)
    with np.load(written(tmp_path, of, "gains")) as members:
        assert members["gain_db"].shape == (41, NODES, NODES)
        assert members["positions_m"][7] == pytest.approx(of.track.at(range(NODES), to_ns(7)))
        assert members["carrier_hz"] == 2.4e9


@pytest.mark.parametrize("wanted", ["gains", "colosseum"])
@pytest.mark.parametrize("reference_db", [-5.0, 0.0])
def test_gains_that_no_scenario_can_read_are_told(tmp_path, wanted, reference_db):
    """Nodes within a metre of each other have the loss at 1 m."""
    nodes = {"count": 2, "placement": "given", "positions_m": [[0.0, 0.0], [0.5, 0.0]]}
    radio = {"path_loss": {"kind": "log_distance", "reference_db": reference_db}}
    of = layout(BASE | {"nodes": nodes, "radio": radio})
    path = written(tmp_path, of, wanted)
    played = BASE | {"nodes": nodes, "radio": {"path_loss": {"kind": "gains", "path": path}}}
    if reference_db == 0.0:
        world.build(from_dict(played))
        assert of.remarks == []
        return
    assert of.remarks == [
        "the gain from node 0 to node 1 is up to 5 dB, more than the 0 dB that a scenario can read"
    ]
    with pytest.raises(ScenarioError, match="at most 0 dB"):
        world.build(from_dict(played))


def test_exported_gains_are_those_that_were_imported(tmp_path):
    rng = np.random.default_rng(1)
    gain_db = rng.uniform(-90, -60, (3, NODES, NODES))
    gain_db[1, 0, 2] = -np.inf
    np.savez(tmp_path / "in.npz", gain_db=gain_db, t_s=[0.0, 5.0, 20.0])
    loss = {"kind": "gains", "path": str(tmp_path / "in.npz")}
    tables = BASE | {"nodes": {"count": NODES}, "radio": {"path_loss": loss}}
    model = MeasuredGains(path=written(tmp_path, layout(tables), "gains"))
    again = model.link_gains(NODES, 2.4e9, 20e6, None)
    assert again.starts_ns == [0, to_ns(5.0), to_ns(20.0)]
    apart = ~np.eye(NODES, dtype=bool)
    assert again.gain_db[:, apart] == pytest.approx(gain_db[:, apart], abs=1e-9)


@pytest.mark.parametrize("rule", ["logistic", "uncoded_bpsk"])
def test_packet_errors_are_the_same_at_the_rows(tmp_path, rule):
    radio = {"rate": {"kind": "ofdm_80211"}, "packet_error": {"kind": rule}}
    of = layout(BASE | {"radio": radio})
    again = TabledPacketError(path=written(tmp_path, of, "per-table"))
    assert [rate / 1e6 for rate in again.curves] == pytest.approx([6, 9, 12, 18, 24, 36, 48, 54])
    model = of.radio.packet_error
    for rate_bps in (6e6, 54e6):
        needed = of.radio.rate.needed_snr(rate_bps, 20e6) if model.per_rate else 1.0
        for snr_db in (-3.0, 3.5, 4.25, 9.0, 22.5, 30.0):
            snr = db_to_linear(snr_db)
            want = model.probability(snr, 8 * 1448, needed)
            got = again.at_rate(rate_bps).probability(snr, 8 * 1448, 1.0)
            assert got == pytest.approx(want, rel=1e-6, abs=1e-11)


FADINGS = {
    kind: {"doppler_hz": 8.0}
    for kind in public_modules("netsim.channels.fading")
    if kind not in ("none", "ns3_fad")
} | {"rayleigh": {"doppler_hz": 8.0, "process": "sum_of_sinusoids"}}
"""Every model of fading but that of such a file, with its keys."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", FADINGS)
def test_fades_are_the_same_over_time(tmp_path, kind):
    """A line per resource block has what the channel multiplies its mean SNR by."""
    of = layout(BASE | {"horizon_s": 2.0, "radio": {"fading": {"kind": kind, **FADINGS[kind]}}})
    path = written(tmp_path, of, "ns3-fad")
    again = Ns3Trace(path=path, window_s=2.0)
    channel = RadioChannel(of.radio, of.budget, lambda *_: (0, 0), of.streams)
    want = np.array([channel.gain(0, 1, k * 1_000_000) for k in range(2000)]).reshape(2000, -1)
    with open(path) as file:
        blocks_db = np.array([line.split() for line in file], dtype=float)
    np.testing.assert_allclose(10.0 ** (blocks_db.T / 10.0), want, rtol=1e-9)
    got = again.gain_at(np.full((1, 2), 0.4), None, np.arange(2000) * 1e-3)[0]
    assert got == pytest.approx(want.mean(axis=1), rel=1e-9)
    assert len(of.remarks) == (want.shape[1] > 1)  # that this run takes no mean of them


@pytest.mark.parametrize("horizon_s", [0.0025, 3.0, 10.0, 10.0004, 40.0])
def test_fades_cover_the_run_or_a_remark_says_how_much_of_it(tmp_path, horizon_s):
    fading = {"kind": "rayleigh", "doppler_hz": 8.0}
    of = layout(BASE | {"horizon_s": horizon_s, "radio": {"fading": fading}})
    path = formats.write(of, "ns3-fad", tmp_path / "file.fad")
    covered_s = len(path.read_text().split()) / 1e3
    told = f"it has the first {covered_s:g} s of a run of {horizon_s:g} s, in samples of 1 ms"
    assert of.remarks == ([] if covered_s >= horizon_s else [told])


@pytest.mark.parametrize(
    ("changes", "wanted", "problem"),
    [
        ({}, "bonmotion", 'no such format; there are bonnmotion, .* did you mean "bonnmotion"'),
        ({"nodes": {"count": 4}, "radio": {}}, "ns2", "run: nodes have no places"),
        ({"nodes": {"count": 4}, "radio": None}, "gains", r"run: has no \[radio\]"),
        (
            {"radio": {"rate": {"kind": "shannon_gap", "min_rate_bps": 1e6}}},
            "per-table",
            "any rate",
        ),
        ({"radio": {"fading": {"kind": "rayleigh", "hold": "exchange"}}}, "ns3-fad", "wake-ups"),
    ],
)
def test_what_a_run_has_not_is_told(tmp_path, changes, wanted, problem):
    of = layout(BASE | changes)
    with pytest.raises(ScenarioError, match=problem):
        formats.write(of, wanted, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wanted", ["gains", "colosseum", "sumo", "trace"])
def test_samples_that_no_memory_holds_are_refused(tmp_path, wanted):
    """The step that is named in the place of nanoseconds can be sampled."""
    tables = CIRCLING if wanted == "trace" else MOVING  # straight ways need no samples
    told = r"--step 1e-09: 4\d,000,000,001 samples of 4 nodes are too many; write --step "
    with pytest.raises(ScenarioError, match=told) as refused:
        formats.write(layout(tables, 1e-9), wanted, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    named_s = float(str(refused.value).split("--step ")[2].split()[0])
    assert len(layout(tables, named_s).samples_ns()) > 1_000_000


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ScenarioError, match="is there already; name another file"):
        formats.write(layout(BASE), "trace", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
