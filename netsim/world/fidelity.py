"""The level at which a radio is played whose scenario leaves it open: `fidelity = "auto"`.

Frame by frame where carriers are sensed, the network is small, and some senders are hidden from
each other at a receiver that both reach, or notice each other only after a slot, or send packets
that last about as long as a fade. Else message by message, where senders that are hidden from each
other are met on average, a slot is as long as it takes to notice each other, and what senders do to
each other is found anew for each fade, as if it lasted: see `docs/fidelity.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.mac.changing_contention import ATTEMPTS
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.table import Radio
from netsim.scenario.tables import Scenario
from netsim.units import NS_PER_S, to_ns

MOST_NODES = 100
"""Larger networks are played message by message: frames cost more than ten times as much there."""
LATE = "propagation_s leaves no time to notice within slot_s who has begun in the slot before"
LOOKS = 11
"""So many times, evenly over a run, nodes that move are looked at."""


class Fidelity(NamedTuple):
    """A level, and the reason for it in one sentence.

    Attributes
    ----------
    level : {"message", "packet"}
    reason : str
    open : bool
        Whether it could have been another one.
    missed : str
        What a level that the scenario states leaves out, or knows on average only; empty: nothing.
    """

    level: Literal["message", "packet"]
    reason: str
    open: bool = True
    missed: str = ""

    def remarks(self) -> list[str]:
        """The level in words, where another one was possible or would be better."""
        if self.missed and self.level == "packet":
            return [
                f'[radio] fidelity = "packet": mac.{self.missed} is of no effect frame by frame; '
                '"auto" plays it message by message'
            ]
        if self.missed:
            return [
                f'[radio] fidelity = "message": {self.missed}, which is left out message by '
                'message, or met on average only; "auto" plays it frame by frame'
            ]
        how = "frame by frame" if self.level == "packet" else "message by message"
        return [f'[radio] fidelity = "auto": played {how}: {self.reason}'] if self.open else []

    def apply_to(self, scenario: Scenario) -> Scenario:
        """A scenario with this level in place of "auto"."""
        radio = scenario.radio
        if radio is None or radio.fidelity != "auto":
            return scenario
        found = radio.model_copy(update={"fidelity": self.level})
        return scenario.model_copy(update={"radio": found})


def without_places(scenario: Scenario) -> Fidelity | None:
    """The level where it follows from the tables alone; None: from where nodes are.

    Parameters
    ----------
    scenario : Scenario
        With a radio whose level is not "message".
    """
    radio = scenario.radio
    assert radio is not None
    if radio.fidelity == "packet":
        missed = radio.mac.of_means
        return Fidelity(radio.fidelity, "the scenario says so", open=False, missed=missed)
    if not radio.mac.senses:
        return Fidelity("message", f'mac "{radio.mac.kind}" senses no carriers', open=False)
    count = scenario.nodes.count
    if radio.mac.of_means:
        return Fidelity("message", f"mac.{radio.mac.of_means} is of no effect frame by frame")
    at_all = "" if radio.mac.noticed_in_time else LATE  # wherever nodes are
    at_all = at_all or _packets_outlast_fades(radio)
    if count > MOST_NODES:
        besides = f"; {at_all}, which is left out" if at_all else ""
        return Fidelity("message", f"{count} nodes are more than {MOST_NODES}{besides}")
    if radio.sensitivity_dbm is None and radio.mac.range_m is None and not at_all:
        return Fidelity(
            "message", "all senders hear each other without sensitivity_dbm and carrier_sense_m"
        )
    if any(_has_other_radio(later, scenario) for _, later in scenario.later):
        return Fidelity("message", "the radio changes in mid-run, which frames can't")
    try:
        Radio.model_validate(radio.model_dump(exclude_unset=True) | {"fidelity": "packet"})
    except ValueError:
        return Fidelity("message", "its tables have something that frames can't play")
    return Fidelity("packet", at_all) if at_all else None


def _packets_outlast_fades(radio: Radio) -> str:
    """In words, where packets at the lowest rate last about as long as a fade; else empty."""
    slowest_bps, fading = radio.rate.slowest_bps(radio.bandwidth_hz), radio.fading
    if slowest_bps is None or fading.kind == "none" or fading.hold != "coherence":
        return ""
    bits = 8 * (radio.packet_payload_bytes + radio.packet_header_bytes)
    packet_s = radio.overhead_ns(bits) / NS_PER_S + bits / slowest_bps
    fade_s = fading.constant_s(radio.carrier_hz)
    if packet_s * ATTEMPTS <= fade_s:
        return ""
    return f"packets last up to {packet_s:.3g} s, at the lowest rate, and fades {fade_s:.3g} s"


def _has_other_radio(later: Scenario, scenario: Scenario) -> bool:
    """Return whether a later change gives another radio or other nodes, levels aside."""
    radio, now = later.radio, scenario.radio
    if radio is None or now is None:
        return radio is not now
    level = {"fidelity": now.fidelity}
    return (radio.model_copy(update=level), later.nodes) != (now, scenario.nodes)


def choose_level(
    scenario: Scenario,
    budget: LinkBudget,
    distance_m: Callable[[int, int, int], float] | None,
    neighbours: Sequence[Sequence[int]],
) -> Fidelity:
    """The level of a radio.

    Parameters
    ----------
    scenario : Scenario
        With a radio.
    budget : LinkBudget
        Mean SNRs, at which senders are looked at: fading is left out.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    neighbours : sequence of sequence of int
        By node, whom it may send to.
    """
    radio = scenario.radio
    assert radio is not None
    if radio.fidelity == "message":
        free = radio.model_copy(update={"fidelity": "auto"})
        better = choose_level(
            scenario.model_copy(update={"radio": free}), budget, distance_m, neighbours
        )
        missed = better.reason if better.level == "packet" else ""
        return Fidelity("message", "the scenario says so", open=False, missed=missed)
    found = without_places(scenario)
    if found is not None:
        return found
    moving = budget.mean_snr.moving
    looks = np.linspace(0.0, to_ns(scenario.horizon_s), LOOKS if moving else 1)
    for time_ns in map(int, looks):
        hidden = _find_hidden(scenario, budget, distance_m, neighbours, time_ns)
        if hidden is not None:
            one, other, receiver = hidden
            when = f" at {time_ns / 1e9:g} s" if moving else ""
            return Fidelity(
                "packet", f"nodes {one} and {other} don't hear each other beside {receiver}{when}"
            )
    when = f", at {LOOKS} times looked at" if moving else ""
    return Fidelity("message", f"senders that reach one receiver hear each other{when}")


def _find_hidden(
    scenario: Scenario,
    budget: LinkBudget,
    distance_m: Callable[[int, int, int], float] | None,
    neighbours: Sequence[Sequence[int]],
    time_ns: int,
) -> tuple[int, int, int] | None:
    """A sender, one hidden from it, and a receiver that the first one reaches and both disturb."""
    radio, nodes = scenario.radio, len(neighbours)
    assert radio is not None
    snr = np.array([budget.mean_snr.snr(i, np.arange(nodes), time_ns) for i in range(nodes)])
    np.fill_diagonal(snr, 0.0)
    hear = np.minimum(snr, snr.T) >= radio.sensitivity
    if radio.mac.range_m is not None and distance_m is not None:
        hear &= _pairs_within(radio.mac.range_m, distance_m, nodes, time_ns)
    talks = np.zeros((nodes, nodes), dtype=np.bool_)
    for node, others in enumerate(neighbours):
        talks[node, list(others)] = True
    heard_at = snr >= max(radio.sensitivity, budget.threshold)
    sends = talks.any(axis=1)
    for receiver in range(nodes):
        senders = np.flatnonzero(talks[:, receiver] & heard_at[:, receiver])
        audible = np.flatnonzero(heard_at[:, receiver] & sends)
        apart = ~hear[np.ix_(senders, audible)] & (senders[:, None] != audible)
        if apart.any():
            one, other = np.argwhere(apart)[0]
            return int(senders[one]), int(audible[other]), receiver
    return None


def _pairs_within(
    range_m: float, distance_m: Callable[[int, int, int], float], nodes: int, time_ns: int
) -> NDArray[np.bool_]:
    near = np.zeros((nodes, nodes), dtype=np.bool_)
    for one in range(nodes):
        for other in range(one):
            near[one, other] = near[other, one] = distance_m(one, other, time_ns) <= range_m
    return near
