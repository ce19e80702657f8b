"""CSMA among flights over links that change while a message lasts.

Who hears whom, and who spoils whose packets, holds for a coherence block and a step of movement.
Whenever one ends while somebody is on the air, all of that is found anew, so that two that fade
apart are hidden from then on, and two that drive into each other's range contend. Who has no rate
at an SNR sends nothing until that changes, and neither contends nor disturbs anybody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from netsim.channels.mac import ALONE
from netsim.links.radio.mac.contention import STEPS, Contention
from netsim.links.radio.mac.flight import Flight
from netsim.units import NS_PER_S, to_ns

ATTEMPTS = 8
"""Fading that changes faster than so many packets are sent is looked at once in each message."""


class ChangingContention(Contention):
    """Contention where links change while a message lasts.

    Losses by a sender's own fades count for its backoffs as those to others do. Fading that is
    about as fast as packets averages out within a backoff: then both are left as they were when
    the message began.
    """

    def next_look_ns(self, now_ns: int) -> int | None:
        found = self._links_change_ns(now_ns), super().next_look_ns(now_ns)
        return min([at_ns for at_ns in found if at_ns is not None], default=None)

    def _links_change_ns(self, now_ns: int) -> int | None:
        """Return the next time [ns] at which links of those on the air may change; None: never."""
        at_ns = self._channel.step_ends_ns(now_ns)
        lasts_ns = self._channel.fading_lasts_ns
        if lasts_ns is None:
            return at_ns
        sent_s = [of.frame_s for one, (of, _) in self._found.items() if one not in self._silent]
        if not (
            self._silent or self._fading_outlasts_packets(min(sent_s, default=math.inf) * NS_PER_S)
        ):
            return at_ns
        seen_ns = to_ns(self._radio.rate.choice_delay_s)  # so much later a sender knows of a fade
        ends = [((now_ns - d) // lasts_ns + 1) * lasts_ns + d for d in {0, seen_ns}]
        return min(ends) if at_ns is None else min(at_ns, *ends)

    def look_again(self, now_ns: int) -> None:
        """Find anew who hears whom and who spoils whose packets."""
        super().look_again(now_ns)
        flights = list(self._on_air)
        self._unsolved |= self._on_air
        silent = [flight for flight in flights if not self._has_rate(flight, now_ns)]
        self._silent = dict.fromkeys(silent)
        for k, flight in enumerate(flights):
            for other in flights[:k]:
                self._meet_again(flight, other, now_ns)

    def _has_rate(self, flight: Flight, now_ns: int) -> bool:
        """Return whether a flight's link has a rate."""
        return self._snr_and_rate(flight, now_ns)[1] > 0.0

    def _find_contenders(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        if not self._has_rate(flight, now_ns):
            self._silent[flight] = None
        everybody = list(others)
        silent = (
            everybody if flight in self._silent else [o for o in everybody if o in self._silent]
        )
        if flight not in self._silent:
            super()._find_contenders(
                flight, [o for o in everybody if o not in self._silent], now_ns
            )
        if silent:
            self.add(flight, silent, now_ns)

    def _meet_again(self, flight: Flight, other: Flight, now_ns: int) -> None:
        heard, hidden = other in flight.contenders, other in flight.hidden
        both_send = flight not in self._silent and other not in self._silent
        hears = both_send and self.hear_each_other(flight.src, other.src, now_ns)
        if heard and hears:
            return
        if heard:
            del flight.contenders[other], other.contenders[flight]
        if hidden:
            del flight.hidden[other], other.hidden[flight]
            for at, by in ((flight, other), (other, flight)):
                for reception in at.receptions:
                    reception.hidden.pop(by, None)
        if hears:
            flight.contenders[other] = other.contenders[flight] = None
        elif both_send:
            self._add_hidden(flight, other, now_ns)
            self._add_hidden(other, flight, now_ns)
        apart, was_apart = not hears and other not in flight.hidden, not (heard or hidden)
        if was_apart and not apart:
            self.remove(flight, [other])
            self.remove(other, [flight])
        elif apart and not was_apart:
            self.add(flight, [other], now_ns)

    def _lost_anyway(self, flight: Flight, snr: float, rate_bps: float) -> float:
        if not self._fading_outlasts_packets(
            self._channel.attempt_ns(flight.packet_bits, rate_bps, ALONE)
        ):
            return 0.0
        if snr < self._channel.sensitivity:
            return 1.0
        return round(self._error(snr, flight.packet_bits, rate_bps) * STEPS) / STEPS

    def _fading_outlasts_packets(self, frame_ns: float) -> bool:
        """Return whether fading lasts for several packets, or does not change in time."""
        lasts_ns = self._channel.fading_lasts_ns
        return lasts_ns is None or lasts_ns >= ATTEMPTS * frame_ns
