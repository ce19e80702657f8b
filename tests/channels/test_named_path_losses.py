"""Path losses that papers name, against published numbers and formulas written down anew."""

import math
from math import log10

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import optimize

from netsim.channels.path_loss.air_to_ground import ENVIRONMENTS, AirToGround
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.okumura_hata import OkumuraHata
from netsim.channels.path_loss.rma import RuralMacro
from netsim.channels.path_loss.two_ray import TwoRay
from netsim.channels.path_loss.uma import UrbanMacro
from netsim.channels.path_loss.v2v import VehicleToVehicle
from netsim.units import SPEED_OF_LIGHT_M_PER_S


def between(model, ground_m, one_m, other_m, carrier_hz, u=0.0):
    """The loss between two heights."""
    at = [np.array([float(x)]) for x in (ground_m, one_m, other_m)]
    return float(model.loss_between_db(*at, carrier_hz, u)[0])


# -- 3GPP TR 38.901 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("d_m", "f_ghz"), [(100.0, 3.5), (300.0, 0.7), (2000.0, 3.5)])
def test_uma_is_that_of_the_table(d_m, f_ghz):
    """d'BP = 4 * 24 * .5 * f / 3e8: 560 m at 3.5 GHz, 112 m at .7 GHz."""
    d3 = math.sqrt(d_m**2 + 23.5**2)
    los_db = 28 + 22 * log10(d3) + 20 * log10(f_ghz)
    bp = {3.5: 560.0, 0.7: 112.0}[f_ghz]
    if d_m > bp:
        los_db = 28 + 40 * log10(d3) + 20 * log10(f_ghz) - 9 * log10(bp**2 + 23.5**2)
    nlos_db = 13.54 + 39.08 * log10(d3) + 20 * log10(f_ghz)
    model = UrbanMacro()
    assert model.loss_db(d_m, f_ghz * 1e9, 0.0) == pytest.approx(los_db, abs=1e-9)
    assert model.loss_db(d_m, f_ghz * 1e9, 1.0) == pytest.approx(max(los_db, nlos_db), abs=1e-9)
    higher_db = max(los_db, nlos_db) - 0.6 * 8.5
    if d_m == 100.0:  # hUT = 10 m: less without sight
        d3 = math.hypot(d_m, 15.0)
        higher_db = 13.54 + 39.08 * log10(d3) + 20 * log10(f_ghz) - 0.6 * 8.5
        assert between(model, d_m, 10.0, 25.0, f_ghz * 1e9, 1.0) == pytest.approx(higher_db)


def test_uma_has_sight_as_the_standard_says():
    """18/d + exp(-d/63) (1 - 18/d): at 63 m .2857 + .3679 * .7143."""
    model = UrbanMacro()
    assert model.sight_probability(18.0) == 1.0
    assert model.sight_probability(63.0) == pytest.approx(18 / 63 + math.exp(-1) * 45 / 63)


@pytest.mark.parametrize("d_m", [50.0, 500.0, 5000.0])
def test_rma_is_that_of_the_table(d_m):
    """h = 5 m, W = 20 m, hBS = 35 m, hUT = 1.5 m, .7 GHz: d_BP = 2 pi 52.5 * 7/3 = 769.7 m."""
    f, bp = 0.7, 2 * math.pi * 35 * 1.5 * 0.7e9 / 3e8
    d3 = math.hypot(d_m, 33.5)

    def near_db(x):
        first = 20 * log10(40 * math.pi * x * f / 3) + min(0.03 * 5**1.72, 10) * log10(x)
        return first - min(0.044 * 5**1.72, 14.77) + 0.002 * log10(5) * x

    los_db = near_db(d3) if d_m <= bp else near_db(bp) + 40 * log10(d3 / bp)
    nlos_db = (
        161.04
        - 7.1 * log10(20)
        + 7.5 * log10(5)
        - (24.37 - 3.7 * (5 / 35) ** 2) * log10(35)
        + (43.42 - 3.1 * log10(35)) * (log10(d3) - 3)
        + 20 * log10(f)
        - (3.2 * log10(11.75 * 1.5) ** 2 - 4.97)
    )
    model = RuralMacro()
    assert model.loss_db(d_m, 0.7e9, 0.0) == pytest.approx(los_db, abs=1e-9)
    assert model.loss_db(d_m, 0.7e9, 1.0) == pytest.approx(max(los_db, nlos_db), abs=1e-9)
    assert model.sight_probability(1010.0) == pytest.approx(math.exp(-1))


# -- Okumura-Hata and COST 231 -------------------------------------------------------------------


def test_hata_is_the_textbook_line_at_900_mhz():
    """126.4 + 35.2 log10 d at 30 m and 1.5 m (Hata 1980), in suburbs 9.9 dB less, open 28.5 dB."""
    f = 900e6
    for km in (1.0, 3.0, 10.0):
        city = OkumuraHata().loss_db(km * 1e3, f)
        assert city == pytest.approx(126.4 + 35.2 * log10(km), abs=0.06)
        suburb = OkumuraHata(environment="suburb").loss_db(km * 1e3, f)
        open_db = OkumuraHata(environment="open").loss_db(km * 1e3, f)
        assert city - suburb == pytest.approx(9.94, abs=0.01)
        assert city - open_db == pytest.approx(28.5, abs=0.02)


def test_large_cities_take_another_correction_of_the_mobile():
    """a = 3.2 log10(11.75 * 1.5)^2 - 4.97 = 0 dB at 1.5 m; at 200 MHz 8.29 log10(2.31)^2 - 1.1."""
    large, small = OkumuraHata(environment="large_city"), OkumuraHata()
    a_small = (1.1 * log10(900) - 0.7) * 3 - (1.56 * log10(900) - 0.8)
    a_large = 3.2 * log10(11.75 * 3) ** 2 - 4.97
    more = between(large, 5e3, 30.0, 3.0, 900e6) - between(small, 5e3, 3.0, 30.0, 900e6)
    assert more == pytest.approx(a_small - a_large)
    want = 69.55 + 26.16 * log10(200) - 13.82 * log10(30) - (8.29 * log10(2.31) ** 2 - 1.1)
    assert large.loss_db(1e3, 200e6) == pytest.approx(want)


def test_cost_231_is_its_line_at_1800_mhz():
    """46.3 + 33.9 log10 f - 13.82 log10 hb - a + slope log10 d: 136.2 + 35.2 log10 d, 3 dB more."""
    a = (1.1 * log10(1800) - 0.7) * 1.5 - (1.56 * log10(1800) - 0.8)
    want = 46.3 + 33.9 * log10(1800) - 13.82 * log10(30) - a + (44.9 - 6.55 * log10(30)) * log10(4)
    assert want == pytest.approx(136.2 + 35.22 * log10(4), abs=0.1)
    assert OkumuraHata().loss_db(4e3, 1.8e9) == pytest.approx(want)
    assert OkumuraHata(environment="suburb").loss_db(4e3, 1.8e9) == pytest.approx(want)
    assert OkumuraHata(environment="large_city").loss_db(4e3, 1.8e9) == pytest.approx(want + 3)


def test_hata_is_never_below_free_space():
    model, d_m = OkumuraHata(environment="open"), np.geomspace(1, 1e5, 60)
    assert (model.loss_db(d_m, 900e6) >= FreeSpace().loss_db(d_m, 900e6) - 1e-9).all()
    assert model.loss_db(1.0, 900e6) == pytest.approx(FreeSpace().loss_db(math.hypot(1, 28.5), 9e8))


# -- two rays ------------------------------------------------------------------------------------


def test_far_away_two_rays_fall_by_40_db_a_decade_whatever_the_carrier():
    """d^4 / (h1 h2)^2: 40 log10 d - 20 log10(h1 h2)."""
    for f in (0.9e9, 5.9e9):
        found = between(TwoRay(), 2e5, 30.0, 1.5, f)
        assert found == pytest.approx(40 * log10(2e5) - 20 * log10(45.0), abs=0.01)


def test_two_rays_add_and_cancel_where_their_paths_say():
    """In phase at half a wavelength apart: 6 dB over free space; in antiphase at a whole one."""
    f, h = 5.9e9, 1.5
    wave_m = SPEED_OF_LIGHT_M_PER_S / f

    def ground_m(apart_m):  # 4 h^2 = (d2 - d1)(d2 + d1), with d1 = d
        return (4 * h * h - apart_m**2) / (2 * apart_m)

    peak_m, null_m = ground_m(wave_m / 2), ground_m(wave_m)
    assert peak_m == pytest.approx(4 * h * h / wave_m, rel=1e-3)  # the crossover distance
    over_db = FreeSpace().loss_db(peak_m, f) - TwoRay().loss_db(peak_m, f)
    assert over_db == pytest.approx(20 * log10(1 + peak_m / (peak_m + wave_m / 2)), abs=1e-6)
    assert TwoRay().loss_db(null_m, f) > FreeSpace().loss_db(null_m, f) + 50


def test_two_rays_are_the_sum_of_two_waves():
    """Straight from the two paths, in complex numbers, over soil of permittivity 15."""
    f, one_m, other_m, d_m = 2.4e9, 10.0, 1.5, 37.0
    k = 2 * math.pi * f / SPEED_OF_LIGHT_M_PER_S
    d1, d2 = math.hypot(d_m, 8.5), math.hypot(d_m, 11.5)
    sine, cosine = 11.5 / d2, d_m / d2
    for polarisation, over in (("vertical", 15.0), ("horizontal", 1.0)):
        z = math.sqrt(15 - cosine**2) / over
        g = (sine - z) / (sine + z)
        wave = np.exp(-1j * k * d1) / d1 + g * np.exp(-1j * k * d2) / d2
        model = TwoRay(relative_permittivity=15.0, polarisation=polarisation)
        want = -20 * log10(abs(wave) / (2 * k))
        assert between(model, d_m, one_m, other_m, f) == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("keys", [{}, {"relative_permittivity": 4.0}, {"antenna_height_m": 20.0}])
def test_the_bound_of_two_rays_holds_and_does_not_fall(keys):
    model, d_m = TwoRay(**keys), np.geomspace(1, 1e5, 20_001)
    least = model.least_beyond_db(d_m, 2.4e9)
    assert (np.diff(least) >= -1e-9).all()
    assert (model.loss_db(d_m, 2.4e9) >= least - 1e-9).all()
    assert model.loss_db(1e5, 2.4e9) - least[-1] < (0.5 if keys == {} else 10.0)


# -- vehicles ------------------------------------------------------------------------------------


def test_v2v_is_that_of_the_tables():
    f, d = 5.9e9, 200.0
    highway = 32.4 + 20 * log10(d) + 20 * log10(5.9)
    city = 38.77 + 16.7 * log10(d) + 18.2 * log10(5.9)
    corner = 36.85 + 30 * log10(d) + 18.9 * log10(5.9)
    assert VehicleToVehicle().loss_db(d, f) == pytest.approx(highway)
    assert VehicleToVehicle(scene="urban").loss_db(d, f) == pytest.approx(city)
    behind = VehicleToVehicle(scene="urban", without_sight="corner")
    assert behind.loss_db(d, f, 1.0) == pytest.approx(corner)
    assert behind.own_shadowing[1].sigma_db == 4.0


@pytest.mark.parametrize(
    ("one_m", "other_m", "near_db"), [(1.6, 3.2, 5.0), (0.75, 0.75, 9.0), (2.0, 3.2, 0.0)]
)
def test_a_vehicle_between_costs_what_its_height_says(one_m, other_m, near_db):
    """Over it nothing, below it 9 dB, else 5 dB; 15 log10 d - 41 dB more beyond 541 m."""
    model = VehicleToVehicle()
    for d, more in ((100.0, 0.0), (1000.0, 4.0 if near_db else 0.0)):
        los, behind = (between(model, d, one_m, other_m, 5.9e9, u) for u in (0.0, 1.0))
        assert behind - los == pytest.approx(near_db + more, abs=1e-4)


def test_the_spread_of_a_blockage_is_added_to_that_of_shadowing():
    for height_m, sigma_db in ((1.6, 5.0), (0.75, math.hypot(3.0, 4.5)), (3.0, 3.0)):
        model = VehicleToVehicle(antenna_height_m=height_m)
        assert [one.sigma_db for one in model.own_shadowing] == pytest.approx([3.0, sigma_db])


def test_sight_on_roads_is_that_of_the_tables():
    p = VehicleToVehicle().sight_probability
    assert p(100.0) == pytest.approx(2.1013e-2 - 0.2 + 1.0193)
    assert p(475.0) == pytest.approx(0.5434, abs=1e-4)
    assert p(575.0) == pytest.approx(0.44)
    assert p(2000.0) == 0.0
    city = VehicleToVehicle(scene="urban").sight_probability
    assert city(4.0) == 1.0
    assert city(100.0) == pytest.approx(1.05 * math.exp(-1.14))


def test_a_highway_has_no_corners():
    with pytest.raises(ValidationError, match="scene"):
        VehicleToVehicle(without_sight="corner")


# -- aircraft ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "best_deg"),
    [
        ("suburban", 20.34),
        ("urban", 42.44),
        ("dense_urban", 54.62),
        ("highrise_urban", 75.52),
    ],
)
def test_the_best_elevation_is_the_published_one(environment, best_deg):
    """Al-Hourani et al. 2014, table: where the edge of a cell of given radius is lost least."""
    model = AirToGround(environment=environment, averaged=True)

    def loss_db(elevation_deg):
        rise_m = 1000.0 * math.tan(math.radians(elevation_deg))
        return between(model, 1000.0, rise_m, 0.0, 2e9)

    found = optimize.minimize_scalar(loss_db, bounds=(5.0, 85.0), options={"xatol": 1e-4})
    assert found.x == pytest.approx(best_deg, abs=0.02)


def test_aircraft_are_seen_by_their_elevation():
    """Urban, 45 degrees: 1 / (1 + 9.61 exp(-.16 (45 - 9.61))) = .9677; 20 dB without sight."""
    share = 1 / (1 + 9.61 * math.exp(-0.16 * (45 - 9.61)))
    model, d_m = AirToGround(), 100 * math.sqrt(2)
    free_db = FreeSpace().loss_db(d_m, 2e9)
    for u, more_db in ((share - 1e-9, 1.0), (share + 1e-9, 20.0)):
        assert model.loss_db(100.0, 2e9, u) == pytest.approx(free_db + more_db)
        assert between(model, 100.0, 0.0, 100.0, 2e9, u) == pytest.approx(free_db + more_db)
    assert model.sight_probability(100.0) == pytest.approx(share)
    assert share == pytest.approx(0.9677, abs=1e-4)
    mean_db = AirToGround(averaged=True).loss_db(100.0, 2e9) - free_db
    assert mean_db == pytest.approx(share + 20 * (1 - share))


def test_two_aircraft_see_each_other_and_two_on_the_ground_hardly_do():
    model = AirToGround()
    free_db = FreeSpace().loss_db(300.0, 2e9)
    assert between(model, 300.0, 80.0, 80.0, 2e9, 0.999) == pytest.approx(free_db + 1.0)
    assert between(model, 300.0, 1.5, 1.5, 2e9, 0.05) == pytest.approx(free_db + 20.0)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_reaches_farthest_is_a_bound(environment):
    """No two heights have a loss below that of the model that ranges are worked out by."""
    rng, n = np.random.default_rng(4), 500
    heights_m = np.array([0.5, 1.5, 20.0, 60.0, 300.0])
    for model in (AirToGround(environment=environment), VehicleToVehicle(), TwoRay()):
        top = model.of_farthest(heights_m.tolist())
        one, other = rng.choice(heights_m, n), rng.choice(heights_m, n)
        d_m = 10 ** rng.uniform(3, 5, n)
        found = model.loss_between_db(d_m, one, other, 2e9, rng.uniform(size=n))
        assert (found >= top.least_beyond_db(d_m, 2e9, 0.0) - 1e-9).all()
