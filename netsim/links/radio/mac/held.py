"""An attempt under way whose interference has fallen, and grows again before it has ended.

What was sampled of such an attempt stands, with the interference from before the fall; so it does
where rates follow the SNR, since the rate of an attempt is chosen where it begins. Should more
interference come meanwhile, an attempt that had got through fails after all, with the probability

    1 - (1 - error with the new interference) / (1 - error with the old),

so that it is as if it had been drawn with the worst of its time.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from netsim.links.radio.mac.flight import Flight, Reception, interferers_at
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import NS_PER_S


def worsen_current_attempt(flight: Flight, channel: RadioChannel) -> None:
    """Let interference as it is now count for the attempt that is held (`Flight.held_ns`)."""
    began_ns = max(0, flight.leg_begins_ns - round(flight.held_ns))
    for reception in flight.receptions:
        met = reception.last_block
        if met is None or reception.leg_start is None or reception.held_attempts == 0:
            continue
        rise = reception.rise
        if not channel.constant:
            others = interferers_at(flight, reception)
            rise = channel.noise_rise(reception.tx.dst, others, began_ns)
        if rise <= met.noise_rise:
            continue
        snr = met.snr * met.noise_rise / rise
        rate_bps = flight.rate_bps
        if rate_bps is None:  # that of the attempt, which does not follow what comes meanwhile
            rate_bps = rate_under_way(flight, flight.held_ns)
        old, new = met.per, channel.error(snr, flight.packet_bits, rate_bps)
        if met.erasure:  # what is lost whatever the SNR stays as it was
            old = channel.error(met.snr, flight.packet_bits, rate_bps)
        fails = 1.0 - (1.0 - new) / (1.0 - old) if new > old else 0.0
        _draw_again(reception, fails)
        per = 1.0 - (1.0 - met.per) * (1.0 - fails)
        reception.last_block = replace(met, snr=snr, per=per, noise_rise=rise)
        reception.weighted_snr += snr - met.snr


def rate_under_way(flight: Flight, attempt_ns: float) -> float:
    """The rate [bit/s] of an attempt that takes so long, with the medium to itself."""
    medium = flight.medium
    bits_ns = (attempt_ns - medium.wait_ns) / medium.slowdown - flight.overhead_ns
    return flight.packet_bits / bits_ns * NS_PER_S if bits_ns > 0.0 else inf


def _draw_again(reception: Reception, fails: float) -> None:
    """Let the last attempt fail with a probability, if it got through."""
    after, rng = reception.leg_start, reception.rng
    assert after is not None
    assert rng is not None
    before = after.copy()
    before.rewind(rng, reception.held_attempts - 1)
    through = after.delivered > before.delivered
    if through and fails > 0.0:
        through = bool(rng.random() >= fails)
    before.attempt(rng, 1, 0.0 if through else 1.0)
    reception.leg_start, reception.held_attempts = before, 1
