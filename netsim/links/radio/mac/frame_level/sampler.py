"""Send messages frame by frame, and report their outcomes to the link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

import numpy as np

from netsim.channels.mac.csma import Csma
from netsim.channels.sleep import Rhythm
from netsim.clock import LAST, Clock, add_callback
from netsim.devices.energy.meter import EnergyMeter
from netsim.links.link import (
    ASLEEP,
    COLLISION,
    DEADLINE,
    DELIVERED,
    OUTAGE,
    PARTIAL,
    RETRIES,
    Report,
)
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.frame_level.frame import DATA, DECODED, RTS, SPOILT, Frame, Timing
from netsim.links.radio.mac.frame_level.hearing import Hearing
from netsim.links.radio.mac.frame_level.receiver import Decoder, Receivers
from netsim.links.radio.mac.frame_level.station import Medium, Station
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.units import linear_to_db


class Tally:
    """A message at one receiver.

    Parameters
    ----------
    packets : int

    Attributes
    ----------
    arrived : ndarray of bool, shape (packets,)
        Which packets have arrived; the sender may not know it.
    attempts, asleep, spoilt : int
        Exchanges begun, by a data frame or its RTS, those of them at which the receiver slept, and
        those that failed by other frames.
    too_weak : int
        Those that failed without others.
    combined_snr : float
        Sum of the SINRs of the attempts at the packet in turn, linear; where they are combined.
    """

    def __init__(self, packets: int) -> None:
        self.arrived = np.zeros(packets, dtype=np.bool_)
        self.attempts = self.asleep = self.spoilt = self.too_weak = 0
        self.combined_snr = 0.0
        self._packet = 0
        self._unanswered = False  # an RTS has come, and no data have followed
        self._snr_sum = 0.0
        self._hopeful = False

    def count_exchange(self, packet: int, snr: float, hopeful: bool) -> None:
        """Count an exchange that begins.

        Parameters
        ----------
        packet : int
            Which it is about.
        snr : float
            At the receiver, linear, without interference.
        hopeful : bool
            Whether it could be decoded if no other frame came.
        """
        if packet != self._packet:
            self._packet, self.combined_snr = packet, 0.0
        self._count_unanswered_rts()
        self.attempts += 1
        self._snr_sum += snr
        self._hopeful = self._hopeful or hopeful

    def goes_on(self) -> None:
        """Note that data follow their RTS, whose answer has come."""
        self._unanswered = False

    def _count_unanswered_rts(self) -> None:
        """Count an RTS whose answer others prevented."""
        self.spoilt += self._unanswered
        self._unanswered = False

    def count_frame(self, frame: Frame, node: int, asleep: bool) -> None:
        """Count what became of a data frame, or of its RTS.

        Parameters
        ----------
        frame : Frame
        node : int
            The receiver.
        asleep : bool
            Whether it slept.
        """
        result = frame.results.get(node)
        self.combined_snr += frame.sinr.get(node, 0.0)
        if result == DECODED and frame.kind == RTS:
            self._unanswered = True
        elif result == DECODED:
            self.arrived[frame.packet] = True
        elif asleep:
            self.asleep += 1
        elif result == SPOILT:
            self.spoilt += 1
        else:
            self.too_weak += 1

    def report(
        self, flight: Flight, reception: Reception, settled: int, limit: int | None
    ) -> Report:
        """Report the outcome of the message.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            That at this receiver.
        settled : int
            Packets that its sender is done with.
        limit : int or None
            Attempts at one packet; None: any number.

        Returns
        -------
        Report
            Its SNR is the mean over exchanges, without interference.
        """
        self._count_unanswered_rts()
        tx, delivered, mask = reception.tx, int(self.arrived.sum()), None
        if reception.unreachable is not None:
            outcome = reception.unreachable
        elif delivered == flight.packets:
            outcome = DELIVERED
        elif delivered and tx.envelope.message.accepts_partial:
            outcome, mask = PARTIAL, self.arrived
        elif flight.expired:
            outcome = DEADLINE
        elif limit is not None and self.asleep >= limit:
            outcome = ASLEEP
        elif self.spoilt > self.too_weak:
            outcome = COLLISION
        else:
            outcome = RETRIES if self._hopeful else OUTAGE
        lost = settled - int(self.arrived[:settled].sum())
        snr_db = linear_to_db(self._snr_sum / self.attempts) if self.attempts else None
        return tx, outcome, self.attempts, lost, snr_db, mask


class FrameLevelSampler:
    """Sampler of CSMA/CA frame by frame: contention, interference and time on the air included.

    Parameters
    ----------
    radio : Radio
        With `mac.kind = "csma"`.
    budget : LinkBudget
    channel : RadioChannel
    env : Clock
    streams : Streams
    ended : callable
        Called with (flight, leg) when a flight is over.
    off : set of int
        Nodes that are switched off.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    recorder : Recorder
        Is told the time for which data frames are on the air.
    meter : EnergyMeter
        Is told of every frame: who sends it, and whose radios receive it.
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        channel: RadioChannel,
        env: Clock,
        streams: Streams,
        ended: Callable[[Flight, int], None],
        off: AbstractSet[int],
        rhythms: Sequence[Rhythm | None],
        distance_m: Callable[[int, int, int], float] | None,
        recorder: Recorder,
        meter: EnergyMeter,
    ) -> None:
        mac = radio.mac
        assert isinstance(mac, Csma)
        self._channel, self._env, self._ended = channel, env, ended
        self._off, self._rhythms = off, rhythms
        self._recorder, self._meter = recorder, meter
        self._limit = radio.arq.limit
        self._tallies: dict[Reception, Tally] = {}
        timing = Timing(radio, mac)
        hearing = Hearing(radio, budget, channel, distance_m)
        decoder = Decoder(channel, streams, mac.capture, radio.combines)
        nodes = len(budget.tx_power_w)
        ears = Receivers(nodes, decoder, hearing.least_snr, self._is_listening, self._earlier_snr)
        medium = Medium(hearing, timing, env, ears, self._frame_begins, self._frame_ended)
        self._stations = [
            Station(
                node,
                radio,
                mac,
                timing,
                channel,
                medium,
                ears,
                env,
                streams,
                self._is_listening,
                self._finish,
            )
            for node in range(nodes)
        ]
        medium.stations.extend(self._stations)

    # -- what the link asks ----------------------------------------------------------------------

    def begin(self, flight: Flight) -> None:
        """Let the sender's station send a message."""
        flight.transmit_share = 0.0  # its frames are accounted for one by one
        for reception in flight.receptions:
            if reception.predetermined is None:
                self._tallies[reception] = Tally(flight.packets)
        if flight.deadline_ns is not None:
            # Last of its instant: what arrives at that very moment has arrived.
            due = self._env.event_after(flight.deadline_ns - self._env.now, LAST)
            add_callback(due, partial(self._expire, flight, flight.leg))
        self._stations[flight.src].begin(flight)

    def change(self, flight: Flight, worse: bool) -> None:
        """Do nothing: stations notice themselves what others send."""

    def stop(self, flight: Flight) -> None:
        """Stop sending a message that is cut short."""
        station = self._stations[flight.src]
        if station.flight is flight:
            station.stop()

    def switch_off(self, node: int) -> None:
        """Stop what a radio sends and receives that is switched off."""
        self._stations[node].switch_off()

    def report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        """Report the outcome of a flight that ends now at one receiver.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            One of the flight's.
        cut : bool
            Whether the flight ends before its planned end; of no effect here.

        Returns
        -------
        Report
        """
        settled = self._stations[flight.src].packet
        return self._tallies.pop(reception).report(flight, reception, settled, self._limit)

    # -- what stations and medium ask and tell ---------------------------------------------------

    def _finish(self, flight: Flight) -> None:
        self._ended(flight, flight.leg)

    def _expire(self, flight: Flight, leg: int, _: object) -> None:
        if leg == flight.leg:
            self.stop(flight)
            flight.expired = True
            self._ended(flight, flight.leg)

    def _is_listening(self, node: int, frame: Frame) -> bool:
        """Return whether a node's radio is on and awake for a frame."""
        if node in self._off:
            return False
        if frame.src == node or not self._rhythms:
            return True
        reception = frame.reception_at(node)
        if reception is not None:
            return reception.wakes_ns <= frame.begins_ns
        now, rhythm = self._env.now, self._rhythms[node]
        return (
            rhythm is None or self._stations[node].flight is not None or rhythm.wakes_ns(now) == now
        )

    def _earlier_snr(self, frame: Frame, node: int) -> float:
        """Sum of the SINRs of the earlier attempts at the packet in a data frame."""
        reception = frame.reception_at(node)
        tally = None if reception is None else self._tallies.get(reception)
        return 0.0 if tally is None else tally.combined_snr

    def _frame_begins(self, frame: Frame) -> None:
        if frame.kind not in (DATA, RTS):
            return
        flight, data = frame.flight, frame.announces or frame
        for reception in flight.receptions:
            tally = self._tallies.get(reception)
            if tally is not None and frame.announced:
                tally.goes_on()
            elif tally is not None:
                snr = float(frame.heard.snr[reception.tx.dst])
                loss = self._channel.packet_error(snr, flight.packet_bits, data.rate_bps)
                tally.count_exchange(frame.packet, snr, hopeful=loss < 1.0)

    def _frame_ended(self, frame: Frame) -> None:
        length_ns = self._env.now - frame.begins_ns
        self._meter.on_air(frame.src, frame.listeners, frame.begins_ns, self._env.now, length_ns)
        if frame.kind not in (DATA, RTS):
            return
        if frame.kind == DATA:
            self._recorder.airtime_ns += length_ns
            frame.flight.airtime_ns += length_ns
        for reception in frame.flight.receptions:
            tally, node = self._tallies.get(reception), reception.tx.dst
            if tally is None:
                continue
            asleep = reception.wakes_ns > frame.begins_ns
            if frame.kind == DATA:
                reception.transmissions += length_ns / frame.duration_ns if frame.cut else 1.0
            if frame.noticed[node] and node not in frame.listeners and node not in self._off:
                frame.results[node] = SPOILT  # its receiver was sending, or busy with another
            tally.count_frame(frame, node, asleep)
