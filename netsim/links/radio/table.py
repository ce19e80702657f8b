"""The `[radio]` table of a scenario.

Power budget, path loss, shadowing, fading, rate, packet errors, retransmission and discovery.
`netsim.links.radio.link` plays it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import TypeAdapter, ValidationError, model_validator

from netsim.channels.bursts import Bursts
from netsim.channels.presets import Preset, merge_over_preset
from netsim.channels.rate import Rate
from netsim.errors import ScenarioError
from netsim.registry import (
    Bits,
    Count,
    Decibels,
    HeaderBytes,
    Index,
    Loss,
    Plausible,
    Positive,
    Span,
    Table,
    choice,
)
from netsim.units import BOLTZMANN_J_PER_K, NS_PER_S, db_to_linear, w_to_dbm


class Radio(Table):
    """One half-duplex radio for each node; `mac` decides which of them may send at a time.

    SNR is received power over the noise power k T0 B NF, a linear ratio, instantaneous unless it
    is called mean.

    Attributes
    ----------
    preset
        Radio standard by name: it sets every key of this table that the scenario does not set.
    carrier_hz
        Carrier frequency: path loss and Doppler shift follow from it.
    bandwidth_hz
        Bandwidth B of a message: noise power and adaptive rates are proportional to it.
    tx_power_dbm
        Transmit power of each node.
    noise_figure_db
        NF, the noise of a receiver over that of an ideal one.
    noise_temperature_k
        T0 of the noise power k T0 B NF; 290 K is the standard temperature. Source: Friis, Proc. IRE
        1944.
    mean_snr_db
        Mean SNR of every pair with `placement = "iid_links"`; where nodes have positions, the path
        loss gives it.
    threshold_db
        Least SNR at which a node is reachable, and at which `packet_error = "outage"` decodes.
    sensitivity_dbm
        Received power, with fading and without interference, below which a radio neither receives
        a signal nor senses a carrier. Absent: it notices every signal.
    reachable
        Mean number of other nodes that a node reaches: netsim sets the threshold or the transmit
        power accordingly. Absent: `threshold_db` and `tx_power_dbm` hold as they are.
    calibrate
        Key that `reachable` sets: `threshold_db` ("threshold") or `tx_power_dbm` ("power").
    packet_payload_bytes
        Greatest payload of a packet; the link cuts messages into packets. 1448 is what IPv4 and
        TCP with timestamps leave of 1500.
    packet_header_bytes
        Header of each packet, sent in addition to its payload.
    attempt_overhead_s
        Time that each attempt at a packet takes in addition to its bits: preamble, gaps, a mean
        backoff, its acknowledgement.
    control_bits
        Size of a message without values, such as a request or a probe.
    ttl_s
        Longest time from sending to arrival: a message that takes longer expires (outcome
        `deadline`). Absent: no message expires.
    queue_limit
        Most messages that wait at a sender; one more is refused (`busy`). Absent: no limit.
    propagation_delay
        Whether propagation over a distance d takes d / c; otherwise it takes no time.
    fidelity
        Level of detail: netsim samples each message as a whole ("message"), or plays every attempt
        as an event ("packet": slow, with the same distribution), with `mac.kind = "csma"` also
        every frame and backoff. "auto": "packet" with `mac.kind = "csma"` and up to 100 nodes if
        some senders are hidden from each other at a receiver that both reach, notice each other
        later than within a slot, or send packets that last about as long as a fade; otherwise
        "message".
    discovery
        Way in which a node learns which nodes are reachable: without cost ("oracle"), or by a
        broadcast of `control_bits` that others answer ("probe").
    probe_window_s
        Time for which a node that probes waits for answers.
    path_loss
        Mean loss of power over a distance.
    shadowing
        Change of a pair's path loss by obstacles.
    power
        Transmit power of each message, at most `tx_power_dbm`; reachability is judged at
        `tx_power_dbm`.
    fading
        Variation of the received power around its mean over time.
    rate
        Bit rate of a message.
    packet_error
        Probability that an attempt at a packet is lost at an SNR.
    arq
        Reaction of a sender to lost packets.
    broadcast
        Reaction of a sender to receivers that lack packets of a broadcast.
    mac
        Medium access: nodes that may send at a time, and their effect on each other.
    routing
        Relaying of unicasts to nodes out of reach, and choice of the route.
    sleep
        Sleep of radios; messages to a radio that sleeps are lost.
    bursts
        Losses in bursts, whatever the SNR. Absent: there are none.
    """

    preset: choice("netsim.channels.presets") = {"kind": "none"}  # type: ignore[valid-type]
    carrier_hz: Annotated[Positive, Plausible(1e6, 1e13, "radio is from MHz to THz")] = 2.4e9
    bandwidth_hz: Annotated[Positive, Plausible(1e3, 1e11, "channels are from kHz to GHz")] = 20e6
    tx_power_dbm: Annotated[Decibels, Plausible(-60.0, 60.0, "60 dBm is a kilowatt")] = 20.0
    noise_figure_db: Annotated[Loss, Plausible(most=30.0, why="it is 15 dB at most")] = 7.0
    noise_temperature_k: Positive = 290.0
    mean_snr_db: Annotated[Decibels, Plausible(-50.0, 100.0, "receivers see up to 60 dB")] = 20.0
    threshold_db: Decibels = 5.0
    sensitivity_dbm: Decibels | None = None
    reachable: Positive | None = None
    calibrate: Literal["threshold", "power"] = "threshold"
    packet_payload_bytes: Count = 1448
    packet_header_bytes: HeaderBytes = 0
    attempt_overhead_s: Span = 0.0
    control_bits: Annotated[Bits, Plausible(least=8, why="less than a byte")] = 256
    ttl_s: Positive | None = None
    queue_limit: Index | None = None
    propagation_delay: bool = False
    fidelity: Literal["auto", "message", "packet"] = "auto"
    discovery: Literal["oracle", "probe"] = "oracle"
    probe_window_s: Positive = 0.05
    path_loss: choice("netsim.channels.path_loss") = {"kind": "log_distance"}  # type: ignore[valid-type]
    shadowing: choice("netsim.channels.shadowing") = {"kind": "none"}  # type: ignore[valid-type]
    power: choice("netsim.channels.power") = {"kind": "fixed"}  # type: ignore[valid-type]
    fading: choice("netsim.channels.fading") = {"kind": "rayleigh"}  # type: ignore[valid-type]
    rate: choice("netsim.channels.rate") = {"kind": "fixed", "rate_bps": 20e6}  # type: ignore[valid-type]
    packet_error: choice("netsim.channels.packet_error") = {"kind": "outage"}  # type: ignore[valid-type]
    arq: choice("netsim.channels.arq") = {"kind": "abort"}  # type: ignore[valid-type]
    broadcast: choice("netsim.channels.broadcast") = {"kind": "once"}  # type: ignore[valid-type]
    mac: choice("netsim.channels.mac") = {"kind": "orthogonal"}  # type: ignore[valid-type]
    routing: choice("netsim.channels.routing") = {"kind": "none"}  # type: ignore[valid-type]
    sleep: choice("netsim.channels.sleep") = {"kind": "none"}  # type: ignore[valid-type]
    bursts: Bursts | None = None

    @model_validator(mode="before")
    @classmethod
    def _a_preset_lies_below(cls, given: Any) -> Any:
        return merge_over_preset(given, cls.laid_below(given)) if isinstance(given, dict) else given

    @classmethod
    def laid_below(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keys of the preset that is named."""
        if not given.get("preset"):
            return {}
        kinds: Any = cls.model_fields["preset"].annotation
        try:
            preset: Preset = TypeAdapter(kinds).validate_python(given["preset"])
        except ValidationError:
            return {}  # what is wrong with it is told with the other keys
        return preset.radio()

    @property
    def beside_preset(self) -> list[str]:
        """Keys that differ from the preset's, in its order."""
        return _changed_keys(self.model_dump(), self.preset.radio())

    @model_validator(mode="after")
    def _endless_patience_needs_an_end(self) -> Self:
        if self.arq.kind == "unlimited" and self.ttl_s is None:
            raise ValueError('arq "unlimited" needs ttl_s: a link in outage would never give up')
        return self

    @model_validator(mode="after")
    def _combined_attempts_have_one_rule(self) -> Self:
        if self.arq.combines and self.packet_error.per_rate and self.rate.kind != "fixed":
            raise ValueError(
                f'arq "{self.arq.kind}" adds up the SNRs of attempts at one rate: it needs '
                'rate.kind = "fixed" with this packet_error'
            )
        return self

    @model_validator(mode="after")
    def _a_modulation_is_known(self) -> Self:
        error = self.packet_error
        known = self.rate.kind == "ofdm_80211" or self.rate.adapts
        if error.kind == "ofdm_80211" and error.mbps is None and not known:
            raise ValueError(
                'packet_error "ofdm_80211" needs mbps, the rate whose modulation and code packets '
                'have, or rate.kind = "ofdm_80211"'
            )
        return self

    @model_validator(mode="after")
    def _shadowing_has_a_size(self) -> Self:
        if (
            self.shadowing.drawn
            and self.shadowing.sigma_db is None
            and self.path_loss.own_shadowing is None
        ):
            raise ValueError(
                f'shadowing "{self.shadowing.kind}" needs sigma_db: path_loss '
                f'"{self.path_loss.kind}" states none of its own'
            )
        return self

    @model_validator(mode="after")
    def _late_news_of_a_channel_that_changes(self) -> Self:
        if self.rate.choice_delay_s > 0 and self.fading.hold == "exchange":
            raise ValueError(
                'rate.csi_delay_s is read only with fading.hold = "coherence": a gain that is '
                "held for an exchange is known for as long"
            )
        return self

    @model_validator(mode="after")
    def _resource_blocks_have_no_interference(self) -> Self:
        if self.fading.kind != "frequency_selective":
            return self
        if self.mac.interferes or self.mac.reserves:
            raise ValueError(
                f'mac "{self.mac.kind}" adds the power of other senders over the whole band: it '
                'does not go with fading.kind = "frequency_selective"; set "orthogonal" or "tdma"'
            )
        if self.mac.kind == "ofdma" and self.mac.subchannels > self.fading.resource_blocks:
            raise ValueError(
                f"mac.subchannels = {self.mac.subchannels}: a sub-channel is one resource block or "
                f"several, and fading.resource_blocks = {self.fading.resource_blocks}"
            )
        if self.reachable is not None:
            raise ValueError(
                'reachable: there is no formula for fading.kind = "frequency_selective"; set '
                "threshold_db or tx_power_dbm"
            )
        return self

    @model_validator(mode="after")
    def _carriers_are_sensed_at_full_power(self) -> Self:
        if self.power.controlled and self.mac.senses:
            raise ValueError(
                f'power "{self.power.kind}": who hears whom under mac "{self.mac.kind}" is worked '
                'out at full power; set power.kind = "fixed" or another mac'
            )
        return self

    @model_validator(mode="after")
    def _acknowledgements_tell_of_rates(self) -> Self:
        if not self.rate.adapts:
            return self
        reason = f'rate "{self.rate.kind}" follows acknowledgements'
        if not self.arq.acknowledged or self.arq.combines:
            raise ValueError(
                f'{reason} of single attempts: it does not go with arq "{self.arq.kind}"; set '
                '"abort", "hole" or "unlimited"'
            )
        if not self.packet_error.per_rate or getattr(self.packet_error, "mbps", None) is not None:
            raise ValueError(
                f"{reason}: packet errors must depend on the rate; set packet_error.kind = "
                '"ofdm_80211"'
            )
        if self.mac.has_base_stations or self.plays_frames:
            raise ValueError(
                f"{reason} of messages that a sender sends one after the other: it does not go "
                'with mac.kind = "ofdma" or with frames (fidelity = "packet" of mac "csma")'
            )
        return self

    @model_validator(mode="after")
    def _rounds_are_no_frames(self) -> Self:
        if self.plays_frames and self.broadcast.rounds > 1:
            raise ValueError(
                f'broadcast "{self.broadcast.kind}" is not played frame by frame: set fidelity = '
                '"message"'
            )
        return self

    @model_validator(mode="after")
    def _bursts_are_no_frames(self) -> Self:
        if self.bursts is not None and self.plays_frames:
            raise ValueError('bursts are not played frame by frame: set fidelity = "message"')
        return self

    @model_validator(mode="after")
    def _cells_have_no_relays(self) -> Self:
        if self.routing.relays and self.mac.has_base_stations:
            raise ValueError(
                f'routing "{self.routing.kind}": every message of mac "{self.mac.kind}" goes to a '
                'base station or comes from one; set routing.kind = "none" or another mac'
            )
        return self

    def unread_keys(self) -> Mapping[str, str]:
        found = {}
        if self.reachable is None:
            found["calibrate"] = "it says what reachable sets, which is absent"
        elif self.calibrate == "threshold":
            found["threshold_db"] = "reachable sets it"
        if self.discovery != "probe":
            found["probe_window_s"] = 'it is read with discovery = "probe"'
        return found

    @property
    def noise_dbm(self) -> float:
        """Thermal noise over the bandwidth, noise figure included."""
        thermal_w = BOLTZMANN_J_PER_K * self.noise_temperature_k * self.bandwidth_hz
        return w_to_dbm(thermal_w) + self.noise_figure_db

    @property
    def combines(self) -> bool:
        """Return whether receivers add up the SNRs of the attempts at a packet."""
        return bool(self.arq.combines and self.packet_error.by_snr)

    @property
    def plays_frames(self) -> bool:
        """Return whether messages are played frame by frame, contention included."""
        return self.fidelity == "packet" and self.mac.kind == "csma"

    @property
    def sensitivity(self) -> float:
        """SNR, linear, below which a signal is not noticed; 0: every signal is."""
        if self.sensitivity_dbm is None:
            return 0.0
        return db_to_linear(self.sensitivity_dbm - self.noise_dbm)

    def packets(self, bits: int) -> tuple[int, int]:
        """Return the number of packets of a message, and the size of each in bits: all are alike.

        A last packet that is shorter would make a message of many packets as long.
        """
        packets = -(-bits // (8 * self.packet_payload_bytes))
        return packets, -(-bits // packets) + 8 * self.packet_header_bytes

    def overhead_ns(self, packet_bits: int) -> float:
        """Time of an attempt in addition to its bits [ns]; `packet_bits` includes the header."""
        if type(self.rate).overhead_s is Rate.overhead_s:  # of every packet the same
            return self.attempt_overhead_s * NS_PER_S
        own_s: float = self.rate.overhead_s(packet_bits, self.bandwidth_hz)
        return self.attempt_overhead_s * NS_PER_S + own_s * NS_PER_S

    def do_without_places(self) -> None:
        """Raise ScenarioError for keys that have no meaning if nodes have no positions."""
        remedy = 'needs to know where nodes are: [nodes] placement = "disc", "square" or "given"'
        if self.propagation_delay:
            raise ScenarioError(f"[radio] propagation_delay = true: {remedy}")
        if self.shadowing.shared:
            raise ScenarioError(f'[radio.shadowing] kind = "{self.shadowing.kind}": {remedy}')
        if self.mac.range_m is not None:
            own = f"{self.mac.range_key} = {self.mac.range_m:g}"
            raise ScenarioError(f"[radio.mac] {own}: {remedy}")


def _changed_keys(found: Mapping[str, Any], preset: Mapping[str, Any]) -> list[str]:
    """Dotted keys whose values are not the preset's."""
    keys = []
    for key, value in preset.items():
        mine = found.get(key)
        if (
            isinstance(value, dict)
            and isinstance(mine, dict)
            and "kind" not in (of for of in value if mine.get(of) != value[of])
        ):
            keys += [f"{key}.{inner}" for inner in _changed_keys(mine, value)]
        elif mine != value:
            keys.append(key)
    return keys
