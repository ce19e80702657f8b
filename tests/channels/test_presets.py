"""Radios by name: their published numbers, and a scenario's own words before the preset's."""

import pytest
from pydantic import ValidationError

from netsim import engine, scenario, world
from netsim.channels.mac import ALONE
from netsim.channels.presets.ble import BlePreset
from netsim.channels.rate.lora import Lora
from netsim.errors import ScenarioError
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.registry import family
from netsim.rng import Streams
from netsim.world.remarks import remarks

PRESETS = family("netsim.channels.presets")


def attempt_s(keys, payload_bytes, snr=1e6):
    """The time of an attempt at one packet, everything included."""
    radio = Radio.model_validate(keys)

    class Budget:
        mean_snr, threshold, tx_power_w = type("Still", (), {"moving": False}), 1.0, (1.0, 1.0)

    channel = RadioChannel(radio, Budget, lambda node, time_ns: (0, 0), Streams(0))
    packets, bits = radio.packets(8 * payload_bytes)
    rate_bps = radio.rate.bits_per_s(snr, radio.bandwidth_hz)
    return packets * channel.attempt_ns(bits, rate_bps, ALONE) / 1e9


# -- LoRa ----------------------------------------------------------------------------------------

AIRTIMES_MS = {7: 56.576, 8: 102.912, 9: 185.344, 10: 370.688, 11: 741.376, 12: 1318.912}
"""Of 20 bytes at 125 kHz, 4/5, preamble of 8, header and checksum: Semtech's LoRa calculator."""


@pytest.mark.parametrize("sf", AIRTIMES_MS)
def test_lora_takes_semtechs_time_on_air(sf):
    """SF7: 12.25 + 8 + 5 ceil(176 / 28) = 55.25 symbols of 1.024 ms; SF12: 40.25 of 32.768 ms."""
    assert 1e3 * Lora(spreading_factor=sf).airtime_s(160, 125e3) == pytest.approx(AIRTIMES_MS[sf])


def test_lora_in_other_modes():
    """SF9, 250 kHz, 4/8, no header, no checksum, 6 symbols of preamble, 10 bytes, by hand.

    (80 - 36 + 28 - 20) / 36 = 1.44: two blocks of 8 symbols; 6 + 4.25 + 8 + 16 symbols of 2.048 ms.
    At SF12 and 500 kHz a symbol has 8.192 ms and nothing is optimised: (160 + 28 + 16 - 48) / 48.
    """
    model = Lora(spreading_factor=9, coding_rate=4, header=False, crc=False, preamble_symbols=6)
    assert model.airtime_s(80, 250e3) == pytest.approx(34.25 * 2.048e-3)
    fast = Lora(spreading_factor=12)
    assert fast.airtime_s(160, 500e3) == pytest.approx((12.25 + 8 + 20) * 8.192e-3)


@pytest.mark.parametrize("sf", AIRTIMES_MS)
def test_lora_on_the_air_takes_as_long(sf):
    """7 bytes behind 13 of LoRaWAN's header; the nominal rate is no slower than that of packets."""
    found = attempt_s({"preset": {"kind": "lora", "spreading_factor": sf}}, 7)
    assert found == pytest.approx(1e-3 * AIRTIMES_MS[sf])
    assert 160 / Lora(spreading_factor=sf).bits_per_s(1.0, 125e3) <= found


def test_lora_has_the_nominal_rates():
    """SF 7 to 12 at 4/5: SF B / 2^SF * 4/5 = 5469 .. 293 bit/s (with optimisation less)."""
    nominal = {7: 5468.75, 8: 3125.0, 9: 1757.8, 10: 976.6, 11: 537.1 * 9 / 11, 12: 293.0 * 10 / 12}
    for sf, bps in nominal.items():
        assert Lora(spreading_factor=sf).bits_per_s(1.0, 125e3) == pytest.approx(bps, rel=1e-3)


@pytest.mark.parametrize("sf", [7, 12])
def test_lora_hears_down_to_its_sensitivity(sf):
    """-174 + 10 log10 125e3 + 6 + SNR limit: what the data sheet measures, to 1.6 dB."""
    radio = Radio.model_validate({"preset": {"kind": "lora", "spreading_factor": sf}})
    assert radio.noise_dbm + radio.threshold_db == pytest.approx(radio.sensitivity_dbm, abs=1.7)


# -- Bluetooth Low Energy ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phy", "payload", "us"),
    [
        ("1M", 37, 376),
        ("1M", 251, 2088),
        ("2M", 251, 1048),
        ("2M", 0, 44),
        ("coded_s8", 0, 720),
        ("coded_s8", 251, 16784),
        ("coded_s2", 0, 462),
        ("coded_s2", 251, 4478),
    ],
)
def test_ble_packets_take_what_the_specification_says(phy, payload, us):
    """Core specification 5.4, 6.B.4.1: 44 to 17040 us with a MIC of 4 bytes more."""
    assert 1e6 * BlePreset(phy=phy).packet_s(payload) == pytest.approx(us)


@pytest.mark.parametrize(
    ("phy", "payload", "of_it", "kbps"),
    [("1M", 27, 20, 236.7), ("1M", 251, 244, 790.9), ("2M", 251, 244, 1402.3)],
)
def test_ble_connections_have_their_published_throughput(phy, payload, of_it, kbps):
    """ATT and L2CAP take 7 bytes: 236.7 kb/s of 4.0, 1.4 Mb/s of 2M with long packets."""
    took_s = attempt_s({"preset": {"kind": "ble", "phy": phy}}, payload)
    assert 8e-3 * of_it / took_s == pytest.approx(kbps, rel=1e-3)


# -- Wi-Fi, vehicles, LTE ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "aifs_us", "windows"),
    [
        ("voice", 58, (3, 7)),
        ("video", 71, (7, 15)),
        ("best_effort", 110, (15, 1023)),
        ("background", 149, (15, 1023)),
    ],
)
def test_80211p_has_the_times_of_its_access_categories(category, aifs_us, windows):
    mac = Radio.model_validate({"preset": {"kind": "wifi_p", "access_category": category}}).mac
    assert (mac.slot_s, mac.sifs_s) == (13e-6, 32e-6)
    assert mac.difs_s == pytest.approx(1e-6 * aifs_us, abs=1e-15)
    assert (mac.cw_min - 1, mac.cw_min * 2**mac.stages - 1) == windows


@pytest.mark.parametrize(("mbps", "ack_us"), [(3, 88), (6, 64), (12, 56), (27, 56), (4.5, 88)])
def test_80211p_takes_twice_the_time_of_20_mhz(mbps, ack_us):
    """Acknowledgement: 40 us and 16 + 112 + 6 bits in symbols of 8 us at 24, 48 or 96 bits."""
    keys = {"preset": {"kind": "wifi_p", "mbps": mbps}}
    assert Radio.model_validate(keys).mac.ack_s == pytest.approx(1e-6 * ack_us)
    assert attempt_s(keys, 300) == pytest.approx(40e-6 + 8 * 336 / (mbps * 1e6))
    assert Radio.model_validate(keys).packet_error.mbps == 2 * mbps


def test_80211p_has_no_other_rates():
    with pytest.raises(ValidationError, match="mbps = 54"):
        Radio.model_validate({"preset": {"kind": "wifi_p", "mbps": 54.0}})


def test_wifi_is_that_of_80211a():
    """A packet of 1500 bytes with headers at 54 Mb/s: 20 us and 12288 bits."""
    assert attempt_s({"preset": {"kind": "wifi"}}, 1500) == pytest.approx(20e-6 + 12288 / 54e6)
    assert Radio.model_validate({"preset": {"kind": "wifi", "standard": "g"}}).carrier_hz < 2.5e9


def test_lte_has_its_blocks_and_its_peak():
    """100 blocks of 180 kHz at 5.5547 bit/s/Hz: 100 Mb/s in 20 MHz."""
    for mhz, blocks, peak_mbps in ((3, 15, 15.0), (10, 50, 49.99), (20, 100, 99.98)):
        radio = Radio.model_validate({"preset": {"kind": "lte", "channel_mhz": mhz}})
        assert radio.mac.subchannels == blocks
        found = radio.rate.bits_per_s(1e6, radio.bandwidth_hz)
        assert found == pytest.approx(1e6 * peak_mbps, rel=1e-3)


# -- any preset ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PRESETS)
def test_a_preset_sets_keys_that_there_are_and_all_is_resolved(kind):
    preset = PRESETS[kind]()
    radio = Radio.model_validate({"preset": {"kind": kind}})
    assert radio.beside_preset == []
    assert preset.radio().keys() <= Radio.model_fields.keys()
    assert Radio.model_validate(radio.model_dump()) == radio
    for key in preset.radio().keys() & {"carrier_hz", "bandwidth_hz", "tx_power_dbm"}:
        assert getattr(radio, key) == preset.radio()[key]


def test_what_the_scenario_says_goes_before_the_preset():
    keys = {
        "preset": {"kind": "lora", "spreading_factor": 9},
        "tx_power_dbm": 20.0,
        "mac": {"max_duty_cycle": 0.1},
        "rate": {"kind": "fixed", "rate_bps": 1e3},
    }
    radio = Radio.model_validate(keys)
    assert (radio.tx_power_dbm, radio.threshold_db) == (20.0, -12.5)
    assert (radio.mac.kind, radio.mac.max_duty_cycle, radio.mac.attempt_rate) == ("aloha", 0.1, 1.0)
    assert (radio.rate.kind, radio.rate.rate_bps) == ("fixed", 1e3)
    assert radio.beside_preset == ["tx_power_dbm", "rate", "mac.max_duty_cycle"]
    again = Radio.model_validate(radio.model_dump())
    assert again == radio
    assert again.beside_preset == radio.beside_preset


def test_a_table_without_a_kind_is_of_the_presets_kind():
    """Also in a scenario, whose tables else have the kinds of the defaults."""
    radio = {
        "preset": {"kind": "lora"},
        "mac": {"max_duty_cycle": 0.1},
        "rate": {"coding_rate": 4},
        "path_loss": {"exponent": 2.5},
    }
    found = scenario.from_dict(KEYS | {"radio": radio}).radio
    assert (found.mac.kind, found.mac.max_duty_cycle) == ("aloha", 0.1)
    assert (found.rate.kind, found.rate.coding_rate, found.rate.spreading_factor) == ("lora", 4, 7)
    assert (found.path_loss.kind, found.path_loss.exponent) == ("log_distance", 2.5)
    assert found.beside_preset == ["mac.max_duty_cycle"]


KEYS = {
    "seed": 3,
    "horizon_s": 300.0,
    "nodes": {"count": 3, "placement": "disc", "radius_m": 50.0},
    "exchange": {"schedule": "periodic", "period_s": 100.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [2]},
    "algorithm": {"kind": "dpsgd"},
}


def test_a_run_says_what_is_not_the_presets():
    made = world.build(
        scenario.from_dict(KEYS | {"radio": {"preset": {"kind": "ble"}, "tx_power_dbm": 8.0}})
    )
    told = [text for text in remarks(made) if "preset" in text]
    assert told == [
        "[radio.preset] kind = \"ble\": tx_power_dbm is the scenario's own, not the preset's"
    ]


def test_a_wrong_preset_is_told_with_its_key():
    with pytest.raises(ScenarioError, match=r"\[radio.preset\] spreading_factor = 13"):
        scenario.from_dict(KEYS | {"radio": {"preset": {"kind": "lora", "spreading_factor": 13}}})
    with pytest.raises(ScenarioError, match="lora"):
        scenario.from_dict(KEYS | {"radio": {"preset": {"kind": "lorra"}}})


def test_lora_keeps_to_its_duty_cycle():
    """Three devices that always have something to send: 1 % of the time each, and no more."""
    radio = {"preset": {"kind": "lora"}, "fading": {"kind": "none"}}
    made = world.build(scenario.from_dict(KEYS | {"radio": radio}))
    summary = engine.play(made, made.scenario.algorithm[0], timing_only=True, check=True)
    assert summary["messages"]["sent"] > 0
    longest_s = Lora().airtime_s(8 * 235, 125e3)
    assert summary["messages"]["airtime_s"] <= 3 * (0.01 * 300.0 + longest_s)
    assert summary["messages"]["airtime_s"] > 0.5 * 3 * 0.01 * 300.0
