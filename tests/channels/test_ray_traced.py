"""Gains of ray-traced paths: Sionna RT's npz and DeepMIMO's folders."""

import math

import numpy as np
import pytest
import scipy.io

from netsim import engine, world
from netsim.channels.path_loss.deepmimo import DeepMimoGains
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.sionna_rt import RayTracedGains
from netsim.errors import DataError, ScenarioError
from netsim.scenario import from_dict, load
from netsim.traces.gains import power_gain

CARRIER_HZ, BAND_HZ = 3.5e9, 20e6
TABLES = {
    "horizon_s": 8.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "dpsgd"},
}


def links(model, nodes):
    return model.link_gains(nodes, CARRIER_HZ, BAND_HZ, None)


def paths(receivers=2, transmitters=2, count=4, times=1, seed=0):
    rng = np.random.default_rng(seed)
    shape = (receivers, transmitters, count, times)
    a = 1e-4 * (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / math.sqrt(2)
    return a, rng.uniform(1e-8, 1e-6, shape[:3])


@pytest.fixture
def write(tmp_path):
    def write_npz(**members):
        np.savez_compressed(tmp_path / "cir.npz", **members)
        return str(tmp_path / "cir.npz")

    return write_npz


def test_the_mean_gain_is_the_power_of_the_paths(write):
    a, tau = paths()
    found = links(RayTracedGains(path=write(a=a, tau=tau)), 2)
    for tx, rx in ((0, 1), (1, 0)):
        want = 10 * math.log10((np.abs(a[rx, tx]) ** 2).sum())
        assert found.gains_to(0, tx, (rx,))[0] == pytest.approx(want)
    assert not found.faded


def test_arrays_as_sionna_gives_them_are_read_alike(write):
    a, tau = paths(times=3)
    t_s = [0.0, 0.1, 0.2]
    plain = links(RayTracedGains(path=write(a=a, tau=tau, t_s=t_s)), 2)
    a6, tau5 = a[:, None, :, None], tau[:, None, :, None]
    whole = links(RayTracedGains(path=write(a=a6.astype(np.complex64), tau=tau5, t_s=t_s)), 2)
    assert whole.gain_db == pytest.approx(plain.gain_db, abs=1e-5)
    assert len(plain.starts_ns) == 3


def test_with_fading_the_gain_is_that_of_the_band_at_each_time(write):
    a, tau = paths(times=3)
    path = write(a=a, tau=tau, t_s=[0.0, 0.1, 0.2])
    found = links(RayTracedGains(path=path, gain="faded"), 2)
    assert found.faded
    want = 10 * np.log10(power_gain(a[1, 0], tau[1, 0], BAND_HZ))
    assert found.gain_db[:, 0, 1] == pytest.approx(want)


def test_a_cell_has_the_same_gain_both_ways_and_none_between_users(write):
    a, tau = paths(receivers=3, transmitters=1)
    a[2] = 0.0
    path = write(a=a, tau=tau, tx_node=[2], rx_node=[0, 1, 3])
    gain_db = links(RayTracedGains(path=path), 4).gain_db[0]
    assert (
        gain_db[2, 0]
        == gain_db[0, 2]
        == pytest.approx(10 * math.log10((np.abs(a[0, 0]) ** 2).sum()))
    )
    assert np.isneginf(gain_db[2, 3])
    assert np.isneginf(gain_db[0, 1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"a": np.ones((2, 2, 4, 1))}, "member a: holds float64, not complex numbers"),
        ({"tau": np.ones((2, 2, 3))}, r"member tau: has shape \(2, 2, 3\), and a \(2, 2, 4, 1\)"),
        ({"a": 1j * np.ones((2, 2, 4))}, r"member a: has 3 axes, .* must have 4 or 6"),
        ({"a": 1j * np.ones((2, 2, 2, 1, 4, 1))}, "2 and 1 antennas; trace with one antenna"),
        ({"a": 1j * np.ones((2, 2, 4, 2))}, "has no member t_s"),
        ({"a": 2j * np.ones((2, 2, 4, 1))}, "member a: the gain from node 0 to node 1 .* is 12"),
        ({"a": np.nan * np.ones((2, 2, 4, 1), complex)}, "member a: path 0 from transmitter 0 to"),
        ({"tau": np.nan * np.ones((2, 2, 4))}, "member tau: path 0 .* no finite number"),
        ({"rx_node": [0, 0]}, "member rx_node: must hold 2 different node numbers"),
        ({"tx_node": [0, 10**9]}, "member tx_node: holds node 1000000000"),
        ({"carrier_hz": 28e9}, r"member carrier_hz: is 2.8e\+10, and \[radio\] carrier_hz = 3.5e"),
    ],
)
def test_a_bad_file_is_told(write, change, problem):
    a, tau = paths()
    with pytest.raises(DataError, match=problem):
        links(RayTracedGains(path=write(**({"a": a, "tau": tau} | change))), 2)


def folder(top, transmitters=("t001_tx000", "t001_tx001"), receivers=6, form="mat", seed=0):
    """A scene laid out as DeepMIMO v4 does; receivers 0 and 3 are reached by no path."""
    top.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    found = {}
    for name in transmitters:
        power = rng.uniform(-120, -80, (receivers, 5)).astype(np.float32)
        power[:, 3:] = np.nan
        power[[0, 3]] = np.nan
        phase = rng.uniform(-180, 180, power.shape).astype(np.float32)
        delay = rng.uniform(1e-8, 1e-6, power.shape).astype(np.float32)
        for key, values in {"power": power, "phase": phase, "delay": delay}.items():
            path = top / f"{key}_{name}_r002.{form}"
            if form == "mat":
                scipy.io.savemat(path, {key: values})
            else:
                np.savez_compressed(path, **{key: values})
        found[name] = (power, phase, delay)
    for key, shape in {"rx_pos": (receivers, 3), "tx_pos": (1, 3)}.items():
        scipy.io.savemat(top / f"{key}_{transmitters[0]}_r002.mat", {key: np.zeros(shape)})
    (top / "params.json").write_text("{}")
    return found


@pytest.mark.parametrize("form", ["mat", "npz"])
def test_a_deepmimo_folder_is_read(tmp_path, form):
    read = folder(tmp_path / "city", form=form)
    gain_db = links(DeepMimoGains(path=str(tmp_path / "city")), 5).gain_db[0]
    for tx, name in enumerate(read):
        for node, row in ((2, 1), (3, 2), (4, 4)):
            want = 10 * math.log10(np.nansum(10.0 ** (read[name][0][row].astype(float) / 10)))
            assert gain_db[tx, node] == gain_db[node, tx] == pytest.approx(want)
    assert np.isneginf(gain_db[0, 1])
    assert np.isneginf(gain_db[2:, 2:]).all()


def test_transmitters_receivers_and_fading_of_a_deepmimo_folder_are_chosen(tmp_path):
    read = folder(tmp_path / "city")
    model = DeepMimoGains(
        path=str(tmp_path / "city"), transmitters=("t001_tx001",), receivers=(5, 3), gain="faded"
    )
    gain_db = links(model, 3).gain_db[0]
    power, phase, delay = (x[5, :3].astype(float) for x in read["t001_tx001"])
    a = 10 ** (power / 20) * np.exp(1j * np.deg2rad(phase))
    want = 10 * math.log10(power_gain(a[:, None], delay, BAND_HZ)[0])
    assert gain_db[0, 1] == pytest.approx(want)
    assert np.isneginf(gain_db[0, 2])


def test_scenes_of_a_deepmimo_folder_follow_each_other(tmp_path):
    for k in range(3):
        folder(tmp_path / "city" / f"scene_{k}", seed=k)
    found = links(DeepMimoGains(path=str(tmp_path / "city"), scene_s=0.5), 4)
    assert found.starts_ns == [0, 500_000_000, 1_000_000_000]
    assert len({float(g) for g in found.gain_db[:, 0, 2]}) == 3


@pytest.mark.parametrize(
    ("keys", "nodes", "problem"),
    [
        ({"path": "nowhere"}, 3, "no such folder; name the folder of a DeepMIMO scenario"),
        ({"path": "."}, 3, "neither it nor a folder in it has files power_tSSS_txIII_rRRR.mat"),
        ({"receiver_set": 1}, 3, "receiver_set: must be one of 2"),
        ({"transmitters": ("t001_tx009",)}, 3, 'there is no "t001_tx009" with receivers r002'),
        ({"receivers": (7,)}, 3, "has 6 receivers, and 7 is named"),
        ({}, 7, "4 of its 6 receivers are reached by a path, and 5 are needed"),
        ({}, 1, "the scenario has fewer nodes than there are transmitters, 2"),
    ],
)
def test_a_bad_deepmimo_folder_is_told(tmp_path, keys, nodes, problem):
    folder(tmp_path / "top" / "city" / "inner")
    (tmp_path / "empty").mkdir()
    path = {"nowhere": tmp_path / "nowhere", ".": tmp_path / "empty"}.get(keys.get("path", ""))
    keys = keys | {"path": str(path or tmp_path / "top" / "city")}
    with pytest.raises(DataError, match=problem):
        links(DeepMimoGains(**keys), nodes)


def test_traced_fading_beside_fading_is_refused(write):
    loss = {"kind": "sionna_rt", "path": write(a=paths()[0], tau=paths()[1]), "gain": "faded"}
    tables = TABLES | {"radio": {"path_loss": loss, "carrier_hz": CARRIER_HZ}}
    with pytest.raises(ScenarioError, match=r'\[radio.fading\] kind = "rayleigh": path_loss "sio'):
        world.build(from_dict(tables))


@pytest.mark.slow
def test_the_shipped_scene_plays_and_is_the_same_both_ways():
    """Ten devices in Sionna RT's street canyon: free space less 3 dB to more in sight."""
    built = world.build(load("ray_traced", ["horizon_s=20"]))
    means, places = built.budget.mean_snr, built.positions_m
    assert means.pairs_left_out == 5
    assert not means.moving
    for i, j in ((0, 1), (0, 2), (0, 3)):  # in sight of each other
        gain_db = 10 * math.log10(means.pair_snr(i, j, 0)) - 5.0 + built.scenario.radio.noise_dbm
        free_db = -FreeSpace().loss_db(math.dist(places[i], places[j]), CARRIER_HZ)
        assert free_db - 1.0 < gain_db < free_db + 3.0
        assert means.pair_snr(j, i, 0) == pytest.approx(means.pair_snr(i, j, 0), rel=0.01)
    messages = engine.play(built, built.scenario.algorithm[0])["messages"]
    assert 0 < messages["lost"] < messages["sent"]
    assert messages["delivered"] > 0


def test_the_shipped_scene_fades_as_it_was_traced():
    sets = ["radio.path_loss.gain=faded", "radio.fading.kind=none", "radio.path_loss.after=loop"]
    means = world.build(load("ray_traced", sets)).budget.mean_snr
    assert means.moving
    assert means.holds_until_ns(0, 1, 0) == 5_000_000
    values = [means.pair_snr(1, 2, k * 5_000_000) for k in range(40)]
    assert len(set(values)) == 20
    assert values[20:] == values[:20]
