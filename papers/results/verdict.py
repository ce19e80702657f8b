"""Verdict of a table's numbers on the paper's claim, by one rule for all tables.

The lead of a method in a column is the mean over seeds of the difference to its best baseline, run
by run with the same seed, and its 95 % interval (Student's). The best baseline is the one that
leaves the smallest lead of those with the most seeds, local training included, among those that the
paper compares with; where a method has
several variants, the one with the highest accuracy on validation samples, over the seeds that all
of them have, stands for it. A lead *holds* if its whole interval is above zero, the method is
*behind* if all of it is below; else the lead is *not clear*. One seed has no interval and no
verdict.

Of the columns in which the paper has the method ahead of its own best baseline, or prints nothing:
all leads hold: "The lead holds"; the method is behind in some: "Not reproduced"; else "No clear
lead", with the columns in which the paper's lead is above the whole interval. Baselines that the
paper does not have may be in a table: where they leave another verdict, it is told after that one.
papers/README.md says the same for readers.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean
from typing import Literal

from papers.results import layout
from papers.results.leads import Lead, Seeds, paired, values_of
from papers.results.numbers import Numbers
from papers.results.tables import Cell, Column, Measure, PaperTable, Row, slug


class Verdict:
    """The numbers of a table at one number of rounds.

    Parameters
    ----------
    table : PaperTable
    numbers : Numbers
    rounds : int or None
        Fewer than the table's; None: all.
    measure : Measure, optional
        By which it goes; the table's first unless told.
    """

    def __init__(
        self,
        table: PaperTable,
        numbers: Numbers,
        rounds: int | None,
        measure: Measure | None = None,
    ) -> None:
        self.table, self.rounds = table, rounds
        self.measure = measure or table.measures[0]
        self._numbers = numbers
        self._name = self.measure.name

    def seeds(self, column: Column, row: Row, reading: str = "table") -> Seeds:
        """The results of a cell by seed."""
        key = (slug(column.name), row.id, reading, self.rounds)
        return self._numbers.get(key, {})

    def of_cell(self, cell: Cell) -> Seeds:
        """The same of a cell that may be of a reading."""
        return self._numbers.get((*cell.id, self.rounds), {})

    def mean(self, column: Column, row: Row) -> float | None:
        """The mean over seeds of the measure."""
        values = values_of(self.seeds(column, row), self._name)
        return fmean(values.values()) if values else None

    def _printed(self, row: Row, column: Column) -> float | None:
        """Return the paper's number of the measure."""
        return self.table.printed(row, column) if self.measure.printed else None

    def leads(self, against: Literal["paper", "all"] = "paper") -> Iterator[Lead]:
        """Every method of the paper in every column, against its own baselines or all."""
        methods = dict.fromkeys(r.competes_as for r in self.table.rows if r.role == "ours")
        for method in methods:
            for column in self.table.columns:
                yield self._lead(column, method, against)

    def _baselines(self, against: Literal["paper", "all"]) -> list[Row]:
        rows = [r for r in self.table.rows if r.role in ("local", "baseline")]
        return rows if against == "all" else [r for r in rows if not r.not_in_paper]

    def _lead(self, column: Column, method: str, against: Literal["paper", "all"]) -> Lead:
        row = self._standing(column, method)
        allowed = self._baselines(against)
        rivals = dict.fromkeys(r.competes_as for r in allowed)
        standing = [s for r in rivals if (s := self._standing(column, r, allowed)) is not None]
        own = self.seeds(column, row) if row is not None else {}
        pairs = [(paired(own, self.seeds(column, r), self._name), r) for r in standing]
        both = [(difference, r) for difference, r in pairs if difference is not None]
        most_seeds = max((difference.pairs for difference, _ in both), default=0)
        judged = [pair for pair in both if pair[0].pairs == most_seeds]
        difference, best = min(judged, key=lambda pair: pair[0].mean, default=(None, None))
        printed = [
            (value, r)
            for r in self.table.rows
            if r.role in ("local", "baseline") and (value := self._printed(r, column)) is not None
        ]
        most, there = max(printed, key=lambda pair: pair[0], default=(0.0, None))
        shown = [row] if row else [r for r in self.table.rows if r.competes_as == method]
        values = [v for r in shown if (v := self._printed(r, column)) is not None]
        lead = max(values) - most if values and there is not None else None
        return Lead(column, method, row, best, difference, there, lead)

    def _standing(
        self, column: Column, method: str, allowed: Sequence[Row] | None = None
    ) -> Row | None:
        """The row that stands for a method: the best on validation samples of those played."""
        among = self.table.rows if allowed is None else allowed
        rows = [r for r in among if r.competes_as == method and r.role != "other"]
        played = [r for r in rows if values_of(self.seeds(column, r), self._name)]
        if not played:
            return None
        common = set.intersection(*(set(self.seeds(column, r)) for r in played))

        def validated(row: Row) -> float:
            results = self.seeds(column, row)
            seeds = common or results
            found = [c for seed in seeds if (c := results[seed].choose) is not None]
            return fmean(found) if found else 0.0

        return max(played, key=validated)

    def _stands(self, column: Column, row: Row) -> bool:
        return row.role != "other" and self._standing(column, row.competes_as) == row

    def sentence(self) -> str:
        """The verdict on the whole table."""
        told = self._told("paper")
        if not told:
            return ""
        if not any(rounds == self.rounds for (*_, rounds) in self._numbers):
            return "Not played yet."
        untouched = [c for c in self.table.columns if not c.missing and not self._played(c)]
        left = layout.named(untouched, self.table.columns) if untouched else ""
        with_all = self._told("all")
        parts = [
            told,
            f"With baselines that the paper does not have: {with_all[0].lower()}{with_all[1:]}"
            if with_all != told
            else "",
        ]
        parts += [self.order(), self.distance(), f"Not played yet: {left}." if left else ""]
        return " ".join(filter(None, parts))

    def _told(self, against: Literal["paper", "all"]) -> str:
        """The verdict on each method; empty where the table has no method of the paper."""
        leads = list(self.leads(against))
        methods = dict.fromkeys(lead.method for lead in leads)
        untouched = [c for c in self.table.columns if not c.missing and not self._played(c)]
        by_told: dict[str, list[str]] = {}
        for method in methods:
            own = [lead for lead in leads if lead.method == method and lead.column not in untouched]
            by_told.setdefault(_on_method(own, self.table.columns), []).append(method)
        parts = [
            f"{', '.join(of)}: {told}" if len(methods) > 1 else told[0].upper() + told[1:]
            for told, of in by_told.items()
        ]
        return " ".join(parts)

    def _played(self, column: Column) -> bool:
        return any(self.seeds(column, row) for row in self.table.rows)

    def order(self) -> str:
        """Describe the number of pairs of rows that are in the order of the paper."""
        same = pairs = 0
        for column in self.table.columns:
            both = []
            for row in self.table.rows:
                here, there = self.mean(column, row), self._printed(row, column)
                if here is not None and there is not None and self._stands(column, row):
                    both.append((here, there))
            for (a, p), (b, q) in combinations(both, 2):
                if p != q:
                    pairs += 1
                    same += (a - b) * (p - q) > 0
        return f"Order: {same} of {pairs} pairs of rows as in the paper." if pairs else ""

    def distance(self) -> str:
        """Describe the distance of the cells from the printed ones."""
        far = []
        for column in self.table.columns:
            for row in self.table.rows:
                here, there = self.mean(column, row), self._printed(row, column)
                if here is not None and there is not None and self._stands(column, row):
                    far.append((abs(here - there), f"{row.name}, {column.name}"))
        if not far or self.measure.unit != "%":
            return ""
        most, which = max(far)
        if len(far) == 1:
            return f"The cell compared ({which}) is {100 * most:.1f} points from the printed one."
        mean = fmean(distance for distance, _ in far)
        return (
            f"The {len(far)} cells compared are {100 * mean:.1f} points from the printed figures "
            f"on average, at most {100 * most:.1f} ({which})."
        )


def _on_method(leads: list[Lead], columns: Sequence[Column]) -> str:
    """The verdict on one method."""

    def where(some: list[Lead]) -> str:
        return layout.named([lead.column for lead in some], columns)

    claimed = [lead for lead in leads if lead.printed is None or lead.printed > 0]
    by_word: dict[str, list[Lead]] = {}
    for lead in claimed:
        by_word.setdefault(lead.word, []).append(lead)
    held, behind, unclear = (by_word.get(w, []) for w in ("holds", "behind", "not clear"))
    parts = []
    if behind:
        worst = ", ".join(
            f"{-100 * lead.difference.mean:.1f} points behind {lead.baseline.name} "
            f"in {where([lead])}"
            for lead in behind
            if lead.difference and lead.baseline
        )
        parts.append(f"not reproduced: {worst}")
    elif unclear:
        parts.append(f"no clear lead in {where(unclear)} ({_seeds(unclear)})")
    if held:
        parts.append(f"{'it' if parts else 'the lead'} holds in {where(held)}")
    if behind and unclear:
        parts.append(f"not clear in {where(unclear)}")
    smaller = [lead for lead in unclear if lead.is_below_printed]
    if smaller:
        parts.append(f"the paper's lead is above the interval in {where(smaller)}")
    for lead in by_word.get("one seed", []):
        if lead.difference and lead.baseline:
            gap = _gap(lead.difference.mean, lead.baseline.name)
            parts.append(f"{gap} in {where([lead])} (one seed, not judged)")
    missing = [lead for lead in by_word.get("not played", []) if not lead.column.missing]
    for told, some in (
        ("no baseline is played yet", [lead for lead in missing if lead.row is not None]),
        ("not played yet", [lead for lead in missing if lead.row is None]),
    ):
        if some:
            parts.append(f"{told} in {where(some)}")
    others = [lead for lead in leads if lead not in claimed]
    if others:
        parts.append(f"the paper has none in {where(others)}")
    return "; ".join(parts or ["not to be played"]) + "."


def _gap(difference: float, baseline: str) -> str:
    """A difference between accuracies in words."""
    points = f"{abs(100 * difference):.1f} points"
    if points == "0.0 points":
        return f"level with {baseline}"
    return f"{points} {'ahead of' if difference > 0 else 'behind'} {baseline}"


def _seeds(leads: Sequence[Lead]) -> str:
    """Describe the number of seeds of leads."""
    pairs = [lead.difference.pairs for lead in leads if lead.difference]
    fewest, most = min(pairs), max(pairs)
    return f"{most} seeds" if fewest == most else f"{fewest} to {most} seeds"
