"""What is possible in a world and most often a slip: for whoever is about to play it."""

from __future__ import annotations

import math

from netsim.errors import one_line
from netsim.scenario import plausibility
from netsim.units import linear_to_db
from netsim.world.builder import World

MOST_SNR_DB = 100.0
"""Receivers clip far below; what has more is most often a distance, a power or a bandwidth."""
MOST_BITS_PER_S_HZ = 15.0
"""One antenna with 4096-QAM carries twelve."""
_LOOKED_AT = 200
"""So many senders are looked at."""


def remarks(world: World) -> list[str]:
    """What to look at before the world is played, and before the numbers of a run are read.

    The one list of it: of units, of links, of files by time, and of the columns of a table.
    """
    columns = world.samples.columns
    found = [
        *plausibility.remarks(world.scenario),
        *_of_radio(world),
        *world.notes.remarks(world.scenario.horizon_s),
        *(f"[data] {text}" for text in (columns.told() if columns else ())),
    ]
    return list(dict.fromkeys(map(one_line, found)))


def _of_radio(world: World) -> list[str]:
    """Of the strongest link: its SNR, and the rate that it would be used at."""
    radio, budget = world.scenario.radio, world.budget
    if radio is None or budget is None:
        return []
    best, pair = 0.0, (0, 0)
    for src, others in enumerate(world.neighbours[:_LOOKED_AT]):
        if others:
            heard = budget.mean_snr.snr(src, others, 0)
            strongest = int(heard.argmax())
            if heard[strongest] > best:
                best, pair = float(heard[strongest]), (src, others[strongest])
    found = []
    best_db = linear_to_db(best)
    if best_db > MOST_SNR_DB:
        found.append(
            f"[radio]: from node {pair[0]} to node {pair[1]} the mean SNR is {best_db:,.0f} dB, "
            f"more than {MOST_SNR_DB:g} dB: is a power, a distance, carrier_hz or bandwidth_hz in "
            "another unit?"
        )
    snr = min(best, 10 ** (MOST_SNR_DB / 10))
    bandwidth_hz = radio.bandwidth_hz
    rate_bps = 0.0 if radio.rate.adapts else radio.rate.bits_per_s(snr, bandwidth_hz)
    per_hz = rate_bps / bandwidth_hz
    # a rate that is made of the bandwidth, as a capacity is, is in no other unit than that
    follows = per_hz and math.isclose(radio.rate.bits_per_s(snr, 2 * bandwidth_hz), 2 * rate_bps)
    if math.isfinite(per_hz) and per_hz > MOST_BITS_PER_S_HZ and not follows and not found:
        found.append(
            f"[radio]: {rate_bps:,.6g} bit/s in bandwidth_hz = {radio.bandwidth_hz:g} is "
            f"{per_hz:,.3g} bit/s/Hz, more than {MOST_BITS_PER_S_HZ:g}: is one of them in another "
            "unit?"
        )
    return found
