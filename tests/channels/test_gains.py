"""Gains of links from files: what is read, when it holds, what is refused."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import math

import numpy as np
import pytest
import scipy.io

from netsim import engine, world
from netsim.channels.path_loss.gains import MeasuredGains
from netsim.errors import DataError, ScenarioError
from netsim.scenario import from_dict
from netsim.traces.gains import Gains, power_gain
from netsim.units import to_ns

S = to_ns(1.0)


@pytest.fixture
def write(tmp_path):
    def write_npz(name="g.npz", **members):
        np.savez_compressed(tmp_path / name, **members)
        return str(tmp_path / name)

    return write_npz


def read(path, count=2, **keys):
    return MeasuredGains(path=path, **keys).link_gains(count, 2.4e9, 20e6, None)


def between(*levels_db):
    """Gains of two nodes that are the same both ways, one matrix a level."""
    return np.array([[[0.0, g], [g, 0.0]] for g in levels_db])


def test_one_matrix_holds_for_ever_from_sender_to_receiver(write):
    gains = read(write(gain_db=np.array([[np.nan, -70.0], [-80.0, 3.0]])))
    assert not gains.is_changing
    assert gains.gains_to(gains.step_at(0), 0, (1,)).tolist() == [-70.0]
    assert gains.gains_to(gains.step_at(9 * S), 1, (0, 1)).tolist() == [-80.0, -math.inf]
    assert gains.holds_until_ns(5) is None


def test_a_gain_holds_until_the_next(write):
    path = write(gain_db=between(-60, -60, -70, -80), t_s=[1.0, 2.0, 3.0, 5.0])
    gains = read(path, start_s=0.0)
    assert [gains.gains_to(gains.step_at(t * S), 0, (1,))[0] for t in (0, 1, 2, 3, 4, 5, 9)] == [
        -60, -60, -60, -70, -70, -80, -80,
    ]  # fmt: skip
    assert [gains.holds_until_ns(t * S) for t in (0, 2, 3, 5)] == [3 * S, 3 * S, 5 * S, None]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [-60, -60, -70, -70, -80, -80]),
        ({"start_s": 101.0}, [-60, -70, -70, -80, -80]),
        ({"start_s": 98.0}, [-60, -60, -60, -60, -70, -70, -80]),
        ({"after": "loop"}, [-60, -60, -70, -70, -80, -80, -60, -60, -70]),
        ({"after": "loop", "start_s": 103.0}, [-70, -80, -80, -60, -60, -70]),
        ({"between": "linear", "step_s": 1.0}, [-60, -65, -70, -75, -80]),
        ({"between": "linear", "step_s": 1.0, "start_s": 103.0}, [-75, -80, -80]),
    ],
)
def test_the_run_starts_at_the_first_time_or_where_told(write, keys, expected):
    path = write(gain_db=between(-60, -70, -80), t_s=[100.0, 102.0, 104.0])
    gains = read(path, **keys)
    found = [gains.gains_to(gains.step_at(t * S), 0, (1,))[0] for t in range(len(expected))]
    assert found == pytest.approx(expected)
    for t in range(len(expected) - 1):  # no gain changes before it says
        until = gains.holds_until_ns(t * S)
        if expected[t] != expected[t + 1]:
            assert t * S < until <= (t + 1) * S


def test_gains_start_anew_in_a_loop(write):
    gains = read(write(gain_db=between(-60, -70), t_s=[0.0, 2.0]), after="loop")
    found = [gains.gains_to(gains.step_at(t * S), 0, (1,))[0] for t in range(9)]
    assert found == [-60, -60, -70, -70, -60, -60, -70, -70, -60]
    assert [gains.holds_until_ns(t * S) // S for t in range(6)] == [2, 2, 4, 4, 6, 6]


def test_between_two_times_gains_go_straight_in_db(write):
    path = write(gain_db=between(-60, -70, -np.inf), t_s=[0.0, 1.0, 2.0])
    gains = read(path, between="linear", step_s=0.3)
    steps = [gains.step_at(to_ns(t)) for t in (0.0, 0.29, 0.3, 0.95, 1.0, 1.2, 1.99, 2.0, 7.0)]
    found = [gains.gains_to(step, 0, (1,))[0] for step in steps]
    assert found == pytest.approx([-60, -60, -63, -69, -69, *[-math.inf] * 4])
    assert gains.holds_until_ns(to_ns(0.5)) == to_ns(0.6)
    assert gains.holds_until_ns(to_ns(1.9)) == to_ns(2.0)
    assert gains.holds_until_ns(to_ns(2.0)) is None


@pytest.mark.parametrize("step_s", [None, 0.07])
@pytest.mark.parametrize("repeats", [False, True])
def test_a_gain_changes_when_it_is_said_to(step_s, repeats):
    rng = np.random.default_rng(3)
    t_s = np.cumsum(rng.uniform(0.1, 0.4, 6))
    gains = Gains.from_matrices(t_s, rng.uniform(-90, -50, (6, 2, 2)), repeats, step_s)
    now = 0
    for _ in range(60):
        until = gains.holds_until_ns(now)
        if until is None:
            assert not repeats
            break
        assert until > now
        here = gains.gains_to(gains.step_at(now), 0, (1,))
        assert (gains.gains_to(gains.step_at(until - 1), 0, (1,)) == here).all()
        now = until


def test_nodes_of_the_file_are_chosen(write):
    gain_db = -np.arange(16.0).reshape(4, 4)
    gains = MeasuredGains(path=write(gain_db=gain_db), nodes=(3, 1)).link_gains(2, 1e9, 1e6, None)
    assert gains.gains_to(0, 0, (1,))[0] == gain_db[3, 1]
    assert gains.gains_to(0, 1, (0,))[0] == gain_db[1, 3]


@pytest.mark.parametrize(
    ("members", "keys", "problem"),
    [
        ({"gain_db": between(70)}, {}, "member gain_db: the gain from node 0 to node 1 at time 0 s is 70 dB; a gain is received over sent power, at most 0 dB"),
        ({"gain_db": between(np.nan)}, {}, "to node 1 at time 0 s is nan dB"),
        ({"gain_db": between(-1, -2)}, {}, "has no member t_s"),
        ({"gain_db": between(-1, -2), "t_s": [0.0]}, {}, "member t_s: has 1 times, and gain_db has 2 matrices"),
        ({"gain_db": between(-1, -2), "t_s": [1.0, 0.5]}, {}, "member t_s: times must be finite and ascend"),
        ({"gain_db": between(-1, -2), "t_s": [0.0, 1e-12]}, {"after": "loop"}, "member t_s: two times are less than 1 ns apart"),
        ({"gain_db": np.zeros((2, 3))}, {}, r"member gain_db: has shape \(2, 3\) at 1 times"),
        ({"gain_db": between(-1)}, {"nodes": (0, 2)}, "has 2 nodes, and node 2 is asked for"),
        ({"gain_db": between(-1)}, {"nodes": (0,)}, "nodes names 1 of its nodes, and the scenario has"),
        ({"gain_db": between(-1), "carrier_hz": 5e9}, {}, r"member carrier_hz: is 5e\+09, and \[radio\] carrier_hz = 2.4e\+09"),
        ({"gain_db": between(-1), "carrier_hz": [2.4e9, 5e9]}, {}, "member carrier_hz: must be one number, not 2"),
        ({"loss_db": between(70)}, {}, "has no member gain_db; it has loss_db"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_with_member_and_value(write, members, keys, problem):
    with pytest.raises(DataError, match=problem):
        read(write(**members), **keys)


def test_colosseum_matrices_in_db(tmp_path):
    scipy.io.savemat(tmp_path / "c.mat", {"chMatrix": np.array([[0.0, -20], [-25, 0]])})
    gains = read(str(tmp_path / "c.mat"))
    assert (gains.gains_to(0, 0, (1,))[0], gains.gains_to(0, 1, (0,))[0]) == (-20, -25)


def test_colosseum_cells_of_taps_over_time(tmp_path):
    """|0.1|^2 + |0.1j|^2 = 0.02, which is -16.99 dB; two times, 500 ms apart."""
    cells = np.empty((2, 2, 2), dtype=object)
    taps = {"delay": np.array([1e-9, 2e-7]), "iq": np.array([0.1, 0.1j])}
    cells[:, :, 0] = [[taps, taps], [np.zeros((0, 0)), taps]]
    across = np.array([[1e-9, 0.1], [2e-7, 0.1j]])  # taps x (delay, iq)
    three = np.array([[1e-9, 2e-9, 3e-9], [0.01, 0.0, 0.0]])  # (delay, iq) x taps
    cells[:, :, 1] = [[taps, three], [np.vstack([across, [0.0, 0.0]]), taps]]
    scipy.io.savemat(tmp_path / "c.mat", {"chMatrix": cells, "time": np.array([[0.0, 500.0]])})
    gains = read(str(tmp_path / "c.mat"))
    assert gains.starts_ns == [0, to_ns(0.5)]
    db = 10 * math.log10(0.02)
    assert gains.gain_db[:, 0, 1] == pytest.approx([db, -40])
    assert gains.gain_db[:, 1, 0] == pytest.approx([-math.inf, db])
    cells[0, 1, 1] = np.array(["no"])
    scipy.io.savemat(tmp_path / "d.mat", {"chMatrix": cells, "time": np.array([[0.0, 500.0]])})
    with pytest.raises(DataError, match=r"chMatrix: the cell \(1, 2, 2\) holds no taps"):
        read(str(tmp_path / "d.mat"))


def test_the_power_of_paths_over_a_band_is_the_mean_of_its_frequencies():
    """Against |H(f)|^2 averaged over 4,000 frequencies, and its limits of no and of all band."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 3)) + 1j * rng.normal(size=(5, 3))
    tau, band = rng.uniform(0, 1e-6, 5), 2e6
    f = (np.arange(4000) + 0.5) / 4000 * band - band / 2
    h = np.einsum("pt,pf->tf", a, np.exp(-2j * np.pi * tau[:, None] * f))
    assert power_gain(a, tau, band) == pytest.approx((np.abs(h) ** 2).mean(axis=1), rel=1e-4)
    assert power_gain(a, tau, 1e-3) == pytest.approx(np.abs(a.sum(axis=0)) ** 2)
    assert power_gain(a, tau, 1e13) == pytest.approx(power_gain(a, tau, None), rel=1e-5)


TABLES = {
    "horizon_s": 8.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {
        "kind": "digits",
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "dpsgd"},
}


def radio(path, **keys):
    loss = {"kind": "gains", "path": path}
    return {"path_loss": loss, "fading": {"kind": "none"}, **keys}


def test_a_run_without_places_follows_the_file(write):
    """Node 2 is heard by nobody before 4 s, and by all after; noise is -93.98 dBm."""
    gain_db = np.full((2, 3, 3), -80.0)
    gain_db[0, 2], gain_db[0, :, 2] = -np.inf, -np.inf
    tables = TABLES | {"radio": radio(write(gain_db=gain_db, t_s=[0.0, 4.0]))}
    built = world.build(from_dict(tables))
    means = built.budget.mean_snr
    assert 10 * math.log10(means.pair_snr(0, 1, 0)) == pytest.approx(20 - 80 + 93.98, abs=0.02)
    assert means.pair_snr(0, 2, 3 * S) == 0.0
    assert means.pair_snr(0, 2, 4 * S) == means.pair_snr(0, 1, 0)
    assert (means.snr(2, (0, 1), 5 * S) == means.pair_snr(0, 1, 0)).all()
    assert means.holds_until_ns(0, 2, 0) == 4 * S
    assert means.pairs_left_out == 0
    messages = engine.play(built, built.scenario.algorithm[0])["messages"]
    assert (messages["sent"], messages["lost"]) == (48, 16)  # 8 rounds of 6; 4 of 4 before 4 s


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"reachable": 1.0}, r'\[radio\] reachable = 1: path_loss "gains" states every link'),
        ({"shadowing": {"kind": "log_normal", "sigma_db": 3.0}}, 'path_loss "gains" holds it already'),
    ],
)  # fmt: skip
def test_what_would_be_counted_twice_is_refused(write, keys, problem):
    tables = TABLES | {"radio": radio(write(gain_db=-80 * np.ones((3, 3))), **keys)}
    with pytest.raises(ScenarioError, match=problem):
        world.build(from_dict(tables))


def test_a_file_that_is_not_there_is_looked_for_below_the_data_folder(write, tmp_path):
    write("below.npz", gain_db=-80 * np.ones((3, 3)))
    tables = TABLES | {"radio": radio("below.npz")}
    assert world.build(from_dict(tables), tmp_path).budget.mean_snr.pair_snr(0, 1, 0) > 1
    with pytest.raises(ScenarioError, match=r'path = "below.npz": no such file'):
        world.build(from_dict(tables))
