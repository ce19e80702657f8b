"""A run for ns-3: `benchmarks/ns3/run.py replay` plays it there, frame by frame or by TCP.

The folder has, in words and numbers separated by blanks (lines with # are comments):

    replay.json    program (adhoc or star), its arguments, name and seed of the run, and `differs`:
                   what ns-3 plays otherwise than the run did, in sentences
    messages.txt   t_s src dst bytes t_done_s outcome: a message a line, as the run ended it
    nodes.txt      adhoc: node tx_power_dbm; star: node uplink_bps downlink_bps
    places.txt     adhoc: node t_s x_m y_m: where nodes stand, or turn
    gains.txt      adhoc, where the path loss is not log-distance alone: t_s src dst gain_db, from
                   that time on

`adhoc` is IEEE 802.11a, raw frames of one rate; `star` is TCP over access links. A broadcast is
logged, and replayed, as a message to each of its receivers. What had not ended at the run's horizon
is not in its log, and so not replayed: let a run last until all is through.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from netsim.channels.fading import Fading
from netsim.channels.mac.csma import Csma
from netsim.channels.packet_error.ofdm_80211 import Ofdm80211PacketError
from netsim.channels.path_loss.log_distance import LogDistance
from netsim.errors import ScenarioError
from netsim.export.formats import Layout, sampled_gains, seconds
from netsim.export.replays import Run
from netsim.links.radio.table import Radio
from netsim.links.wired.wire import Wire
from netsim.recording.summary import write_json

RATES_MBPS = (6, 9, 12, 18, 24, 36, 48, 54)
"""Of IEEE 802.11a."""
SEGMENT_BYTES, TCP_HEADER_BYTES = 1448, 54
"""Payload of a packet of `star`, and what TCP, IP and PPP add to it."""
BASIC_HEADER_BYTES = 36
"""Bytes that ns-3 adds to a raw frame: MAC 24, FCS 4, LLC and SNAP 8."""
NOTICES_ALL_DBM = -1000.0
"""Sensitivity that stands for none."""
_GAPS = ("slot_s", "sifs_s", "difs_s", "ack_s", "eifs_s")
"""Times of `mac.csma` whose defaults are those of IEEE 802.11a."""
_ARQ = {
    "abort": "after a packet that is given up the rest of its message is sent, too",
    "harq_chase": "receivers do not combine the attempts at a packet",
    "none": "packets are acknowledged",
}
"""The conduct of ns-3 where a run repeated by another rule than `hole` and `unlimited`."""
_ANY_NUMBER = 1_000_000
_UNLIMITED_BPS = 1e11


def write(run: Run, folder: Path) -> list[str]:
    """Fill a new folder.

    Returns
    -------
    list of str
        What ns-3 plays otherwise than the run did, as `replay.json` has it.

    Raises
    ------
    ScenarioError
        If ns-3's programs here can't play the run.
    """
    scenario, layout = run.scenario, run.layout
    if scenario.radio is not None and scenario.link is not None:
        raise ScenarioError(f"{layout.name}: ns-3 replays a [radio] or a [link], not both at once")
    layout.require_lasting_links()
    messages = run.messages()
    if scenario.radio is not None:
        program = "adhoc"
        arguments, files, differs = _adhoc(scenario.radio, run)
    elif scenario.link is not None:
        program = "star"
        arguments, files, differs = _star(scenario.link, run)
    else:
        raise ScenarioError(f"{layout.name}: has neither [radio] nor [link], and sends nothing")
    if messages.left_out:
        differs.append(f"{messages.left_out} messages of which nothing went out are left out")
    if messages.broadcast:
        differs.append("each receiver of a broadcast is sent a message of its own")
    churning = [scenario.churn, *scenario.nodes.of_groups("churn")]
    if kinds := _kinds(churning):
        differs.append(f"nodes are always on; the run had churn {kinds}")
    if scenario.energy.battery_j or any(scenario.nodes.of_groups("battery_j")):
        differs.append("batteries are never empty")
    folder.mkdir(parents=True)
    columns = zip(
        messages.t_sent_s.tolist(), messages.src.tolist(), messages.dst.tolist(),
        messages.bytes.tolist(), messages.t_done_s.tolist(), messages.outcome.tolist(),
        strict=True,
    )  # fmt: skip
    files["messages.txt"] = ["# t_s src dst bytes t_done_s outcome"] + [
        f"{t!r} {src} {dst} {size} {done!r} {outcome}"
        for t, src, dst, size, done, outcome in columns
    ]
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = {
        "name": layout.name,
        "seed": scenario.seed,
        "program": program,
        "arguments": arguments | {"stop": scenario.horizon_s},
        "differs": differs,
    }
    write_json(folder / "replay.json", found)
    return differs


def _adhoc(radio: Radio, run: Run) -> tuple[dict[str, Any], dict[str, list[str]], list[str]]:
    """Arguments, files by name and differences of an ad hoc network."""
    layout, differs = run.layout, list[str]()
    mbps = _mbps(radio, layout.name)
    by_distance = (
        isinstance(radio.path_loss, LogDistance)
        and not radio.shadowing.drawn
        and layout.positions_m is not None
        and not layout.heights_m
    )
    arguments: dict[str, Any] = {
        "mode": f"OfdmRate{mbps}Mbps",
        "payload": radio.packet_payload_bytes,
        "header": max(radio.packet_header_bytes, BASIC_HEADER_BYTES),
        "noiseFigureDb": radio.noise_figure_db,
        "sensitivityDbm": _sensitivity_dbm(radio, layout, differs),
        "retries": _ANY_NUMBER if radio.arq.limit is None else radio.arq.limit,
        "m": _nakagami_m(radio.fading, layout.name),
        "gains": int(not by_distance),
    }
    if isinstance(radio.path_loss, LogDistance) and by_distance:
        arguments["exponent"] = radio.path_loss.exponent
        arguments["referenceDb"] = float(radio.path_loss.loss_db(1.0, radio.carrier_hz))
    if isinstance(radio.mac, Csma) and radio.mac.rts_threshold_bits is not None:
        arguments["rtsBytes"] = radio.mac.rts_threshold_bits // 8
    files = {
        "nodes.txt": ["# node tx_power_dbm"]
        + [f"{node} {dbm!r}" for node, dbm in enumerate(layout.tx_power_dbm)],
        "places.txt": ["# node t_s x_m y_m", *_places(layout)],
    }
    if not by_distance:
        t_s, gain_db = sampled_gains(layout)
        files["gains.txt"] = ["# t_s src dst gain_db"] + [
            f"{float(t_s[k])!r} {src} {dst} {float(gain_db[k, src, dst])!r}"
            for k, src, dst in np.argwhere(np.isfinite(gain_db)).tolist()
        ]
    _compare_radio(radio, mbps, differs)
    if _kinds([radio.sleep, *run.scenario.nodes.of_groups("sleep")]):
        differs.append("radios never sleep")
    return arguments, files, differs


def _kinds(components: Iterable[Any]) -> str:
    """Kinds of some components, in words; empty: all are "none", or None."""
    stated = (one.model_dump()["kind"] for one in components if one is not None)
    return ", ".join(kind for kind in dict.fromkeys(stated) if kind != "none")


def _places(layout: Layout) -> list[str]:
    if layout.positions_m is None:  # gains say all; ns-3 wants a place nevertheless
        return [f"{node} 0 0 0" for node in range(layout.nodes)]
    return [
        f"{node} {seconds(t)} {x!r} {y!r}"
        for node, knots in enumerate(layout.knots())
        for t, x, y in knots
    ]


def _mbps(radio: Radio, name: str) -> int:
    rate = radio.rate.model_dump()
    mbps = rate.get("rate_bps", 0.0) / 1e6
    if rate["kind"] != "fixed" or mbps not in RATES_MBPS or radio.bandwidth_hz != 20e6:
        raise ScenarioError(
            f"{name}: ns-3 replays IEEE 802.11a: [radio] bandwidth_hz = 20e6 and "
            f'[radio.rate] kind = "fixed" of {", ".join(map(str, RATES_MBPS))} Mb/s'
        )
    return int(mbps)


def _nakagami_m(fading: Fading, name: str) -> float:
    """The parameter of ns-3's fading; 0: none."""
    stated = fading.model_dump()
    kinds = {"none": 0.0, "rayleigh": 1.0, "nakagami": stated.get("shape", 0.0)}
    if stated["kind"] not in kinds:
        raise ScenarioError(
            f'{name}: [radio.fading] kind = "{stated["kind"]}": ns-3 replays none, rayleigh and '
            "nakagami"
        )
    return float(kinds[stated["kind"]])


def _sensitivity_dbm(radio: Radio, layout: Layout, differs: list[str]) -> float:
    """Power from which ns-3 notices a frame, to receive it or to wait for its end."""
    range_m = radio.mac.range_m
    if radio.sensitivity_dbm is not None:
        if range_m is not None:
            differs.append(
                f"a carrier is sensed from {radio.sensitivity_dbm:g} dBm on, not within "
                f"carrier_sense_m = {range_m:g}"
            )
        return radio.sensitivity_dbm
    if range_m is None:
        return NOTICES_ALL_DBM
    loss_db = float(radio.path_loss.loss_db(range_m, radio.carrier_hz))
    differs.append(
        f"nothing weaker than the mean power at carrier_sense_m = {range_m:g} is received, either"
    )
    return max(layout.tx_power_dbm) - loss_db


def _compare_radio(radio: Radio, mbps: int, differs: list[str]) -> None:
    """Add what ns-3 plays otherwise."""
    mac = radio.mac.model_dump()
    if not isinstance(radio.mac, Csma):
        differs.append(f"the DCF of 802.11 takes the place of mac {mac['kind']}")
    else:
        if not radio.mac.capture:
            differs.append("a frame that overlaps others may be received (capture)")
        other = [key for key in _GAPS if getattr(radio.mac, key) != getattr(Csma(), key)]
        if other:
            differs.append(f"{', '.join(other)} are those of 802.11a")
        if (radio.mac.cw_min, radio.mac.stages) != (16, 6):
            differs.append("contention windows are those of 802.11a: 16 to 1,024 slots")
    if radio.power.controlled:
        differs.append("every frame is sent with full power")
    arq = radio.arq.model_dump()["kind"]
    if arq not in ("hole", "unlimited"):
        differs.append(_ARQ.get(arq, f"frames are repeated as 802.11 has it, not by arq {arq}"))
    if (kind := radio.routing.model_dump()["kind"]) != "none":
        differs.append(f"messages go to their receivers directly; the run had routing {kind}")
    if radio.broadcast.rounds > 1:
        differs.append("a broadcast is sent once")
    if radio.packet_header_bytes < BASIC_HEADER_BYTES:
        differs.append(
            f"headers are of {BASIC_HEADER_BYTES} bytes, not of {radio.packet_header_bytes}"
        )
    frame_bits = 8 * (radio.packet_payload_bytes + radio.packet_header_bytes)
    # preamble and SIGNAL, 22 bits of service and tail, all in symbols of 4 us (802.11, 17.4.3)
    airtime_s = 20e-6 + 4e-6 * math.ceil((frame_bits + 22) / (4 * mbps))
    if abs(airtime_s - frame_bits / (1e6 * mbps) - radio.attempt_overhead_s) > 4e-6:
        differs.append(
            f"a frame takes {airtime_s:.6g} s; the run's took "
            f"{frame_bits / (1e6 * mbps) + radio.attempt_overhead_s:.6g} s"
        )
    if radio.fading.model_dump()["kind"] != "none":
        differs.append("fading is drawn anew for every frame and receiver")
    if radio.noise_temperature_k != 290.0:
        differs.append("noise is that of 290 K")
    if radio.ttl_s is not None:
        differs.append(f"no message is given up after ttl_s = {radio.ttl_s:g}")
    if radio.bursts is not None:
        differs.append("there are no bursts of losses")
    if not isinstance(radio.packet_error, Ofdm80211PacketError):
        kind = radio.packet_error.model_dump()["kind"]
        differs.append(f"packet errors are those of ns3::NistErrorRateModel, not {kind}")


def _star(wire: Wire, run: Run) -> tuple[dict[str, Any], dict[str, list[str]], list[str]]:
    """Arguments, files by name and differences of access links around a hub."""
    name, nodes = run.layout.name, run.scenario.nodes
    for key in ("rate_bps", "trace", "backbone", "latency_matrix"):
        if getattr(wire, key) is not None:
            raise ScenarioError(f"{name}: [link] {key}: ns-3 replays access links around a hub")
    access = [
        [_UNLIMITED_BPS if bps is None else bps for bps in pair]
        for pair in zip(
            (own or wire.uplink_bps for own in nodes.of_groups("uplink_bps")),
            (own or wire.downlink_bps for own in nodes.of_groups("downlink_bps")),
            strict=True,
        )
    ]
    differs = ["messages are TCP Cubic connections, each with a handshake of its own"]
    if wire.slow_start is None:
        differs.append("connections start slowly, which [link] slow_start plays")
    if any(bps % 1 for pair in access for bps in pair):
        differs.append("rates are rounded to whole bit/s, at least 1")
    if wire.sharing != "max_min":
        differs.append("messages share links; the run sent them one after the other")
    if (wire.packet_payload_bytes, wire.packet_header_bytes) != (SEGMENT_BYTES, TCP_HEADER_BYTES):
        differs.append(
            f"packets have {SEGMENT_BYTES} bytes of payload and {TCP_HEADER_BYTES} of headers, not "
            "[link] packet_payload_bytes and packet_header_bytes"
        )
    if wire.forwarding != "pipelined":
        differs.append("links pass messages on packet by packet, not as a whole")
    if wire.loss or wire.bursts is not None:
        differs.append("packets are lost where queues overflow, and nowhere else")
    if wire.jitter_s:
        differs.append("there is no jitter")
    if wire.ttl_s is not None:
        differs.append(f"no message is given up after ttl_s = {wire.ttl_s:g}")
    files = {
        "nodes.txt": ["# node uplink_bps downlink_bps"]
        + [
            f"{node} {max(1, round(up))} {max(1, round(down))}"
            for node, (up, down) in enumerate(access)
        ]
    }
    arguments: dict[str, Any] = {"latency": wire.latency_s}
    if wire.slow_start is not None:
        arguments["window"] = wire.slow_start.initial_window_segments
    return arguments, files, differs
