"""Flights sampled as a whole: a draw for each block of constant channel, one event at the end.

A block ends where the gain of the link, or of an interferer's link to the receiver, may change; an
attempt belongs to the block in which it begins. When other flights come or go, conditions change.
What was sampled up to that moment stands, exactly as if every attempt had been drawn in turn
(`Sending.rewind`), and the rest is sampled anew. Which conditions the attempt under way meets:

- Interference grows: the new ones, with the gains of the block in which it began. Interference
  falls: the old ones, unless it grows beyond them again while that attempt lasts
  (`current_attempt`). So each attempt meets the worst of its time. Two exceptions: where attempts
  are combined, what follows a fall has no effect on the attempt under way unless it is the last;
  and after a fall that attempt counts as made, should the time to live end first.
- Where rates follow the SNR, an attempt keeps the rate at which it began (`current_attempt`), and
  is lost if interference leaves too little for it; the next one has a rate that suits.
- More or fewer senders contend, so that attempts take another time: the part of the attempt that
  has been sent stays sent, the rest takes the new time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import numpy as np

from netsim.channels.arq import Sending
from netsim.channels.arq.none import NoArq
from netsim.channels.block import ChannelBlock
from netsim.clock import Clock
from netsim.links.link import Report
from netsim.links.radio.mac.current_attempt import (
    AttemptPosition,
    has_made_its_last_attempt,
    position_at,
    worsen_current_attempt,
)
from netsim.links.radio.mac.flight import (
    Flight,
    Reception,
    Stretch,
    Transmits,
    interferers_at,
)
from netsim.links.radio.mac.rate_adaptation import RateAdaptation
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.rng import Streams

MAX_HOPELESS_BLOCKS = 100_000
"""A message is given up after so many channel blocks in a row in which nothing gets through."""

AHEAD = 256
"""A unicast is sampled so many channel blocks ahead; the next ones follow when these are over."""

HOPELESS_PER = 1.0 - 1e-9
"""In a block with a higher packet error rate than this, nothing is expected to get through."""

ROUNDING = 1e-9
"""Difference of probabilities that are the same but for the order in which they were summed up."""

UNREPEATED = NoArq()
"""The packets of a broadcast are sent once."""


@dataclass
class _Sampling:
    """A leg of a unicast of which more is to be sampled.

    Attributes
    ----------
    blocks : iterator of ChannelBlock
        Those to come.
    left_ns : int or None
        Of its time to live where it began, in spread time; None: it has none.
    passed_ns : int
        Time of the blocks so far.
    hopeless : int
        How many blocks in a row let nothing through.
    transmit_share : float or None
        Of the first block in which something can be sent; None: there has been none.
    """

    blocks: Iterator[ChannelBlock]
    left_ns: int | None
    passed_ns: int = 0
    hopeless: int = 0
    transmit_share: float | None = None


class MessageLevelSampler:
    """Samples a flight to its end and plans one event there.

    A unicast that meets more than `AHEAD` channel blocks is sampled in as many parts, each when the
    one before is over: others may come meanwhile, and a part takes no longer to compute than the
    next one. Its draws are those of one part.

    Parameters
    ----------
    radio : Radio
    channel : RadioChannel
    env : Clock
    streams : Streams
    ended : callable
        Called with (flight, leg) at the planned end of each leg that was sampled; a leg other than
        the flight's has been replaced.
    goes_on : callable
        Called with a flight of which a further part has been sampled.
    transmits : callable
        See `EnergyAccounting.set_transmit_share`.
    adaptation : RateAdaptation or None
        Rates of unicasts, where they follow acknowledgements.
    """

    def __init__(
        self,
        radio: Radio,
        channel: RadioChannel,
        env: Clock,
        streams: Streams,
        ended: Callable[[Flight, int], None],
        goes_on: Callable[[Flight], None],
        transmits: Transmits,
        adaptation: RateAdaptation | None = None,
    ) -> None:
        self._adaptation, self._goes_on, self._transmits = adaptation, goes_on, transmits
        self._sampling: dict[Flight, _Sampling] = {}
        self._radio, self._channel, self._limit = radio, channel, radio.arq.limit
        self._follows = radio.mac.interferes and channel.constant
        self._senses = radio.mac.senses
        self._worsens_current = not (radio.mac.contends or radio.combines)
        by_snr = radio.rate.kind != "fixed" and not radio.rate.adapts
        self._rates_follow = self._worsens_current and by_snr
        self._env, self._streams, self._ended = env, streams, ended

    def begin(self, flight: Flight) -> None:
        """Sample a leg, from `flight.leg_begins_ns` on, and plan its end."""
        flight.sampled_medium = flight.medium
        flight.met_worse = False
        self._sampling.pop(flight, None)
        now = self._env.now
        if flight.leg == 0 and flight.at_once_ends_ns:
            flight.set_first_attempt()
        elif flight.leg == 0 and flight.waits_to_ns:
            flight.leg_begins_ns = flight.waits_to_ns
        for reception in flight.receptions:
            reception.sampled_medium = reception.medium
            if self._follows:
                reception.note_sampling(now)
        if flight.rate_bps is not None:
            self._plan(flight, self._sample_broadcast(flight, flight.rate_bps))
        else:
            self._sample_unicast(flight, flight.receptions[0])

    def _plan(self, flight: Flight, duration_ns: int) -> None:
        """Plan what follows a leg, or the part of it that has been sampled."""
        now = self._env.now
        ends_ns = flight.leg_begins_ns + duration_ns
        if flight.turns is not None:
            ends_ns = flight.true_ns(duration_ns)
        if flight.deadline_ns is not None and (flight.expired or ends_ns > flight.deadline_ns):
            flight.expired = True
            ends_ns = flight.deadline_ns
        flight.ends_ns = ends_ns if ends_ns > now else now
        follows = self._sample_on if flight in self._sampling else self._ended
        self._env.call_after(flight.ends_ns - now, follows, flight, flight.leg)

    def _sample_on(self, flight: Flight, leg: int) -> None:
        """Sample the next part of a leg, unless another one has taken its place."""
        if leg == flight.leg:
            sampling = self._sampling.pop(flight)
            self._plan(flight, self._sample_part(flight, flight.receptions[0], sampling))
            self._goes_on(flight)

    def change(self, flight: Flight, worse: bool) -> None:
        """Resample from now on; if `worse`, the current attempt is affected, too."""
        now = self._env.now
        over = now >= flight.ends_ns and flight not in self._sampling
        if over or (worse and flight.met_worse and self._met_worse(flight)):
            return
        passed_ns = flight.passed_ns(now)
        if passed_ns > 0:
            position = position_at(flight, now)
            holds = position.fraction > 0.0 and (not worse or self._keeps_its_rate(flight))
            if holds:
                position = position._replace(
                    done=position.done + 1, fraction=position.fraction - 1.0
                )
            if not (worse and holds) and has_made_its_last_attempt(flight, position):
                flight.met_worse = True
                return
            for reception in flight.receptions:
                first = reception.first_loss
                if first and first[1] == flight.leg and position.block == position.done == 0:
                    reception.first_loss = first[0], flight.leg + 1  # its attempt is under way
                self._keep_up_to(flight, reception, position, holds)
            flight.packets_left -= position.done
            old, new = flight.sampled_medium, flight.medium
            alone_ns = (position.attempt_ns - old.wait_ns) / old.slowdown
            attempt_ns = alone_ns * new.slowdown + new.wait_ns
            if holds and self._senses:  # as if it had got through, its fate and its end stand
                attempt_ns = position.attempt_ns
            if now < flight.at_once_ends_ns:
                flight.set_first_attempt(holds)
            else:
                flight.leg_begins_ns += round(passed_ns) - round(position.fraction * attempt_ns)
            flight.held_ns = position.attempt_ns if holds else 0.0
            if worse and holds:
                worsen_current_attempt(flight, self._channel)
        else:
            if flight.held_ns and passed_ns < 0 and self._keeps_its_rate(flight):
                stretch = flight.medium.slowdown / flight.sampled_medium.slowdown
                flight.leg_begins_ns = now + round(-passed_ns * stretch)
                flight.held_ns *= stretch
            if worse and flight.held_ns and passed_ns < 0 and self._worsens_current:
                worsen_current_attempt(flight, self._channel)
            for reception in flight.receptions:
                reception.blocks, reception.block_attempts = [], []
        flight.expired = False
        flight.leg += 1
        self.begin(flight)

    def leave_slots(self, flight: Flight) -> None:
        """Let a flight that was sent in slots continue without them."""
        passed_ns = flight.passed_ns(self._env.now)
        flight.leave_slots()
        if passed_ns <= 0:  # it has waited for its first slot
            flight.begins_ns = flight.accounted_to_ns = self._env.now
        flight.leg_begins_ns = self._env.now - round(max(0.0, passed_ns))
        self.change(flight, worse=False)

    def report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        """Report the outcome of a flight that ends now at one receiver.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            One of the flight's.
        cut : bool
            Whether the flight ends before its planned end.

        Returns
        -------
        Report
        """
        under_way, arrived = 0.0, None
        self._sampling.pop(flight, None)
        if cut or flight.expired:
            now = self._env.now
            if flight.passed_ns(now) > 0:
                position = position_at(flight, now)
                under_way = max(0.0, position.fraction)
                self._keep_up_to(flight, reception, position)
            else:
                reception.blocks, reception.block_attempts = [], []
                reception.sending, _ = self._leg_start(flight, reception)
        if self._adaptation is not None and not flight.broadcast:
            known = reception.leg_rates if cut or flight.expired else reception.rates
            if known is not None:
                self._adaptation.set_link_rates(flight.src, reception.tx.dst, known)
        reception.close_leg(reception.snr_ratio(self._env.now))
        sending = reception.sending
        assert sending is not None
        assert reception.rng is not None
        if flight.repeated:
            arrived = reception.came = sending.arrived(reception.rng)
        elif reception.tx.envelope.message.accepts_partial and sending.delivered:
            arrived = sending.arrived(reception.rng)
        return reception.report(flight, under_way, sending, arrived, self._channel, self._limit)

    def _keeps_its_rate(self, flight: Flight) -> bool:
        """Return whether a flight's attempt under way has a rate that interference would change."""
        return self._rates_follow and flight.rate_bps is None

    def _met_worse(self, flight: Flight) -> bool:
        """Return whether the last attempt under way met at least the present noise everywhere.

        Both with the gains that hold where it began. Where others contend that spoil more, what
        has got through is lost with what that adds.
        """
        if self._senses:
            more = {one: _added_loss(one) for one in flight.receptions}
            if not all(one.blocks for one in more):
                return False
            if max(more.values(), default=1.0) > ROUNDING:
                for reception, loss in more.items():
                    sending = reception.sending
                    if sending is not None and sending.delivered == sending.packets:
                        reception.first_loss = loss, flight.leg + 1
                return False
        for reception in flight.receptions:
            if not reception.blocks:
                return False
            if not self._senses and reception.medium != reception.sampled_medium:
                return False
            met = reception.blocks[-1]
            began_ns = max(0, flight.ends_ns - round(met.attempt_ns))
            others = interferers_at(flight, reception)
            if self._channel.noise_rise(reception.tx.dst, others, began_ns) > met.noise_rise:
                return False
        return bool(flight.receptions)

    # -- sampling ----------------------------------------------------------------------------------

    def _sample_unicast(self, flight: Flight, reception: Reception) -> None:
        """Sample a leg of a unicast, or its first part, and plan what follows."""
        sending, reception.rng = self._leg_start(flight, reception)
        reception.sending = sending
        if sending.is_done and reception.last_block is not None:  # with the attempt that was held
            reception.blocks.append(reception.last_block)
            reception.block_attempts.append(0)
            self._transmits(flight, self._env.now, flight.transmit_share, self._held_rest(flight))
            self._plan(flight, 0)
            return
        left_ns = None
        if flight.deadline_ns is not None:
            left_ns = max(0, round(flight.passed_ns(flight.deadline_ns)))
        leg = _Sampling(self._blocks(flight, reception), left_ns)
        self._plan(flight, self._sample_part(flight, reception, leg, self._held_rest(flight)))

    def _held_rest(self, flight: Flight) -> list[Stretch]:
        """The rest of an attempt that is held: its time, and the share that its sender has then.

        A sender that waits for what is on the air has none.
        """
        now, medium = self._env.now, flight.medium
        if now < flight.waits_to_ns:
            return [(now, flight.waits_to_ns, 0.0)]
        if not flight.held_ns or flight.passed_ns(now) >= 0:
            return []
        if now < flight.at_once_ends_ns:  # spread anew by `set_first_attempt`
            share = flight.at_once_frame_ns / (flight.at_once_frame_ns + medium.wait_ns)
        elif self._senses or medium.shares is not None:
            share = flight.share_at(now)
        else:
            share = medium.transmit_share(flight.held_ns)
        return [(now, flight.true_ns(0), share)]

    def _sample_part(
        self,
        flight: Flight,
        reception: Reception,
        so_far: _Sampling,
        before: Sequence[Stretch] = (),
    ) -> int:
        """Sample block by block, until everything is settled or enough for now.

        Returns the time from the leg's beginning on, in ns.
        """
        sending, rng, left_ns = reception.sending, reception.rng, so_far.left_ns
        assert sending is not None
        assert rng is not None
        blocks, block_attempts = reception.blocks, reception.block_attempts
        passed_ns, hopeless, usual = so_far.passed_ns, so_far.hopeless, so_far.transmit_share
        others, known = list(before), len(blocks)
        for block in so_far.blocks:
            if reception.unreachable is not None:
                block.per, block.erasure, block.by_attempt = 1.0, 1.0, None
            if block.per > HOPELESS_PER and left_ns is not None:
                _bound_block(block, left_ns)
            blocks.append(block)
            if usual is None and block.attempt_ns > 0.0:
                usual = block.transmit_share
            delivered = 0 if reception.rates is None else sending.delivered
            made = sending.attempt(  # as `_sample_attempts` does, once a block
                rng, block.attempts, block.per, 0.0 if block.asleep else block.snr, block.erasure,
                block.by_attempt,
            )  # fmt: skip
            block_attempts.append(made)
            if reception.rates is not None:
                reception.count_rate(block, made, sending.delivered - delivered)
            hopeless = hopeless + 1 if block.per > HOPELESS_PER else 0
            ends = sending.is_done or block.length_ns is None or hopeless == MAX_HOPELESS_BLOCKS
            length_ns = block.length_ns or 0
            if ends:
                length_ns = round(block_attempts[-1] * block.attempt_ns)
            if block.transmit_share != usual:
                from_ns, to_ns = (flight.true_ns(at) for at in (passed_ns, passed_ns + length_ns))
                others.append((from_ns, to_ns, block.transmit_share))
            if ends:
                break
            passed_ns += length_ns
            if left_ns is not None and passed_ns > left_ns:
                flight.expired = True
                break
            if len(blocks) - known == AHEAD:
                self._sampling[flight] = _Sampling(
                    so_far.blocks, left_ns, passed_ns, hopeless, usual
                )
                break
        usual = 1.0 if usual is None else usual
        if others or flight.stretches or usual != flight.transmit_share:
            self._transmits(flight, self._env.now, usual, others)
        if flight in self._sampling:
            return passed_ns
        duration_ns = sum(b.length_ns or 0 for b in blocks[:-1]) if len(blocks) > 1 else 0
        return duration_ns + round(block_attempts[-1] * blocks[-1].attempt_ns)

    def _sample_broadcast(self, flight: Flight, rate_bps: float) -> int:
        """Sample a broadcast: one attempt a packet, one draw a receiver; its duration in ns."""
        if rate_bps <= 0.0:
            return 0
        flight.attempt_ns = self._channel.attempt_ns(flight.packet_bits, rate_bps, flight.medium)
        share = flight.medium.transmit_share(flight.attempt_ns)
        self._transmits(flight, self._env.now, share, self._held_rest(flight))
        for reception in flight.receptions:
            if reception.predetermined is not None:
                continue
            sending, rng = self._leg_start(flight, reception)
            reception.sending, reception.rng = sending, rng
            for block in self._blocks(flight, reception):
                reception.blocks.append(block)
                reception.block_attempts.append(_sample_attempts(sending, rng, block))
                if sending.is_done:
                    break
        return round(flight.packets_left * flight.attempt_ns) + flight.feedback_ns

    def _blocks(self, flight: Flight, reception: Reception) -> Iterator[ChannelBlock]:
        """The channel that a leg meets, with the receiver's sleep and the bursts of loss."""
        begins_ns = max(flight.begins_ns, flight.leg_begins_ns)
        rates = None
        if self._adaptation is not None and not flight.broadcast:
            dst, medium = reception.tx.dst, reception.medium
            known = reception.leg_rates or self._adaptation.link_rates(flight.src, dst)
            reception.rates, reception.rates_before = known.copy(), []
            attempt_ns = partial(self._channel.attempt_ns, flight.packet_bits, medium=medium)
            rates = self._adaptation.rate_rule(flight.src, dst, reception.rates, attempt_ns)
        found = blocks_met(flight, reception, self._channel, begins_ns, rates)
        first = reception.first_loss
        if first is not None and first[1] == flight.leg:
            found = first_lost(found, first[0])
        if reception.wakes_ns > begins_ns:
            found = lost_while_asleep(found, reception.wakes_ns - begins_ns)
        bursts = self._radio.bursts
        if bursts is None:
            return found
        tx = reception.tx
        rng = self._streams.generator("bursts", tx.src, tx.dst, reception.serial)
        return bursts.split_blocks(found, rng, reception.attempts)

    def _leg_start(
        self, flight: Flight, reception: Reception
    ) -> tuple[Sending, np.random.Generator]:
        """The message as it is where the leg begins, and the leg's random stream."""
        tx = reception.tx
        key = (tx.src, tx.dst, reception.serial, *((flight.leg,) if flight.leg else ()))
        rng = self._streams.lazy_generator("packets", *key)
        if reception.leg_start is not None:
            return reception.leg_start.copy(), rng
        arq = UNREPEATED if flight.broadcast else self._radio.arq
        decode = (
            partial(self._channel.packet_error, packet_bits=flight.packet_bits)
            if arq.combines and self._radio.combines
            else None
        )
        return arq.begin(flight.packets, tx.envelope.message.accepts_partial, decode), rng

    def _keep_up_to(
        self, flight: Flight, reception: Reception, position: AttemptPosition, holds: bool = False
    ) -> None:
        """Keep what was sampled up to a place in the leg, forget the rest; closes the leg.

        `holds`: the last attempt that is kept is under way.
        """
        if reception.predetermined is not None:
            return
        at, done, attempts = position.block, position.done, reception.block_attempts
        if flight.broadcast:
            while at < len(attempts) - 1 and done - holds >= attempts[at]:
                done -= attempts[at]
                at += 1
        sending, rng, before = reception.sending, reception.rng, 0
        if at < len(attempts) - 1 or reception.rates is not None or sending is None or rng is None:
            sending, rng = self._leg_start(flight, reception)
            for block in reception.blocks[: at + 1]:
                before = sending.delivered
                _sample_attempts(sending, rng, block)
        if done < attempts[at]:
            sending.rewind(rng, done)
        if reception.rates is not None:
            reception.rates = reception.leg_rates = reception.rates_before[at]
            reception.rates.count(reception.blocks[at].rate_bps, done, sending.delivered - before)
        reception.blocks = reception.blocks[: at + 1]
        reception.block_attempts = [*attempts[:at], done]
        reception.leg_start = reception.sending = sending
        reception.rng, reception.held_attempts = rng, done
        reception.close_leg(reception.snr_ratio(self._env.now))


def _added_loss(reception: Reception) -> float:
    """Probability that other senders spoil now what they have spared as the leg was sampled."""
    met, new = reception.sampled_medium.collision, reception.medium.collision
    return max(0.0, 1.0 - (1.0 - new) / (1.0 - met)) if met < 1.0 else 0.0


def _sample_attempts(sending: Sending, rng: np.random.Generator, block: ChannelBlock) -> int:
    """Sample the attempts of a message in a block; how many it makes."""
    decoder_snr = 0.0 if block.asleep else block.snr
    return sending.attempt(
        rng, block.attempts, block.per, decoder_snr, block.erasure, block.by_attempt
    )


def _bound_block(block: ChannelBlock, left_ns: int) -> None:
    """Let a block without end end soon after the time to live."""
    if block.attempts is None and block.attempt_ns > 0.0:
        block.attempts = ceil(left_ns / block.attempt_ns) + 1
        block.length_ns = ceil(block.attempts * block.attempt_ns)


def blocks_met(
    flight: Flight,
    reception: Reception,
    channel: RadioChannel,
    time_ns: int,
    rates: Callable[[int], tuple[float, int]] | None = None,
) -> Iterator[ChannelBlock]:
    """The channel that attempts meet from an instant on, with interference as things are.

    Parameters
    ----------
    flight : Flight
    reception : Reception
        One of the flight's.
    channel : RadioChannel
    time_ns : int
    rates : callable or None
        Time [ns] -> rate [bit/s], and until when [ns], where it follows acknowledgements.
    """
    met = reception.interferers and not channel.constant
    return channel.blocks(
        flight.src,
        reception.tx.dst,
        time_ns,
        flight.packet_bits,
        flight.rate_bps,
        medium=reception.medium,
        began_ns=flight.begins_ns,
        interferers=interferers_at(flight, reception) if met else (),
        noise_rise=reception.rise if channel.constant else 1.0,
        power=flight.power,
        rates=rates,
    )


def lost_while_asleep(blocks: Iterable[ChannelBlock], nap_ns: int) -> Iterator[ChannelBlock]:
    """Channel blocks in which every attempt that begins within the first `nap_ns` is lost."""
    for block in blocks:
        room, length_ns, attempt_ns = block.attempts, block.length_ns, block.attempt_ns
        if nap_ns > 0 and attempt_ns > 0.0:
            asleep = ceil(nap_ns / attempt_ns)
            missed = replace(block, per=1.0, erasure=1.0, by_attempt=None, asleep=True)
            if room is not None and room <= asleep:
                yield missed
            else:
                missed.attempts, missed.length_ns = asleep, round(asleep * attempt_ns)
                yield missed
                rest = None if room is None else room - asleep
                rest_ns = None if length_ns is None else length_ns - missed.length_ns
                yield replace(block, attempts=rest, length_ns=rest_ns)
        else:
            yield block
        nap_ns -= length_ns or 0


def first_lost(blocks: Iterable[ChannelBlock], loss: float) -> Iterator[ChannelBlock]:
    """Channel blocks whose first attempt is lost to other senders with a probability of its own."""
    fresh = True
    for block in blocks:
        if fresh and block.attempts != 0 and block.attempt_ns > 0.0:
            fresh = False
            own = 1.0 - (1.0 - block.per) / (1.0 - block.erasure) if block.erasure < 1.0 else 1.0
            taken_ns = ceil(block.attempt_ns)
            per = 1.0 - (1.0 - own) * (1.0 - loss)
            first = replace(block, attempts=1, per=per, erasure=loss, length_ns=taken_ns)
            first.by_attempt = None
            yield first
            if block.attempts == 1:
                continue
            rest = None if block.attempts is None else block.attempts - 1
            rest_ns = None if block.length_ns is None else max(0, block.length_ns - taken_ns)
            yield replace(block, attempts=rest, length_ns=rest_ns)
        else:
            yield block
