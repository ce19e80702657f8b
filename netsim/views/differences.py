"""A sweep compared: means over seeds and paired differences, each with its interval."""

from typing import Any

from netsim.recording.summary_fields import MEASURES, definitions
from netsim.views import Column, OnPage, Panel, Printed, Shown
from netsim.views.gathering import names
from netsim.views.gathering.comparison import (
    LEVEL,
    Estimate,
    PointResult,
    are_few,
    measures_to_show,
    spread_in_words,
)
from netsim.views.gathering.numbers import rounded_list
from netsim.views.gathering.sweep_tables import SweepTables, described, title

TITLE = "Differences and their intervals"
PLACE = 20


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return differences to the first point and to the first algorithm; None of a search."""
    if not sweep.measures or sweep.trials:
        return None
    return Shown([Panel(OnPage("differences", gather(sweep)))], printed=printed(sweep))


def gather(sweep: SweepTables) -> dict[str, Any]:
    """By point and algorithm: means, differences to the first point and to the first algorithm.

    A cell is the mean, half its interval (None: one seed), the number of seeds, and where they are
    few the value of each seed, which is drawn in place of the interval.
    """
    shown, first = sweep.measures, sweep.algorithms[0]
    rows: list[dict[str, Any]] = [
        {
            "point": sweep.point_names[line.point],
            "algorithm": names.method(line.algorithm),
            "mean": [_cell(line.estimates.get(name)) for name in shown],
            "to_point": [_cell(_difference(name, line)) for name in shown],
            "to_algorithm": [_cell(_difference(name, beside)) for name in shown],
        }
        for line, beside in zip(sweep.lines, sweep.lines_to(first), strict=True)
    ]
    views = ("mean", "to_point", "to_algorithm")
    tables = {
        view: [
            spread_in_words(
                [row[view][k][2] for row in rows if row[view][k]], f"{100 * LEVEL:g} % interval"
            )
            for k in range(len(shown))
        ]
        for view in views
    }
    return {
        "measures": [described(name) for name in shown],
        "seeds": len(sweep.design.seeds),
        "first_point": sweep.point_names[next(iter(sweep.design.points))],
        "first_algorithm": names.method(first),
        "algorithms": [names.method(name) for name in sweep.algorithms],
        "around": {
            view: [
                {
                    "drawn": "" if one is None else one.drawn("dots", "bars"),
                    "has_bars": one is not None and (one.is_mixed or not one.seeds),
                    "printed": "" if one is None else f"±: half the {one.spread}",
                }
                for one in each
            ]
            for view, each in tables.items()
        },
        "rows": rows,
    }


def _difference(name: str, line: PointResult) -> Estimate | None:
    cell = line.estimates.get(name)
    return None if cell is None else cell.difference


def _cell(cell: Estimate | None) -> list[Any] | None:
    if cell is None:
        return None
    half = None if cell.half_width is None else rounded_list([cell.half_width])[0]
    each = rounded_list(cell.values) if are_few(cell.seeds) else None
    return [*rounded_list([cell.mean], 6), half, cell.seeds, each]


def printed(sweep: SweepTables) -> Printed:
    """Means over seeds with their intervals, and paired differences to the first point."""
    lines, swept = sweep.lines, sweep.design
    show = measures_to_show(lines, swept.show)
    first, seeds = next(iter(swept.points)), len(swept.seeds)
    several = any(line.point != first for line in lines)
    columns = []
    for name in show:
        means = [_cell_text(name, line.estimates.get(name), line) or "-" for line in lines]
        columns.append(Column(title(name), means))
        if several:
            unit = title(name).partition("\n")[2].replace("%", "pp")
            differences = [
                _cell_text(name, _difference(name, line), line, "+")
                or ("" if line.point == first else "-")
                for line in lines
            ]
            columns.append(Column(f"Δ\n{unit}", differences, keep_with_previous=True))
    rows = {
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
    defined = definitions(show)
    return Printed(rows, columns, f"{note}\n{defined}" if defined else note)


def _cell_text(name: str, cell: Estimate | None, line: PointResult, sign: str = "") -> str:
    if cell is None:
        return ""
    few = "" if cell.seeds == line.seeds else f" ({cell.seeds} of {line.seeds})"
    return MEASURES[name].spelled(cell.mean, cell.half_width, sign) + few
