"""Trials of a search, the best of each algorithm first: the values that they drew and their scores.

Trials are judged by their scores; they are no pairs, so that no differences are taken.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import MEASURES, definitions
from netsim.units import is_number
from netsim.views import Column, Columns, Panel, Printed, Quantity, Row, Shown
from netsim.views.gathering import names
from netsim.views.gathering.comparison import LEVEL, PointResult, measures_to_show
from netsim.views.gathering.sweep_tables import SweepTables, described, measure_column, title
from netsim.views.gathering.swept import SweptAxis

TITLE = "Trials"
PLACE = 3

MOST_MEASURES = 12
"""Measures that a page shows."""


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return one row per trial, with all that was measured; None where there are no trials."""
    if not sweep.trials:
        return None
    found = _Trials(sweep)
    table: dict[str, Any] = {
        "trial": np.array([trial["point"] for trial in found.trials]),
        "algorithm": np.array([trial["algorithm"] for trial in found.trials]),
        "state": np.array([trial["state"] for trial in found.trials]),
        "score": found.scores,
    }
    columns = [Quantity(name, name) for name in table]
    columns[-1] = found.score
    for key in found.keys:
        values = [trial["values"].get(key) for trial in found.trials]
        numbers = all(value is None or is_number(value) for value in values)
        known = [value for value in values if value is not None]
        cells = [math.nan if v is None else v for v in values] if numbers else found.texts(key)
        table[key] = np.array(cells)
        columns.append(names.key(key, known if numbers else (), key))
    about = {}
    for name in [m for m in MEASURES if m in sweep.measures][:MOST_MEASURES]:
        table[name] = np.array([
            math.nan if line is None or name not in line.estimates else line.estimates[name].mean
            for line in found.lines
        ])  # fmt: skip
        columns.append(measure_column(name))
        about[name] = described(name)["about"]
    caption = (
        f"One row per trial, the best of each algorithm by {found.judge} first; means over seeds. "
        "A heading sorts."
    )
    panel = Panel(Columns(columns, caption, about=about), table)
    return Shown([panel], printed=printed(sweep))


def rows(sweep: SweepTables) -> list[Row]:
    """One row per trial: `trial algorithm state`, keys (None: it did not draw it), `score`."""
    found = _Trials(sweep)
    return [
        {
            "trial": trial["point"],
            "algorithm": trial["algorithm"],
            "state": trial["state"],
            **{key: trial["values"].get(key) for key in found.keys},
            "score": trial.get("score"),
        }
        for trial in found.trials
    ]


def printed(sweep: SweepTables) -> Printed:
    """Trials with their values and scores, and the measures that were asked for, or the first."""
    found = _Trials(sweep)
    named = {"trial": [str(trial["point"]) for trial in found.trials]}
    if any(trial["state"] != "done" for trial in found.trials):
        named["state"] = [str(trial["state"]) for trial in found.trials]
    columns = []
    for key in found.keys:
        axis = found.axis(key)
        columns.append(Column(f"{axis.label.lower()}\n{axis.unit}", found.texts(key)))
    heading = f"{found.judge.replace('_', ' ')}\n{found.score.unit}"
    scores = ["-" if math.isnan(s) else f"{s / found.score.per:.4g}" for s in found.scores]
    columns.append(Column(heading, scores))
    ended = [line for line in found.lines if line is not None]
    show = sweep.design.show or measures_to_show(ended, ())[:1]
    columns += [Column(title(m), [_cell_text(m, line) for line in found.lines]) for m in show]
    note = f"the best of each algorithm by {found.judge} first, the mean of its seeds"
    if len(sweep.design.seeds) > 1:
        note += f"; others: mean over seeds ± half its {100 * LEVEL:g} % interval"
    defined = definitions(show)
    return Printed(named, columns, f"{note}\n{defined}" if defined else note)


def _cell_text(name: str, line: PointResult | None) -> str:
    cell = None if line is None else line.estimates.get(name)
    if line is None or cell is None:
        return "-"
    few = "" if cell.seeds == line.seeds else f" ({cell.seeds} of {line.seeds})"
    return MEASURES[name].spelled(cell.mean, cell.half_width) + few


class _Trials:
    """Trials of a search in the order of their scores, those without one last."""

    def __init__(self, sweep: SweepTables) -> None:
        self.sweep = sweep
        self.judge = sweep.design.select or sweep.main.validation
        sign = 1.0 if sweep.main.is_lowest_best(self.judge) else -1.0
        order = list(dict.fromkeys(trial["algorithm"] for trial in sweep.trials))

        def place(trial: Mapping[str, Any]) -> tuple[int, bool, float, str]:
            value = trial.get("score")
            known = is_number(value) and trial["state"] == "done"
            rank = sign * float(value) if known and value is not None else 0.0
            return order.index(trial["algorithm"]), not known, rank, str(trial["point"])

        self.trials: Sequence[Mapping[str, Any]] = sorted(sweep.trials, key=place)

    @cached_property
    def keys(self) -> list[str]:
        """Keys that any trial drew."""
        return list(dict.fromkeys(key for trial in self.trials for key in trial["values"]))

    @cached_property
    def scores(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Scores; nan where there is none."""
        found = [trial.get("score") for trial in self.trials]
        return np.array([math.nan if s is None else s for s in found], dtype=np.float64)

    @property
    def score(self) -> Quantity:
        """The number that trials are judged by, as a column."""
        unit, per = ("%", 0.01) if is_share(self.judge) else ("", 1.0)
        return Quantity("score", self.judge.replace("_", " "), unit, per)

    def axis(self, key: str) -> Quantity:
        """A drawn key in its unit."""
        return self._swept(key).axis

    def texts(self, key: str) -> list[str]:
        """Values of a drawn key, in its unit; empty where a trial has none."""
        texts = iter(self._swept(key).texts)
        return [next(texts) if key in trial["values"] else "" for trial in self.trials]

    def _swept(self, key: str) -> SweptAxis:
        return SweptAxis.of(key, [t["values"][key] for t in self.trials if key in t["values"]])

    @cached_property
    def lines(self) -> list[PointResult | None]:
        """Means of each trial over the runs that have ended; None where none has."""
        ended = {(line.point, line.algorithm): line for line in self.sweep.lines}
        return [ended.get((str(t["point"]), t["algorithm"])) for t in self.trials]
