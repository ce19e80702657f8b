"""A sweep's table for the terminal."""

from collections.abc import Sequence

from netsim.recording.summary_fields import MEASURES, definitions
from netsim.views.gathering.sweep_comparison import LEVEL, Estimate, PointResult, SweepDesign
from netsim.views.render.terminal_tables import Column, WrappedTable, title


def table(lines: Sequence[PointResult], show: Sequence[str], swept: SweepDesign) -> WrappedTable:
    """Means over seeds with their intervals, and paired differences to the first point.

    Parameters
    ----------
    lines : sequence of PointResult
        See `sweep_comparison.compare_points`.
    show : sequence of str
        Names of measures.
    swept : SweepDesign
        What was asked for.
    """
    first, seeds = next(iter(swept.points)), len(swept.seeds)
    several = any(line.point != first for line in lines)
    columns = []
    for name in show:
        means = [_mean(name, line.estimates.get(name), line) for line in lines]
        columns.append(Column(title(name), means))
        if several:
            differences = [_difference(name, line.estimates.get(name)) for line in lines]
            columns.append(
                Column(
                    f"Δ\n{title(name).partition(chr(10))[2]}", differences, keep_with_previous=True
                )
            )
    names = {
        "point": [line.point for line in lines],
        "algorithm": [line.algorithm for line in lines],
        "seeds": [
            str(line.seeds) if line.seeds == seeds else f"{line.seeds} of {seeds}" for line in lines
        ],
    }
    note = f"mean over seeds ± half its {100 * LEVEL:g} % interval" if seeds > 1 else "one seed"
    if several:
        note += f"; Δ: to {first}, paired by seed"
    ended = {line.point for line in lines}
    missing = [point for point in swept.points if point not in ended]
    if missing:
        note += f"; no run has ended of {', '.join(missing)}"
    told = definitions(show)
    return WrappedTable(names, columns, f"{note}\n{told}" if told else note)


def _mean(name: str, cell: Estimate | None, line: PointResult) -> str:
    if cell is None:
        return "-"
    few = "" if cell.seeds == line.seeds else f" ({cell.seeds} of {line.seeds})"
    return MEASURES[name].spelled(cell.mean, cell.half_width) + few


def _difference(name: str, cell: Estimate | None) -> str:
    if cell is None or cell.diff is None:
        return ""
    return MEASURES[name].spelled(cell.diff, cell.diff_half_width, "+")
