"""Published numbers of link models beside ours: the rows of that table in docs/models.md.

A row computes its number with the model's own code when the page is written, and
`tests/test_models_page.py` compares both. The test that a row names shows the rest of the model.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize

from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.mac import ALONE
from netsim.channels.mac.nr_sidelink_mode2 import NrSidelinkMode2
from netsim.channels.mac.tdma_reuse import colours
from netsim.channels.path_loss.air_to_ground import AirToGround
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.inh import IndoorOffice
from netsim.channels.path_loss.okumura_hata import OkumuraHata
from netsim.channels.path_loss.rma import RuralMacro
from netsim.channels.path_loss.two_ray import TwoRay
from netsim.channels.path_loss.uma import UrbanMacro
from netsim.channels.path_loss.umi import UrbanMicro
from netsim.channels.path_loss.v2v import VehicleToVehicle
from netsim.channels.presets.ble import BlePreset
from netsim.channels.rate.lora import Lora
from netsim.channels.routing import LinkQuality
from netsim.channels.routing.etx import Etx
from netsim.devices.energy.harvest.markov import Markov
from netsim.devices.energy.harvest.solar import Solar
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.superposition import mean_inverse_gain
from netsim.links.radio.table import Radio
from netsim.node.superposition import sum_of_energies
from netsim.rng import Streams
from netsim.topology.mobility.walker import EARTH_RADIUS_M, Walker
from netsim.units import SPEED_OF_LIGHT_M_PER_S, to_ns

CHANNELS, ORBITS = "tests/channels/test_named_path_losses.py", "tests/topology/test_satellites.py"
PRESETS = "tests/channels/test_presets.py"
TABLE_38901, AL_HOURANI = "3GPP TR 38.901, table 7.4.1-1", "Al-Hourani et al. 2014, table"
SEMTECH, BLUETOOTH = "Semtech's LoRa calculator", "Bluetooth core specification 5.4, 6.B.4.1"


@dataclass(frozen=True)
class Number:
    """A row of the table.

    Attributes
    ----------
    model, quantity, source, unit : str
    published : float
    ours : callable
    test : str
        File and name of the test in which the model is held against this and more.
    within : float
        Largest deviation, over the published number.
    why : str
        What deviates, if it is more than rounding of the published number.
    """

    model: str
    quantity: str
    source: str
    published: float
    unit: str
    ours: Callable[[], float]
    test: str
    within: float = 1e-3
    why: str = ""


def loss_db(model: Any, distance_m: float, carrier_hz: float, u: float = 0.0) -> float:
    """The loss between two ends whose heights the model states."""
    return float(model.loss_db(distance_m, carrier_hz, u))


def best_elevation_deg(environment: Any) -> float:
    """The elevation at which the edge of a cell is lost least."""
    model = AirToGround(environment=environment, averaged=True)

    def edge_db(elevation_deg: float) -> float:
        rise_m = np.array([1000.0 * math.tan(math.radians(elevation_deg))])
        found = model.loss_between_db(np.array([1000.0]), rise_m, np.array([0.0]), 2e9, 0.0)
        return float(found[0])

    found = optimize.minimize_scalar(edge_db, bounds=(5.0, 85.0), options={"xatol": 1e-8})
    return float(found.x)


def attempt_us(preset: dict[str, Any], payload_bytes: int) -> float:
    """Time of an attempt at one packet [us], everything included."""
    radio = Radio.model_validate({"preset": preset})

    class Budget:
        mean_snr, threshold, tx_power_w = type("Still", (), {"moving": False}), 1.0, (1.0, 1.0)

    channel = RadioChannel(radio, Budget, lambda node, time_ns: (0, 0), Streams(0))  # type: ignore[arg-type]
    packets, bits = radio.packets(8 * payload_bytes)
    rate_bps = radio.rate.bits_per_s(1e6, radio.bandwidth_hz)
    return packets * channel.attempt_ns(bits, rate_bps, ALONE) / 1e3


def throughput_kbps(phy: str, payload_bytes: int) -> float:
    """Of a Bluetooth connection whose 7 bytes of ATT and L2CAP are no payload."""
    took_us = attempt_us({"kind": "ble", "phy": phy}, payload_bytes)
    return 8e3 * (payload_bytes - 7) / took_us


def sensitivity_dbm(spreading_factor: int) -> float:
    """Noise of 125 kHz at 6 dB and the SNR that a spreading factor needs."""
    preset = {"kind": "lora", "spreading_factor": spreading_factor}
    radio = Radio.model_validate({"preset": preset})
    return radio.noise_dbm + radio.threshold_db


def peak_mbps(channel_mhz: int) -> float:
    """The highest rate of an LTE channel."""
    radio = Radio.model_validate({"preset": {"kind": "lte", "channel_mhz": channel_mhz}})
    return radio.rate.bits_per_s(1e6, radio.bandwidth_hz) / 1e6


@cache
def orbit(altitude_m: float, satellites: int = 1, stations: int = 0) -> Any:
    """Satellites in one equatorial plane, with a station on the equator."""
    walker = Walker(
        satellites=satellites,
        planes=1,
        inclination_deg=0.0,
        altitude_m=altitude_m,
        least_elevation_deg=10.0,
        stations=((0.0, 0.0),) * stations,
    )
    return walker.track(np.zeros((satellites + stations, 2)), 0.0, Streams(0), None)


def period_min(altitude_m: float) -> float:
    """Of an orbit."""
    return 2 * math.pi / float(orbit(altitude_m).mean_motion_rad_per_s) / 60


def apart_km(track: Any, time_s: float) -> float:
    """Distance of the first two nodes."""
    one, other = track.at([0, 1], to_ns(time_s))
    return float(np.linalg.norm(one - other)) / 1e3


def slant_km(altitude_m: float) -> float:
    """Distance at which a satellite sets, 10 degrees over the horizon."""
    track = orbit(altitude_m, stations=1)

    def over(time_s: float) -> float:
        return float(track.sight(np.array(0), np.array(1), np.array(to_ns(time_s))))

    return apart_km(track, optimize.brentq(over, 0.0, 1500.0, xtol=1e-6))


def aside_km() -> float:
    """Distance of neighbours in a plane of eleven at 780 km."""
    return apart_km(orbit(780e3, satellites=11), 0.0)


def apart_bp_m() -> float:
    """Distance at which two rays are in phase for the last time, from 1.5 m to 1.5 m at 5.9 GHz."""
    metres = np.linspace(100.0, 300.0, 20_001)
    over = FreeSpace().loss_db(metres, 5.9e9) - TwoRay().loss_db(metres, 5.9e9)
    return float(metres[np.argmax(over)])


def colours_of(graph: nx.Graph) -> float:
    """Slots of a graph whose nodes share none within two hops."""
    return max(colours(nx.convert_node_labels_to_integers(graph), 2)) + 1.0


def good_share() -> float:
    """Share of good slots of a chain, over 20,000 nodes at the first one."""
    law = Markov(good_w=1.0, good_to_bad=0.2, bad_to_good=0.1)
    pieces = law.pieces(range(20_000), Streams(0), None) or []
    return float(np.mean([next(one).watt for one in pieces]))


@cache
def energies_heard(share: float = 1.0) -> NDArray[np.float64]:
    """Energies r of 400 frames of 64 symbols from two senders of even power, M S_ref = 64."""
    even = torch.full((64,), 1 / 64, dtype=torch.float64)
    senders = [(snr * share + 1e-12, 1, ((1.0,),), 1.0) for snr in (1.0, 0.5)]
    frames = [sum_of_energies([[even, even]], [((0, k), senders)], 3)[0] for k in range(400)]
    return torch.stack(frames).numpy()


def etx(forwards: float) -> float:
    """Expected transmissions over a link."""
    return Etx().cost(LinkQuality(True, forwards, 1e-3))


def rows() -> Iterator[Number]:
    """All rows, model by model."""
    for environment, deg in (
        ("suburban", 20.34),
        ("urban", 42.44),
        ("dense_urban", 54.62),
        ("highrise_urban", 75.52),
    ):
        yield Number(
            f"`air_to_ground`, {environment}", "best elevation", AL_HOURANI, deg, "deg",
            lambda e=environment: best_elevation_deg(e),  # type: ignore[misc]
            f"{CHANNELS}::test_the_best_elevation_is_the_published_one",
        )  # fmt: skip
    for name, at, db, u, model in (
        ("`umi`", "in sight, 100 m, 3.5 GHz", 85.314, 0.0, UrbanMicro()),
        ("`uma`", "in sight, 100 m, 3.5 GHz", 83.138, 0.0, UrbanMacro()),
        ("`uma`", "without sight, 100 m, 3.5 GHz", 103.038, 1.0, UrbanMacro()),
        ("`rma`", "in sight, 500 m, 0.7 GHz", 84.633, 0.0, RuralMacro()),
        ("`inh`", "in sight, 20 m, 5 GHz", 68.925, 0.0, IndoorOffice()),
    ):
        metres, ghz = (float(x.split()[0]) for x in at.split(", ")[1:])
        test = CHANNELS + f"::test_{name[1:-1]}_is_that_of_the_table"
        if name not in ("`uma`", "`rma`"):
            test = "tests/closed_forms/test_channels.py"
        yield Number(
            name, f"loss, {at}", TABLE_38901, db, "dB",
            lambda m=model, d=metres, f=ghz, u=u: loss_db(m, d, f * 1e9, u),  # type: ignore[misc]
            test,
        )  # fmt: skip
    hata = f"{CHANNELS}::test_hata_is_the_textbook_line_at_900_mhz"
    for words, db, mhz, km, environment, test in (
        ("city, 900 MHz, 1 km", 126.4, 900, 1, "city", hata),
        ("city, 900 MHz, 10 km", 161.6, 900, 10, "city", hata),
        ("suburb, 900 MHz, 1 km", 116.5, 900, 1, "suburb", hata),
        ("open, 900 MHz, 1 km", 97.9, 900, 1, "open", hata),
        ("COST 231, 1800 MHz, 1 km", 136.2, 1800, 1, "city",
         f"{CHANNELS}::test_cost_231_is_its_line_at_1800_mhz"),
    ):  # fmt: skip
        model = OkumuraHata.model_validate({"environment": environment})
        yield Number(
            "`okumura_hata`", f"loss, {words}",
            "Hata 1980" if mhz == 900 else "COST 231, 1999", db, "dB",
            lambda m=model, f=mhz, d=km: loss_db(m, 1e3 * d, 1e6 * f),  # type: ignore[misc]
            test,
        )  # fmt: skip
    yield Number(
        "`two_ray`", "loss, 200 km, both ends at 1.5 m: $40 \\log_{10} d - 20 \\log_{10} h_1 h_2$",
        "Rappaport 2002, 4.6", 204.997, "dB", lambda: loss_db(TwoRay(), 2e5, 0.9e9),
        f"{CHANNELS}::test_far_away_two_rays_fall_by_40_db_a_decade_whatever_the_carrier",
    )  # fmt: skip
    yield Number(
        "`two_ray`", "crossover $4 h_1 h_2 / \\lambda$, 1.5 m, 5.9 GHz", "Rappaport 2002, 4.6",
        4 * 1.5 * 1.5 * 5.9e9 / SPEED_OF_LIGHT_M_PER_S, "m", apart_bp_m,
        f"{CHANNELS}::test_two_rays_add_and_cancel_where_their_paths_say",
    )  # fmt: skip
    highway = VehicleToVehicle()
    yield Number(
        "`v2v`", "loss in sight, highway, 200 m, 5.9 GHz", "3GPP TR 37.885",
        93.838, "dB", lambda: loss_db(highway, 200.0, 5.9e9),
        f"{CHANNELS}::test_v2v_is_that_of_the_tables",
    )  # fmt: skip
    yield Number(
        "`v2v`", "probability of sight, highway, 100 m", "3GPP TR 37.885",
        0.8403, "", lambda: float(highway.sight_probability(100.0)),
        f"{CHANNELS}::test_sight_on_roads_is_that_of_the_tables",
    )  # fmt: skip
    sidelink = "tests/links/radio/test_sidelink.py::test_counters_are_uniform"
    for period_s, least, most in ((0.1, 5, 15), (0.05, 10, 30)):
        for end, count, draw in (("least", least, 0.0), ("most", most, 1.0 - 1e-9)):
            yield Number(
                "`nr_sidelink_mode2`", f"counter at {1e3 * period_s:.0f} ms, {end}",
                "3GPP TS 38.321, 5.22.1.1", count, "packets",
                lambda p=period_s, d=draw: float(NrSidelinkMode2(period_s=p).counter(d)),  # type: ignore[misc]
                sidelink,
            )  # fmt: skip
    p80211 = f"{PRESETS}::test_80211p_has_the_times_of_its_access_categories"
    for category, us in (("voice", 58), ("video", 71), ("best_effort", 110), ("background", 149)):
        preset = {"kind": "wifi_p", "access_category": category}
        yield Number(
            f"preset `wifi_p`, {category}", "AIFS", "IEEE 802.11-2020", us,
            "us", lambda p=preset: 1e6 * Radio.model_validate({"preset": p}).mac.difs_s,  # type: ignore[misc]
            p80211,
        )  # fmt: skip
    yield Number(
        "preset `wifi`", "1,500 bytes at 54 Mb/s on the air", "IEEE 802.11-2020", 248.0,
        "us", lambda: attempt_us({"kind": "wifi"}, 1500),
        f"{PRESETS}::test_wifi_is_that_of_80211a", 2e-3, "the last symbol is not filled up",
    )  # fmt: skip
    for sf, ms in ((7, 56.576), (8, 102.912), (9, 185.344), (10, 370.688), (11, 741.376),
                   (12, 1318.912)):  # fmt: skip
        yield Number(
            f"preset `lora`, SF{sf}", "20 bytes on the air", SEMTECH, ms, "ms",
            lambda s=sf: 1e3 * Lora(spreading_factor=s).airtime_s(160, 125e3),  # type: ignore[misc]
            f"{PRESETS}::test_lora_takes_semtechs_time_on_air",
        )  # fmt: skip
    for sf, dbm in ((7, -123.0), (12, -137.0)):
        yield Number(
            f"preset `lora`, SF{sf}", "noise and least SNR against the sensitivity",
            "Georgiou and Raza 2017", dbm, "dBm", lambda s=sf: sensitivity_dbm(s),  # type: ignore[misc]
            f"{PRESETS}::test_lora_hears_down_to_its_sensitivity", 0.015,
            "`sensitivity_dbm` of the preset is the published one",
        )  # fmt: skip
    for phy, payload, us in (("1M", 37, 376), ("1M", 251, 2088), ("2M", 251, 1048),
                             ("coded_s8", 251, 16784), ("coded_s2", 251, 4478)):  # fmt: skip
        yield Number(
            f"preset `ble`, {phy}", f"packet of {payload} bytes", BLUETOOTH, us, "us",
            lambda p=phy, n=payload: 1e6 * BlePreset(phy=p).packet_s(n),  # type: ignore[misc,arg-type]
            f"{PRESETS}::test_ble_packets_take_what_the_specification_says",
        )  # fmt: skip
    for phy, payload, kbps in (("1M", 27, 236.7), ("2M", 251, 1402.3)):
        yield Number(
            f"preset `ble`, {phy}", f"throughput, packets of {payload} bytes",
            "times of packets and 150 us twice", kbps, "kb/s",
            lambda p=phy, n=payload: throughput_kbps(p, n),  # type: ignore[misc]
            f"{PRESETS}::test_ble_connections_have_their_published_throughput",
        )  # fmt: skip
    yield Number(
        "preset `lte`, 20 MHz", "peak of one layer", "3GPP TS 36.213, table 7.1.7.2.1-1", 75.376,
        "Mb/s", lambda: peak_mbps(20), f"{PRESETS}::test_lte_has_its_blocks_and_its_peak", 0.33,
        "control and reference signals are not taken off",
    )  # fmt: skip
    for altitude_m, minutes, name in (
        (550e3, 95.6, "Starlink"),
        (780e3, 100.4, "Iridium"),
        (1.2e6, 109.4, "OneWeb"),
        (20_183.6e3, 718.0, "GPS"),
    ):
        yield Number(
            f"`walker`, {altitude_m / 1e3:,.0f} km", "period", name, minutes, "min",
            lambda h=altitude_m: period_min(h),  # type: ignore[misc]
            f"{ORBITS}::test_periods_are_those_published",
        )  # fmt: skip
    for altitude_m, km in ((600e3, 1932.0), (1.2e6, 3131.0)):
        yield Number(
            f"`walker`, {altitude_m / 1e3:,.0f} km", "slant range at 10 degrees",
            "3GPP TR 38.821", km, "km",
            lambda h=altitude_m: slant_km(h),  # type: ignore[misc]
            f"{ORBITS}::test_slant_ranges_are_those_of_tr_38_821",
        )  # fmt: skip
    yield Number(
        "`walker`, Iridium", "from a satellite to the next of its plane", "Iridium", 4033.0, "km",
        aside_km, f"{ORBITS}::test_a_star_has_the_planes_of_iridium", 2e-3,
    )  # fmt: skip
    yield Number(
        "`walker`, Iridium", "latency of that link", "4,033 km at the speed of light", 13.45, "ms",
        lambda: 1e6 * aside_km() / SPEED_OF_LIGHT_M_PER_S,
        f"{ORBITS}::test_messages_arrive_after_the_distance_of_that_moment", 2e-3,
    )  # fmt: skip
    rise_m = EARTH_RADIUS_M / 2
    slant_m = math.sqrt(rise_m**2 + 600e3**2 + 2 * 600e3 * EARTH_RADIUS_M) - rise_m
    for ghz, db in ((2.0, 159.1), (20.0, 179.1)):
        yield Number(
            "`free_space`, 600 km", f"loss at 30 degrees, {ghz:.0f} GHz",
            "3GPP TR 38.821, table 6.1.3.3-1", db, "dB",
            lambda f=ghz: loss_db(FreeSpace(), slant_m, f * 1e9),  # type: ignore[misc]
            f"{ORBITS}::test_free_space_losses_are_those_of_tr_38_821",
        )  # fmt: skip
    yield Number(
        "`solar`", "energy of a day of 1 W at noon, 12 h of daylight", "$2 P D / \\pi$",
        2 / math.pi * 43_200.0, "J", lambda: Solar(peak_w=1.0).joules(86_400.0),
        "tests/devices/test_harvest.py::test_a_day_has_its_energy_and_a_night_none",
    )  # fmt: skip
    yield Number(
        "`markov`", "share of good slots, $g / (g + b)$ of .1 and .2", "Ho et al. 2010", 1 / 3, "",
        good_share, "tests/devices/test_harvest.py::test_markov_slots_are_stationary_and_last",
        0.04, "20,000 draws: a standard error of 1.0 %",
    )  # fmt: skip
    coloured = "tests/links/radio/test_tdma_reuse.py"
    coloured += "::test_lines_rings_grids_and_cliques_have_the_least_colours"
    for words, graph, count in (
        ("line of 40", nx.path_graph(40), 3), ("ring of 7", nx.cycle_graph(7), 4),
        ("grid of 9 by 9", nx.grid_2d_graph(9, 9), 5), ("7 in range", nx.complete_graph(7), 7),
    ):  # fmt: skip
        yield Number(
            "`tdma_reuse`", f"slots, {words}, two hops",
            "chromatic numbers of squares: Fertin, Godard and Raspaud 2003", count, "",
            lambda g=graph: colours_of(g), coloured,  # type: ignore[misc]
        )  # fmt: skip
    relays = "tests/links/radio/test_relaying.py"
    yield Number(
        "`etx`", "attempts over a link that delivers 80 %", "De Couto et al. 2003", 1.25, "",
        lambda: etx(0.8), f"{relays}::test_costs_of_a_link",
    )  # fmt: skip
    yield Number(
        "over the air, aligned", "mean inverse gain above a truncation of .1, $E_1(.1)$",
        "Abramowitz and Stegun, table 5.1", 1.822924, "",
        lambda: mean_inverse_gain(Rayleigh(), 0.1),
        "tests/links/radio/test_superposition.py::test_mean_inverse_gain",
    )  # fmt: skip
    energies = "tests/algorithms_/test_ncota.py"
    yield Number(
        "over the air, non-coherent", "mean of $r_m$ of two senders at $S_{ref}$ and $S_{ref} / 2$",
        "Michelusi 2024: $\\sum_j S_j p_{jm} / S_{ref}$", 1.5 / 64, "",
        lambda: float(energies_heard().mean()),
        f"{energies}::test_energies_add_up_on_average_and_vary_as_derived", 0.02,
        "25,600 symbols: a standard error of .7 %",
    )  # fmt: skip
    yield Number(
        "over the air, non-coherent", "variance of $r_m$ of noise alone, times $(M S_{ref})^2$",
        "Michelusi 2024", 1.0, "", lambda: float((64 * energies_heard(0.0)).var()),
        f"{energies}::test_noise_alone_has_no_mean", 0.06,
        "25,600 symbols: a standard error of 1.8 %",
    )  # fmt: skip


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| model | quantity | source | published | netsim | deviation | test |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows():
        ours = row.ours()
        percent = 100 * (ours / row.published - 1)
        told = f"{percent:+.2f} %".replace("-0.00", "0.00").replace("+0.00", "0.00")
        told += f": {row.why}" if row.why else ""
        file, _, name = row.test.partition("::")
        test = f"`{file.removeprefix('tests/')}`" + (f" `{name}`" if name else "")
        numbers = [f"{x:,.5g} {row.unit}".strip() for x in (row.published, ours)]
        yield f"| {' | '.join([row.model, row.quantity, row.source, *numbers, told, test])} |"
