"""The page of a paper, written from the numbers of its tables."""

import re
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from papers.results import layout
from papers.results.layout import Head, rows
from papers.results.leads import Difference, Lead, Seeds, paired, values_of
from papers.results.numbers import CurvePoint, Numbers, Result
from papers.results.tables import Cell, Column, Measure, PaperTable, Row, cells
from papers.results.verdict import Verdict

PREFACE = """\
# {paper}: printed and played

Written by `python -m papers.results page`; numbers are in `papers/numbers`, tables in
`papers/tables`. How to read a cell, and the rule by which verdicts are made:
[README.md](README.md).
"""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def page(tables: Sequence[tuple[PaperTable, Numbers, Sequence[CurvePoint]]]) -> str:
    """The whole page of a paper.

    Parameters
    ----------
    tables : sequence of (PaperTable, Numbers, sequence of CurvePoint)
    """
    found = [PREFACE.format(paper=tables[0][0].paper)]
    for table, numbers, points in tables:
        found += [f"## {table.title}", "", *_section(table, numbers, points)]
    return "\n".join(found).rstrip() + "\n"


def lengths(numbers: Numbers) -> list[int | None]:
    """The numbers of rounds that were played, all of them first."""
    found = {rounds for (*_, rounds) in numbers}
    return sorted(found, key=lambda r: -(r or 1 << 30)) or [None]


def _section(table: PaperTable, numbers: Numbers, points: Sequence[CurvePoint]) -> Iterable[str]:
    for rounds in lengths(numbers):
        verdict = Verdict(table, numbers, rounds)
        told = verdict.sentence()
        cut = f" ({rounds} of {table.rounds} rounds)" if rounds else ""
        if told:
            yield from (f"**Verdict{cut}.** {told}", "")
            yield from _by_other_measures(table, numbers, rounds)
    for heading in ("about", "spread", "tuned", "cut"):
        text = getattr(table, heading).strip()
        if text:
            yield from (f"**{_HEADINGS[heading]}.** {text}", "")
    yield from _played(table, numbers)
    for rounds in lengths(numbers):
        verdict = Verdict(table, numbers, rounds)
        if rounds:
            yield from (f"### {rounds} of {table.rounds} rounds", "")
        yield from _tables(verdict)
        for measure in table.measures:
            if measure.unit == "%":
                yield from _leads(Verdict(table, numbers, rounds, measure))
        yield from _choice(verdict)
        yield from _against_every_row(verdict)
        yield from _readings(verdict)
    yield from _curves(table, points)
    if table.remarks.strip():
        yield from ("### Remarks", "", table.remarks.strip(), "")


def _by_other_measures(table: PaperTable, numbers: Numbers, rounds: int | None) -> Iterable[str]:
    """The verdict as it would be by the other accuracies."""
    if not numbers or not any(row.printed for row in table.rows):
        return
    for measure in table.measures[1:]:
        if measure.unit == "%":
            told = Verdict(table, numbers, rounds, measure).sentence()
            yield from (f"*By {measure.name}:* {told}", "")


def verdict_line(table: PaperTable, numbers: Numbers) -> str:
    """A table's verdict as an item of a list; empty if it has none."""
    rounds = lengths(numbers)[0]
    told = Verdict(table, numbers, rounds).sentence()
    cut = f", {rounds} of {table.rounds} rounds" if rounds else ""
    paper = table.paper.partition(" (")[0]
    return f"- **{paper}**, [{table.title}]({table.page}.md){cut}: {told}" if told else ""


_HEADINGS = {
    "about": "Setting",
    "spread": "The paper's ±",
    "tuned": "Tuned",
    "cut": "Smaller than in the paper",
}


def _played(table: PaperTable, numbers: Numbers) -> Iterable[str]:
    """Yield progress, program and time of the runs."""
    results = [result for seeds in numbers.values() for result in seeds.values()]
    commits = dict.fromkeys(result.commit for result in results if result.commit)
    parts = [_how_many(table, numbers)]
    if results:
        parts.append(hours(results))
        by = ", ".join(f"`{one}`" for one in commits)
        parts.append(f"commit {by}" if commits else "the commit is not known")
    yield f"**Played.** {'; '.join(parts)}."
    for why in dict.fromkeys(c.missing for c in table.columns if c.missing):
        some = [c for c in table.columns if c.missing == why]
        yield f"Not to be played ({why}): {layout.named(some, table.columns)}."
    yield from (
        "",
        f"    python -m papers.results play {table.name} --runs FOLDER",
        f"    python -m papers.results page {table.name} --runs FOLDER",
        "",
    )


def _how_many(table: PaperTable, numbers: Numbers) -> str:
    """Describe the number of played runs, of those planned, and of others."""
    planned = {(cell.id, seed) for cell in cells(table) for seed in cell.seeds}
    whole = {(w[:3], seed) for w, seeds in numbers.items() if w[3] is None for seed in seeds}
    count = len(whole & planned)
    told = f"{count} run{' is' if count == 1 else 's are'} played of {len(planned)} planned"
    if whole - planned:
        told += f", {len(whole - planned)} of other seeds"
    for rounds in filter(None, lengths(numbers)):
        cut = sum(len(seeds) for w, seeds in numbers.items() if w[3] == rounds)
        told += f", {cut} with {rounds} of {table.rounds} rounds"
    return told


def hours(results: Sequence[Result]) -> str:
    """Describe the hours that runs took and were estimated to take, in CPU hours."""
    took = [r.cpu_s for r in results if r.cpu_s is not None]
    both = [r for r in results if r.cpu_s is not None and r.estimated_s is not None]
    told = f"{_hours(sum(took))} h of one core"
    if both:
        thought = _hours(sum(r.estimated_s or 0.0 for r in both))
        same = _hours(sum(r.cpu_s or 0.0 for r in both))
        whole = len(both) == len(took)
        told += f", estimated {thought} h"
        told += "" if whole else f" for {len(both)} of the runs, which took {same} h"
    return told


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g}" if seconds < 36000 else f"{seconds / 3600:.0f}"


def _tables(verdict: Verdict) -> Iterable[str]:
    """A table a measure of what is played, then what is only printed."""
    table = verdict.table
    has_printed = any(row.printed for row in table.rows)
    for number, measure in enumerate(table.measures):
        first = has_printed and number == 0
        title = f"{measure.name[0].upper()}{measure.name[1:]}"
        played = [c for c in table.columns if _is_played(verdict, measure, [c], table.rows)]
        heads = [Head(c.name, w) for c in played for w in (("paper", "here") if first else ("",))]
        lines = [
            (row.name, _cells(verdict, measure, played, row, first))
            for row in table.rows
            if (first and row.printed) or _is_played(verdict, measure, played, [row])
        ]
        yield from layout.tables(title, _unit(measure), heads, lines)
        if first:
            yield from _only_printed(table, [c for c in table.columns if c not in played])


def _is_played(
    verdict: Verdict, measure: Measure, columns: Sequence[Column], some: Sequence[Row]
) -> bool:
    return any(values_of(verdict.seeds(c, row), measure.name) for c in columns for row in some)


def _cells(
    verdict: Verdict, measure: Measure, columns: Sequence[Column], row: Row, printed: bool
) -> list[str]:
    cells = []
    for column in columns:
        cells += [_printed(verdict.table, row, column)] if printed else []
        planned = len(column.seeds or verdict.table.seeds)
        cells.append(cell_text(verdict.seeds(column, row), measure, planned))
    return cells


def _only_printed(table: PaperTable, columns: Sequence[Column]) -> Iterable[str]:
    """Yield the paper's numbers in columns of which nothing is played."""
    for why in sorted({column.missing for column in columns}):
        some = [column for column in columns if column.missing == why]
        lines = [
            (row.name, [_printed(table, row, column) for column in some])
            for row in table.rows
            if row.printed
        ]
        told = f"not to be played ({why})" if why else "not played yet"
        yield from layout.tables(
            f"In the paper, {told}", "[%]", [Head(column.name) for column in some], lines
        )


def _unit(measure: Measure) -> str:
    return f"[{measure.unit}]" if measure.unit else ""


def _printed(table: PaperTable, row: Row, column: Column) -> str:
    cell = row.printed[table.columns.index(column)] if row.printed else ""
    if table.unit != "fraction":
        return cell or "-"
    return _NUMBER.sub(lambda found: f"{100 * float(found[0]):.1f}", cell) if cell else "-"


def cell_text(seeds: Seeds, measure: Measure, planned: int) -> str:
    """A cell: mean ± deviation over seeds (deviation over nodes) [seeds, if not all].

    Parameters
    ----------
    seeds : mapping of int to Result
    measure : Measure
    planned : int
        As many seeds are planned.
    """
    values = list(values_of(seeds, measure.name).values())
    if not values:
        return "not played"
    told = number(fmean(values), measure)
    if len(values) > 1:
        told += f" ± {number(stdev(values), measure)}"
    nodes = list(values_of(seeds, f"{measure.name}, nodes").values())
    if nodes:
        told += f" ({number(fmean(nodes), measure)})"
    return told if len(values) == planned else f"{told} [{len(values)}]"


def number(value: float, measure: Measure, sign: str = "") -> str:
    """A number in its measure's unit."""
    return f"{100 * value:{sign}z.1f}" if measure.unit == "%" else f"{value:{sign}.3g}"


def spelled(difference: Difference | None, measure: Measure) -> str:
    """A difference with half its interval."""
    if difference is None:
        return "-"
    told = number(difference.mean, measure, "+")
    if difference.half is None:
        return f"{told} (one seed)"
    return f"{told} ± {number(difference.half, measure)}"


def _leads(verdict: Verdict) -> Iterable[str]:
    """Each method against its best baseline."""
    measure = verdict.measure
    leads = [lead for lead in verdict.leads() if lead.difference is not None]
    if not leads:
        return
    yield from (f"**Lead over the best baseline** by {measure.name} [points], paired by seed", "")
    heads = ("column", "method", "best baseline here", "lead here", "seeds", "the lead")
    lines = (_lead_cells(lead, measure) for lead in leads)
    yield from rows([*heads, "best baseline in the paper", "lead there"], lines)


def _choice(verdict: Verdict) -> Iterable[str]:
    """Name the number by which the variants of a method compete."""
    table = verdict.table
    leads = [lead for lead in verdict.leads() if lead.difference is not None]
    if table.choose and leads and any(_has_variants(table, row.competes_as) for row in table.rows):
        yield "Of a method played in several variants, the one with the highest mean of"
        yield from (f"`{table.choose}` stands here, whatever the accuracy compared.", "")


def _has_variants(table: PaperTable, method: str) -> bool:
    return sum(row.competes_as == method for row in table.rows) > 1


def _against_every_row(verdict: Verdict) -> Iterable[str]:
    """Each method less every row, in points."""
    table, measure = verdict.table, verdict.measure
    leads = [lead for lead in verdict.leads() if lead.difference is not None]
    for method in dict.fromkeys(lead.method for lead in leads):
        own = [lead for lead in leads if lead.method == method]
        lines = [(row.name, [_less(verdict, lead, row) for lead in own]) for row in table.rows]
        lines = [line for line in lines if set(line[1]) - {"-", ""}]
        if _has_variants(table, method):
            lines.insert(0, ("*variant*", [lead.row.name for lead in own if lead.row]))
        title = f"{method} less every row"
        heads = [Head(lead.column.name) for lead in own]
        yield from layout.tables(title, f"by {measure.name} [points]", heads, lines)


def _less(verdict: Verdict, lead: Lead, row: Row) -> str:
    if lead.row is None or lead.row == row:
        return ""
    own, other = (verdict.seeds(lead.column, r) for r in (lead.row, row))
    return spelled(paired(own, other, verdict.measure.name), verdict.measure)


def _lead_cells(lead: Lead, measure: Measure) -> list[str]:
    assert lead.row is not None
    assert lead.baseline is not None
    assert lead.difference is not None
    there = "-" if lead.printed is None else number(lead.printed, measure, "+")
    return [
        lead.column.name,
        lead.row.name,
        lead.baseline.name,
        spelled(lead.difference, measure),
        str(lead.difference.pairs),
        lead.word,
        lead.printed_baseline.name if lead.printed_baseline else "-",
        there,
    ]


def _readings(verdict: Verdict) -> Iterable[str]:
    """Changes of the setting, by group: each cell and its difference to the unchanged one."""
    table = verdict.table
    groups = dict.fromkeys(reading.group for reading in table.readings)
    for group in groups:
        some = [c for c in cells(table) if c.reading is not None and c.reading.group == group]
        played = [cell for cell in some if verdict.of_cell(cell)]
        left = len(some) - len(played)
        yield from (f"### {group}", "")
        if left:
            yield from (f"{left} of {len(some)} cells are not played yet.", "")
        if not played:
            continue
        heads = [part for m in table.measures for part in (m.name, "difference")]
        lines = (_reading_cells(verdict, cell) for cell in played)
        yield from rows(["changed", "column", "row", *heads], lines)


def _reading_cells(verdict: Verdict, cell: Cell) -> list[str]:
    table, reading = verdict.table, cell.reading
    assert reading is not None
    seeds = verdict.of_cell(cell)
    other = table.row(reading.against) if reading.against else cell.row
    before = verdict.seeds(cell.column, other)
    line = [reading.name, cell.column.name, cell.row.name]
    if reading.against and reading.against != cell.row.name:
        line[2] += f", against {reading.against}"
    for measure in table.measures:
        line.append(cell_text(seeds, measure, len(cell.seeds)))
        line.append(spelled(paired(seeds, before, measure.name), measure))
    return line


def _curves(table: PaperTable, points: Sequence[CurvePoint]) -> Iterable[str]:
    for curve in table.curves:
        some = [p for p in points if p.curve == curve.name]
        if not some:
            continue
        names = list(dict.fromkeys(p.row for p in some))
        by = {(p.row, p.t_s): p for p in some}
        yield from (f"### {curve.name}", "", f"`{curve.metric}` [%], mean over seeds", "")
        moments = sorted({p.t_s for p in some})
        lines = ([f"{t_s:g}", *(_at(by.get((name, t_s))) for name in names)] for t_s in moments)
        yield from rows(["slot", *names], lines)


def _at(point: CurvePoint | None) -> str:
    return "-" if point is None else f"{100 * point.mean:.1f}"
