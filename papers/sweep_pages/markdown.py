"""Tables of a sweep in Markdown: names, definitions and digits are those of `netsim compare`."""

from collections.abc import Iterable, Mapping, Sequence

from netsim import MEASURES
from papers.sweep_pages.kept import Line, Sweep


def measures_table(
    sweep: Sweep, points: Mapping[str, str], lines: Sequence[Line] | None = None
) -> Iterable[str]:
    """Every point and algorithm with the measures that the sweep shows.

    Parameters
    ----------
    sweep : Sweep
    points : mapping of str to str
        What a point is called; empty: the sweep has one, which is not named.
    lines : sequence of Line, optional
        In their order; None: all, in the sweep's.
    """
    shown = [m for m in sweep.design.show if any(m in x.estimates for x in sweep.lines)]
    heads = [*(["point"] if points else []), "algorithm", *map(_title, shown)]
    yield row(heads)
    yield row(["---"] * len(heads))
    for line in sweep.lines if lines is None else lines:
        cells = [_cell(line, measure) for measure in shown]
        yield row([*([points[line.point]] if points else []), line.algorithm, *cells])


def _title(name: str) -> str:
    measure = MEASURES[name]
    unit = measure.unit.replace("#", "")
    return f"{measure.title} [{unit}]" if unit else measure.title


def _cell(line: Line, name: str) -> str:
    cell = line.estimates.get(name)
    if cell is None:
        return "-"
    few = "" if cell.size == line.seeds else f" ({cell.size} of {line.seeds})"
    return MEASURES[name].spelled(cell.mean, cell.half_width or None) + few


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def played_line(sweep: Sweep) -> str:
    """Describe the number of runs, their commit and their time."""
    runs = sum(len(by_seed) for of_point in sweep.rows.values() for by_seed in of_point.values())
    by = ", ".join(f"`{commit}`" for commit in sweep.played.commits)
    minutes = sweep.played.cpu_s / 60
    took = f"{minutes:.2g} minutes" if minutes < 100 else f"{minutes / 60:.2g} hours"
    many = len(sweep.design.seeds)
    there = f"{many} seeds" if sweep.seeds == many else f"{sweep.seeds} of {many} seeds"
    return f"*Played: {runs} runs, {there}, {took} of one core, commit {by}.*"
