"""Use of the values that messages bring: when, by what, and with which weight.

A message that carries values has *arrived* when its receiver's link is done with it, and is *used*
when a job first reads one of its values there: a mixture with a weight other than 0, a training
step, a function, an evaluation on own samples. A message that arrives and is never used has a fate
of its own, so that "delivered" is never taken for "used".
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import chain, count, repeat
from operator import itemgetter, mul
from typing import Any, Protocol

from netsim.recording.parquet_parts import Parts, Rows
from netsim.recording.schema import FATES
from netsim.units import NS_PER_S, to_s

MIX = "mix"
"""Name of the jobs that mix values, as `Mix.describe` gives it."""
HANDED = -1
"""In place of an instant: the age was counted when the algorithm got the message."""


class Brought(Protocol):
    """A value that a message may have brought."""

    @property
    def bringer(self) -> Fates | None:
        """The fates of that message."""


class Fates:
    """Fates of one message with values, at each receiver that it has reached.

    Parameters
    ----------
    uses : Uses
        Where they are counted and recorded.
    kind : str
        Name of its class.

    Attributes
    ----------
    open : dict of int to tuple of int
        By receiver where its fate is not known yet: number of its row in `messages/`, and when it
        arrived [ns].
    handed_ns : dict of int to int
        By such a receiver whose algorithm got the message, but late or too old, when it first did.
    late : set of int
        Receivers that it reached after what waited for it there had ended.
    aged_ns : dict of int to int
        By receiver, the instant at which its age was counted last [ns]; `HANDED` from when the
        algorithm gets it, where its age counts, until it is mixed.
    """

    __slots__ = ("_ages", "aged_ns", "handed_ns", "kind", "late", "open", "sent_ns", "src", "uses")

    def __init__(self, uses: Uses, src: int, kind: str, sent_ns: int) -> None:
        self.uses, self.src, self.kind, self.sent_ns = uses, src, kind, sent_ns
        self._ages = uses.ages.of_kind[kind]
        self.open: dict[int, tuple[int, int]] = {}
        self.handed_ns: dict[int, int] = {}
        self.late: Collection[int] = ()
        self.aged_ns: dict[int, int] = {}

    def handed(self, node: int, now_ns: int) -> None:
        """Note that the algorithm of `node` gets it: a use, unless it came late or is too old."""
        age_ns = now_ns - self.sent_ns
        if age_ns <= self.uses.ages.limit_ns and node not in self.late:
            self._ages.append(age_ns)
            self.aged_ns[node] = HANDED
        elif node in self.open:
            self.handed_ns.setdefault(node, now_ns)

    def arrive(self, receivers: Iterable[int], row: int, now_ns: int) -> None:
        """Note receivers that it reaches now.

        Parameters
        ----------
        row : int
            Number of the first one's row in `messages/`; those of the others follow.
        """
        uses, fates = self.uses, self.open
        if not fates:
            uses._open[self] = None
        fates.update(zip(receivers, zip(count(row), repeat(now_ns)), strict=False))
        uses._receivers.update(receivers)

    def came_late(self, node: int) -> None:
        """Note that it reached `node` after what waited for it there had ended."""
        self.late = {*self.late, node}

    def became(self, node: int, fate: str) -> None:
        """Note a fate at `node` that is no use, if its algorithm has never got the message."""
        if node not in self.aged_ns and node not in self.handed_ns:
            self.settle(node, fate)

    def settle(self, node: int, fate: str) -> None:
        """Note a fate at `node` that is no use, one of `FATES`, unless there is one already."""
        arrived = self.open.pop(node, None)
        if arrived is None:
            return
        uses, (row, arrived_ns) = self.uses, arrived
        if not self.open:
            del uses._open[self]
        uses._unused_ns.append(arrived_ns)
        uses.counts[fate] += 1
        values = uses._values
        values += (
            row, self.sent_ns, arrived_ns, self.src, node, self.kind, fate, None, None, "", None,
        )  # fmt: skip
        if len(values) >= uses.parts.full:
            uses.parts.flush()


class Uses:
    """Counts and writes what became of messages with values that arrived.

    `parts`: of the table `uses`.

    Attributes
    ----------
    ages : Ages
        Counts how old messages are when algorithms get them.
    parts : Parts
    counts : Counter
        Messages by fate, of those whose fate is known.
    """

    def __init__(self, parts: Parts) -> None:
        for fate in FATES:
            parts.words["fate"][fate]  # fixed codes
        self.parts, self._values = parts, parts.values
        self.ages = Ages()
        parts.on_the_way = self._counted
        self._open: dict[Fates, None] = {}  # of messages one of whose fates is not known
        self._unused_ns = array("q")
        self._lost_ns = array("q")  # when messages with values were given up
        self.counts = Counter[str]()
        self._last_use_ns = 0
        self._longest_gap_ns = (0, 0)  # from, to
        self._receivers: set[int] = set()
        self._users: set[int] = set()
        self._age_ns = 0

    def lost(self, now_ns: int, receivers: int) -> None:
        """Note a message with values that does not arrive at so many receivers."""
        self._lost_ns.extend([now_ns] * receivers)

    def read(
        self,
        node: int,
        values: Sequence[Brought],
        now_ns: int,
        by: str,
        weights: Sequence[float] = (),
    ) -> None:
        """Note that something at a node reads values, some of which messages brought.

        The first use of a message counts; of its ages, that of each mixture. Weight 0 is no use.

        Parameters
        ----------
        node : int
            The owner of the values.
        values : sequence of Brought
            Refs.
        by : str
            What reads them.
        weights : sequence of float
            In a mixture, where they are known; may be shorter than `values`.
        """
        rows, used, total_ns = self._values, 0, 0
        is_mix, now_s = by == MIX, now_ns / NS_PER_S
        # Zipped so, the values are as many as they are.
        for value, weight in zip(values, chain(weights, repeat(None)), strict=False):
            fates = value.bringer
            if fates is None or weight == 0:
                continue
            pending = fates.open
            if node in pending:
                row, arrived_ns = pending.pop(node)
                if not pending:
                    del self._open[fates]
                sent_ns = fates.sent_ns
                age_ns = now_ns - sent_ns
                used += 1
                total_ns += age_ns
                rows += (
                    row, sent_ns, arrived_ns, fates.src, node, fates.kind, "used",
                    now_s, age_ns / NS_PER_S, by, weight,
                )  # fmt: skip
            elif not is_mix:
                continue
            counted_ns = fates.aged_ns.get(node)
            if counted_ns != now_ns:  # a job reads a value of it: its age counts, once
                if counted_ns != HANDED:
                    fates._ages.append(now_ns - fates.sent_ns)
                fates.aged_ns[node] = now_ns if is_mix else HANDED
        if used:
            self.counts["used"] += used
            self._age_ns += total_ns
            self._users.add(node)
            if now_ns != self._last_use_ns:
                self._gap_until(now_ns)
            if len(rows) >= self.parts.full:
                self.parts.flush()

    def _gap_until(self, now_ns: int) -> None:
        first, last = self._longest_gap_ns
        if now_ns - self._last_use_ns > last - first:
            self._longest_gap_ns = self._last_use_ns, now_ns
        self._last_use_ns = now_ns

    def end(self, now_ns: int) -> None:
        """Settle what has no fate yet; the run has ended."""
        left = [(row, node, fates) for fates in self._open for node, (row, _) in fates.open.items()]
        for _, node, fates in sorted(left, key=itemgetter(0)):  # in the order of coming
            handed_ns = fates.handed_ns.get(node)
            if node in fates.late:
                fate = "late"
            elif node in fates.aged_ns:
                fate = "not_used"
            elif handed_ns is None:
                fate = "unread"
            elif handed_ns - fates.sent_ns > self.ages.limit_ns:
                fate = "too_old"
            else:
                fate = "not_used"
            fates.settle(node, fate)
        self._gap_until(now_ns)

    def _counted(self, rows: Rows) -> Rows:
        """Count the ages of messages by and by, as often as rows are written."""
        self.ages.count()
        return rows

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

        `servers`: nodes of role server.
        """
        arrived, used, lost = sum(self.counts.values()), self.counts["used"], len(self._lost_ns)
        if not arrived and not lost:
            return []
        fates = ", ".join(
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
                f"used ({fates}): the measured models learned without them{_remedy(self.counts)}",
            )]  # fmt: skip
        warnings = []
        first_ns, last_ns = self._longest_gap_ns
        in_vain = sum(first_ns < arrived_ns <= last_ns for arrived_ns in self._unused_ns)
        gone = sum(first_ns < lost_ns <= last_ns for lost_ns in self._lost_ns)
        if last_ns - first_ns >= horizon_ns / 5 and in_vain + gone >= len(self._receivers):
            warnings.append((
                "long without use",
                f"from {since:g} to {until:g} s, a fifth of the run or more, no model or other "
                f"value was used (messages that arrived in vain: {in_vain:,}, lost: {gone:,}); in "
                f"the whole run {used:,} of {arrived:,} that arrived were used"
                + (f", {fates}" if fates else "")
                + (_remedy(self.counts) if in_vain else ""),
            ))  # fmt: skip
        elif self.counts["late"] >= 0.2 * arrived:
            warnings.append((
                "messages late",
                f"{self.counts['late']:,} of {arrived:,} messages that arrived came too late to be "
                f"used{_remedy(self.counts)}",
            ))  # fmt: skip
        without = self._receivers - self._users
        if without and len(without) < len(self._receivers):
            idle = without & set(servers)
            one = f"node {min(idle)}, a server," if idle else f"node {min(without)}"
            warnings.append((
                "nodes that used none",
                f"{len(without)} of {len(self._receivers)} nodes at which messages arrived used "
                f"none of them ({one} is one)",
            ))  # fmt: skip
        return warnings


_SAID = {
    "late": "late",
    "superseded": "replaced by a later one",
    "too_old": "older than max_age_s",
    "ignored": "ignored by malicious nodes",
    "not_used": "given weight 0 or left aside",
    "unread": "still waiting at the end",
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
    """Ages of messages when algorithms get them.

    The age is the virtual time from sending to then: transmission, waiting in the mailbox, and,
    where an exchange gives each peer's freshest message, all the time since. A message that an
    algorithm gets again, or has kept and mixes again, is counted again, with the age it has then.
    One that came late, or is older than `limit_ns`, counts only where a job reads it, with the age
    it has then.

    Attributes
    ----------
    limit_ns : float
        The oldest that an exchange takes (`max_age_s`) [ns].
    of_kind : dict of str to array of int
        By kind, the ages at uses that have not been counted yet [ns]; a caller appends to them.
    """

    def __init__(self) -> None:
        self.limit_ns = math.inf
        self.of_kind: defaultdict[str, array[int]] = defaultdict(partial(array, "q"))
        # By kind: uses, and sum, sum of squares and largest of the ages in ns, as exact integers.
        self._by_kind: dict[str, tuple[int, int, int, int]] = {}

    def count(self) -> None:
        """Count the ages in `of_kind` and empty each."""
        for kind, ages in self.of_kind.items():
            if not ages:
                continue
            uses, total, squares, oldest = self._by_kind.get(kind, (0, 0, 0, 0))
            self._by_kind[kind] = (
                uses + len(ages), total + sum(ages), squares + sum(map(mul, ages, ages)),
                max(oldest, *ages),
            )  # fmt: skip
            del ages[:]

    def summary(self) -> dict[str, Any]:
        """`used mean_s std_s max_s` over all messages, and the same `by_kind`; empty if none."""
        self.count()
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
