"""Tables of a sweep's finished runs, for `netsim compare` and for the sweep's end."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.text import Text

from netsim.campaign import grid as sweeps
from netsim.campaign import sweep_folder, trials
from netsim.campaign.sweep_folder import definition
from netsim.console import terminal
from netsim.console.sweep_options import measures_named
from netsim.console.sweep_progress import NAMED, listed
from netsim.errors import ScenarioError, one_line
from netsim.recording.main_metric import MainMetric
from netsim.recording.summary_fields import MEASURES
from netsim.recording.summary_fields import named as measure_named
from netsim.registry import did_you_mean
from netsim.scenario import Scenario, Sweep
from netsim.scenario.draft import said
from netsim.scenario.labels import shown
from netsim.views.render.terminal import WrappedTable


def design(folder: Path, sweep: Sweep, seed: int) -> Any:
    """Return the design of a sweep; of a search the trials so far.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    sweep : Sweep
    seed : int
        Of the scenario.

    Returns
    -------
    SweepDesign
    """
    from netsim.views.gathering.comparison import SweepDesign

    points = {point.label: point.values for point in sweeps.points(sweep)}
    if sweep.trials:
        points = trials.played_points(folder)
    return SweepDesign(points, sweeps.seeds(sweep, seed), sweep.target, sweep.show, sweep.against)


def point_table(lines: Any, swept: Any) -> WrappedTable:
    """The table of a sweep's points for the terminal."""
    from netsim.views import differences
    from netsim.views.gathering import comparison

    show = comparison.measures_to_show(lines, swept.show)
    return WrappedTable(differences.printed(lines, show, swept))


def is_sweep(folder: Path) -> bool:
    """Return whether results of a sweep are in a folder."""
    return bool(definition(folder))


def compared(
    folder: Path,
    target: float | None,
    show: str | None,
    csv: Path | None,
    against: str | None = None,
) -> WrappedTable:
    """The table of a sweep that has been played, by its folder.

    Parameters
    ----------
    folder : Path
    target : float or None
        Value of the main metric whose first crossing is told; None: the sweep's own.
    show : str or None
        Names of measures, separated by commas; None: the sweep's own.
    csv : Path or None
        Where to write the rows as CSV.
    against : str or None
        Algorithm over which the others' lead is told; None: the sweep's own.

    Raises
    ------
    ScenarioError
    """
    from netsim.recording.csv_files import write_csv
    from netsim.views.gathering import comparison

    named = None if show is None else measures_named(show)
    swept = design_of(folder, target, named, against)
    lines = comparison.compare_points(folder, swept)
    if csv is not None:
        write_csv(csv, comparison.tidy_rows(lines))
    return point_table(lines, swept)


def design_of(
    folder: Path,
    target: float | None = None,
    show: Sequence[str] | None = None,
    against: str | None = None,
) -> Any:
    """Return the design of the sweep in a folder.

    Parameters
    ----------
    folder : Path
    target : float or None
        Value of the main metric whose first crossing is told; None: the sweep's own.
    show : sequence of str or None
        Names of measures; None: the sweep's own.
    against : str or None
        Algorithm over which the others' lead is told; None: the sweep's own.

    Returns
    -------
    SweepDesign

    Raises
    ------
    ScenarioError
    """
    from netsim.recording.summary import load
    from netsim.views.gathering.comparison import require_possible

    raw = definition(folder)
    table = _table_of(raw)
    if target is not None:
        for done in islice(folder.glob("*/seed-*/*/summary.json"), 1):
            require_possible(target, MainMetric.of(load(done.parent)))
        table["target"] = target
    if show is not None:
        table["show"] = show
    if against is not None:
        names = _algorithms_of(raw)
        if against not in names:
            raise ScenarioError(
                f"{said('--against', against)}: is no algorithm of this sweep; it has "
                f"{', '.join(names)}{did_you_mean(against, names)}"
            )
        table["against"] = against
    try:
        sweep = Sweep.model_validate(table)
    except ValidationError as error:
        problem = one_line(error.errors()[0]["msg"].removeprefix("Value error, "))
        raise ScenarioError(f"{folder / 'scenario.toml'}: [sweep]: {problem}") from None
    seed = raw.get("seed", 0)
    if not isinstance(seed, int):
        raise ScenarioError(f"{folder / 'scenario.toml'}: seed = {shown(seed)}: is no seed")
    return design(folder, sweep, seed)


def _table_of(raw: dict[str, Any]) -> dict[str, Any]:
    """The `[sweep]` table in the form that the model reads: lists of a search as tables."""
    drawn = raw["sweep"].get("draw", {})
    if not isinstance(drawn, dict):
        return dict(raw["sweep"])
    draw = {key: {"values": v} if isinstance(v, list) else v for key, v in drawn.items()}
    return {**raw["sweep"], "draw": draw}


def _algorithms_of(raw: dict[str, Any]) -> list[str]:
    """The names of a sweep's algorithms."""
    entries = raw.get("algorithm", [])
    return [e["name"] for e in (entries if isinstance(entries, list) else [entries])]


def measures_of(folder: Path, lines: Any, named: Sequence[str]) -> list[str]:
    """The measures of a figure: those named, else the main metric.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    lines : sequence of PointResult
    named : sequence of str
        Their unit may be left out.

    Raises
    ------
    ScenarioError
        If one is no measure, or no run has it.
    """
    there = [name for name in MEASURES if any(name in line.estimates for line in lines)]
    if not named:
        main: list[str] = [name for name in ("accuracy", "main_metric") if name in there]
        return main or [name for name in ("delay_s", *there) if name in there][:1]
    try:
        found = [measure_named(word) for word in named]
    except ValueError as error:
        raise ScenarioError(f"--metric {error}") from None
    for name in found:
        if name not in there:
            raise ScenarioError(
                f"{folder}: --metric {name}: no run has it; there are {', '.join(there)}"
            )
    return found


def way(folder: Path, minus: str = "") -> Any:
    """Return the way to draw the sweep of a folder: a `Way` of `netsim.views.sweep`.

    Parameters
    ----------
    folder : Path
    minus : str
        The algorithm or point to which differences are drawn; empty: none are.

    Raises
    ------
    ScenarioError
        If differences of trials are wanted, which are no pairs.
    """
    from netsim.views.sweep import Way

    is_search = bool(definition(folder)["sweep"].get("trials"))
    if is_search and minus:
        raise ScenarioError(
            f"{folder / 'scenario.toml'}: sweep.trials: trials of a search are no pairs; leave out "
            f"--paired-to {minus}"
        )
    return Way(folder.resolve().name, minus, is_search)


def print_left_out(folder: Path) -> None:
    """Name the runs of a sweep that are not done on standard error."""
    raw = definition(folder)
    sweep = Sweep.model_validate(_table_of(raw))
    swept = design(folder, sweep, raw.get("seed", 0))
    names = _algorithms_of(raw)
    if sweep.trials:
        words = Counter(trial["state"] for trial in trials.recorded(folder))
        told = ", ".join(f"{count} {word}" for word, count in words.items())
        terminal.err().print(f"trials: {told or 'none'}; {trials.TRIALS} lists them", markup=False)
        return
    lines = sweep_folder.undone(folder, swept.points, swept.seeds, names)
    for line in listed(lines, NAMED):
        terminal.err().print(Text("not there: " * (not line.startswith("and ")) + line))


def has_results(scenario: Scenario, top: Path) -> bool:
    """Return whether a sweep has a finished run that the tables can show."""
    assert scenario.sweep is not None
    swept = design(top, scenario.sweep, scenario.seed)
    return any(
        any((top / label / f"seed-{seed}").glob("*/summary.json"))
        for label in swept.points
        for seed in swept.seeds
    )
