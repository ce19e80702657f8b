"""Use of the values that messages bring: when, by what, and with which weight.

A message that carries values has *arrived* when its receiver's link is done with it, and is *used*
when a job first reads one of its values there: a mixture with a weight other than 0, a training
step, a function, an evaluation on own samples. A message that arrives and is never used has a fate
of its own, so that "delivered" is never taken for "used".
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import Any

from netsim.recording.parquet_parts import Parts
from netsim.recording.schema import FATES, UseRow
from netsim.units import NS_PER_S, to_s

_use_row = partial(tuple.__new__, UseRow)
"""`UseRow` of a tuple of all its fields, in half the time; there is one for every message."""


class Arrival:
    """One message with values that has arrived at one receiver.

    Parameters
    ----------
    uses : Uses
        Where its fate is counted and recorded.
    message : int
        Number of its row in `messages/`.
    src, dst : int
    kind : str
        Name of its class.
    sent_ns, arrived_ns : int

    Attributes
    ----------
    uses : Uses or None
        None once its fate is known.
    handed_ns : int or None
        When an algorithm first got the message; None: none has.
    is_late : bool
        Whether it came after what waited for it had ended.
    """

    __slots__ = (
        "arrived_ns", "dst", "handed_ns", "is_late", "kind", "message", "sent_ns", "src", "uses",
    )  # fmt: skip

    def __init__(
        self,
        uses: Uses,
        message: int,
        src: int,
        dst: int,
        kind: str,
        sent_ns: int,
        arrived_ns: int,
    ) -> None:
        self.uses: Uses | None = uses
        self.message, self.src, self.dst, self.kind = message, src, dst, kind
        self.sent_ns, self.arrived_ns = sent_ns, arrived_ns
        self.handed_ns: int | None = None
        self.is_late = False
        uses._open[self] = None
        uses._receivers.add(dst)

    def used(self, now_ns: int, by: str, weight: float | None) -> None:
        """Note a use of one of its values; the first one counts.

        Parameters
        ----------
        now_ns : int
        by : str
            What reads it.
        weight : float or None
            In a mixture, where it is a number.
        """
        uses = self.uses
        if uses is None:
            return
        age_ns = now_ns - self.sent_ns
        uses._age_ns += age_ns
        uses._users.add(self.dst)
        if now_ns != uses._last_use_ns:
            uses._gap_until(now_ns)
        self._record(uses, "used", now_ns / NS_PER_S, age_ns / NS_PER_S, by, weight)

    def settled(self, fate: str) -> None:
        """Note a fate that is no use, one of `FATES`, unless there is one already."""
        uses = self.uses
        if uses is None:
            return
        uses._unused_ns.append(self.arrived_ns)
        self._record(uses, fate, None, None, "", None)

    def _record(
        self,
        uses: Uses,
        fate: str,
        used_s: float | None,
        age_s: float | None,
        by: str,
        weight: float | None,
    ) -> None:
        self.uses = None
        del uses._open[self]
        uses.counts[fate] += 1
        values = uses.parts.values
        values += _use_row((
            self.message, self.sent_ns, self.arrived_ns, self.src, self.dst, self.kind, fate,
            used_s, age_s, by, weight,
        ))  # fmt: skip
        if len(values) >= uses.parts.full:
            uses.parts.flush()


class Uses:
    """Counts and writes what became of messages with values that arrived.

    Parameters
    ----------
    parts : Parts
        Of `USE_COLUMNS`.

    Attributes
    ----------
    limit_ns : float
        The oldest message that the algorithm uses [ns].
    parts : Parts
    counts : Counter
        Messages by fate, of those whose fate is known.
    """

    def __init__(self, parts: Parts) -> None:
        for fate in FATES:
            parts.words["fate"][fate]  # fixed codes
        self.parts = parts
        self._open: dict[Arrival, None] = {}  # whose fate is not known, in the order of coming
        self._unused_ns = array("q")
        self._lost_ns = array("q")  # when messages with values were given up
        self.limit_ns = float("inf")
        self.counts: Counter[str] = Counter()
        self._last_use_ns = 0
        self._longest_gap_ns = (0, 0)  # from, to
        self._receivers: set[int] = set()
        self._users: set[int] = set()
        self._age_ns = 0

    def lost(self, now_ns: int) -> None:
        """Note a message with values that does not arrive."""
        self._lost_ns.append(now_ns)

    def _gap_until(self, now_ns: int) -> None:
        first, last = self._longest_gap_ns
        if now_ns - self._last_use_ns > last - first:
            self._longest_gap_ns = self._last_use_ns, now_ns
        self._last_use_ns = now_ns

    def end(self, now_ns: int) -> None:
        """Settle what has no fate yet; the run has ended."""
        for arrival in list(self._open):
            handed_ns = arrival.handed_ns
            if arrival.is_late:
                fate = "late"
            elif handed_ns is None:
                fate = "unread"
            elif handed_ns - arrival.sent_ns > self.limit_ns:
                fate = "too_old"
            else:
                fate = "not_used"
            arrival.settled(fate)
        self._gap_until(now_ns)

    def flush(self) -> None:
        """Write the rows of messages whose fate is known."""
        self.parts.flush()

    def close(self) -> None:
        """Close the table, once `end` has been called."""
        self.parts.close()

    def summary(self) -> dict[str, Any]:
        """`arrived`, a count of each fate, and `mean_age_s` at first use; empty if none arrived."""
        arrived = sum(self.counts.values())
        if not arrived:
            return {}
        used = self.counts["used"]
        age = {"mean_age_s": self._age_ns / used / NS_PER_S} if used else {}
        return {"arrived": arrived, **{fate: self.counts[fate] for fate in FATES}, **age}

    def warnings(self, horizon_ns: int, servers: Collection[int] = ()) -> list[tuple[str, str]]:
        """Subjects and sentences of what arrived and was not used, once `end` has been called.

        Parameters
        ----------
        horizon_ns : int
        servers : collection of int
            Nodes of role server.
        """
        arrived, used, lost = sum(self.counts.values()), self.counts["used"], len(self._lost_ns)
        if not arrived and not lost:
            return []
        told = ", ".join(
            f"{self.counts[fate]:,} {_SAID[fate]}" for fate in FATES[1:] if self.counts[fate]
        )
        since, until = (ns / NS_PER_S for ns in self._longest_gap_ns)
        if not arrived:
            return [(
                "no message used",
                f"of {lost:,} messages with models or other values not one arrived: the measured "
                "models learned without them",
            )]  # fmt: skip
        if not used:
            return [(
                "no message used",
                f"of {arrived:,} messages with models or other values that arrived not one was "
                f"used ({told}): the measured models learned without them{_remedy(self.counts)}",
            )]  # fmt: skip
        found = []
        first_ns, last_ns = self._longest_gap_ns
        in_vain = sum(first_ns < arrived_ns <= last_ns for arrived_ns in self._unused_ns)
        gone = sum(first_ns < lost_ns <= last_ns for lost_ns in self._lost_ns)
        if last_ns - first_ns >= horizon_ns / 5 and in_vain + gone >= len(self._receivers):
            found.append((
                "long without use",
                f"from {since:g} to {until:g} s, a fifth of the run or more, no model or other "
                f"value was used: {in_vain:,} messages arrived in vain, {gone:,} were lost; of "
                f"{arrived:,} that arrived in all {used:,} were used"
                + (f", {told}" if told else "")
                + (_remedy(self.counts) if in_vain else ""),
            ))  # fmt: skip
        elif self.counts["late"] >= 0.2 * arrived:
            found.append((
                "messages late",
                f"{self.counts['late']:,} of {arrived:,} messages that arrived came too late to be "
                f"used{_remedy(self.counts)}",
            ))  # fmt: skip
        without = self._receivers - self._users
        if without and len(without) < len(self._receivers):
            idle = without & set(servers)
            one = f"node {min(idle)}, a server," if idle else f"node {min(without)}"
            found.append((
                "nodes that used none",
                f"{len(without)} of {len(self._receivers)} nodes at which messages arrived used "
                f"none of them ({one} is one)",
            ))  # fmt: skip
        return found


_SAID = {
    "late": "came late",
    "superseded": "were replaced by a later one",
    "too_old": "were older than max_age_s",
    "ignored": "were ignored by malicious nodes",
    "not_used": "were given weight 0 or left aside",
    "unread": "still waited at the end",
}


def _remedy(counts: Counter[str]) -> str:
    """Advice by the fate that most unused messages had."""
    worst = max(FATES[1:], key=lambda fate: counts[fate])
    return {
        "late": ". A longer timeout_s or deadline_s, smaller messages or a faster link let them in",
        "too_old": ". A larger max_age_s lets them in",
        "superseded": ". Nodes send more often than they read: wake-ups are skipped for other work",
    }.get(worst, "")


class Ages:
    """Ages of messages when algorithms used them.

    The age is the virtual time from sending to use: transmission, waiting in the mailbox, and,
    where an exchange gives each peer's freshest message, all the time since. A message that is
    used again is counted again, with the age it has then. A message that is older than the
    algorithm takes is handed to it, but not used, and does not count.

    Attributes
    ----------
    limit_ns : float
        The oldest that the algorithm uses (its `max_age_s`) [ns].
    """

    def __init__(self) -> None:
        self.limit_ns = math.inf
        # By kind: uses, and sum, sum of squares and largest of the ages in ns, as exact integers.
        self._by_kind: dict[str, list[int]] = {}

    def add(self, kind: str, age_ns: int) -> None:
        """Count one use of a message of a kind, unless it is too old to be used."""
        if age_ns > self.limit_ns:
            return
        found = self._by_kind.get(kind)
        if found is None:
            self._by_kind[kind] = [1, age_ns, age_ns * age_ns, age_ns]
            return
        found[0] += 1
        found[1] += age_ns
        found[2] += age_ns * age_ns
        if age_ns > found[3]:
            found[3] = age_ns

    def summary(self) -> dict[str, Any]:
        """`used mean_s std_s max_s` over all messages, and the same `by_kind`; empty if none."""
        if not self._by_kind:
            return {}
        uses, total, squares, oldest = zip(*self._by_kind.values(), strict=True)
        by_kind = {kind: _statistics(*found) for kind, found in sorted(self._by_kind.items())}
        return {**_statistics(sum(uses), sum(total), sum(squares), max(oldest)), "by_kind": by_kind}


def _statistics(uses: int, total: int, squares: int, oldest: int) -> dict[str, float]:
    deviation_ns = math.sqrt(uses * squares - total * total) / uses
    return {
        "used": uses,
        "mean_s": total / uses / NS_PER_S,
        "std_s": deviation_ns / NS_PER_S,
        "max_s": to_s(oldest),
    }
