"""Results in a sweep's folder: its points, the trials of a search, the best, and what is missing.

`trials.json` lists the trials of a search; `best_trials` writes `trials.csv` and `best.json`.
"""

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from netsim.campaign import grid, sweep_folder
from netsim.campaign.sweep_folder import definition
from netsim.campaign.sweep_points import place_of, points_of
from netsim.engine.runner import RunFailedError
from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder, summary_fields
from netsim.recording.csv_files import write_csv
from netsim.recording.json_files import json_file
from netsim.recording.keys_without_effect import unmoved_in
from netsim.recording.main_metric import ACCURACY, MainMetric
from netsim.recording.run_mismatches import changed_in, misplaced_in
from netsim.recording.run_warnings import warned_in
from netsim.recording.whole_files import write_text
from netsim.registry import did_you_mean
from netsim.scenario import Scenario, Sweep
from netsim.scenario.draft import in_words
from netsim.scenario.labels import csv_cell, shown
from netsim.units import is_number
from netsim.views.gathering.comparison import require_possible

if TYPE_CHECKING:
    from netsim.views.gathering.comparison import SweepDesign
    from netsim.views.gathering.sweep_tables import SweepTables

TRIALS = "trials.json"

NAMED = 12
"""Runs that are not done are listed up to this many."""


def is_sweep(folder: Path) -> bool:
    """Return whether results of a sweep are in a folder."""
    return bool(definition(folder))


def require_run(folder: Path) -> None:
    """Refuse the folder of a sweep where that of a run is wanted.

    Raises
    ------
    ScenarioError
        Names one of its runs.
    """
    if is_sweep(folder):
        runs = sweep_folder.runs_with(folder, "status.json")
        such = f", such as {one_line(runs[0])}" if runs else ""
        raise ScenarioError(
            f"{one_line(folder)}: is the folder of a sweep; name one of its runs{such}"
        )


def has_results(scenario: Scenario, top: Path) -> bool:
    """Return whether a sweep has a finished run that the tables can show."""
    assert scenario.sweep is not None
    names = [entry.name for entry in scenario.algorithm]
    swept = design(top, scenario.sweep, scenario.seed, names)
    return any(
        any((top / place_of(label, seed)).glob("*/summary.json"))
        for label in swept.points
        for seed in swept.seeds
    )


def design(
    folder: Path, sweep: Sweep, seed: int, algorithms: Sequence[str], select: str | None = None
) -> "SweepDesign":
    """Return the design of a sweep; of a search the trials so far.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    seed : int
        Of the scenario.
    algorithms : sequence of str
        Names of the scenario's.
    select : str or None
        What trials are judged by; None: the validation metric of the task.
    """
    from netsim.views.gathering.comparison import SweepDesign

    points = {point.label: point.values for point in points_of(sweep.over)}
    if sweep.trials:
        points = played_points(folder)
    seeds, names = grid.seeds(sweep, seed), tuple(algorithms)
    return SweepDesign(points, seeds, sweep.target, sweep.show, sweep.against, names, select)


def design_of(
    folder: Path,
    target: float | None = None,
    show: Sequence[str] | None = None,
    against: str | None = None,
) -> "SweepDesign":
    """Return the design of the sweep in a folder.

    Parameters
    ----------
    target : float or None
        Value of the main metric whose first crossing is told; None: the sweep's own.
    show : sequence of str or None
        Names of measures; None: the sweep's own.
    against : str or None
        Algorithm over which the others' lead is told; None: the sweep's own.

    Raises
    ------
    ScenarioError
        If the folder does not say, or says another thing than the sweep began with, or has no such
        algorithm.
    """
    raw = sweep_folder.definition_as_begun(folder)
    drawn = raw["sweep"].get("draw", {})
    if isinstance(drawn, dict):  # lists as the model reads them
        drawn = {key: {"values": v} if isinstance(v, list) else v for key, v in drawn.items()}
    table = {**raw["sweep"], "draw": drawn}
    entries = raw.get("algorithm", [])
    names = [e["name"] for e in (entries if isinstance(entries, list) else [entries])]
    if target is not None:
        for run in sweep_folder.runs_with(folder, "summary.json")[:1]:
            require_possible(target, MainMetric.of(run_folder.summary(run)))
        table["target"] = target
    if show is not None:
        table["show"] = show
    if against is not None:
        if against not in names:
            raise ScenarioError(
                f"{in_words('--against', against)}: is no algorithm of this sweep; it has "
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
    metrics = raw.get("metrics", {})
    select = sweep.select or (metrics.get("main") if isinstance(metrics, dict) else None)
    return design(folder, sweep, seed, names, select)


def tables_of(
    folder: Path,
    target: float | None = None,
    show: Sequence[str] | None = None,
    against: str | None = None,
) -> "SweepTables":
    """The tables of a sweep by its folder, of a search with its trials.

    Parameters
    ----------
    folder, target, show, against
        As of `design_of`.

    Raises
    ------
    ScenarioError
        As `design_of`.
    """
    from netsim.views.gathering.sweep_tables import SweepTables

    return SweepTables(folder, design_of(folder, target, show, against), read_trials(folder))


def measures_named(text: str) -> list[str]:
    """The measures that `--show` names.

    Raises
    ------
    ScenarioError
    """
    try:
        return [summary_fields.measure_name(name.strip()) for name in text.split(",")]
    except ValueError as error:
        raise ScenarioError(f"{in_words('--show', text)}: {one_line(error)}") from None


def left_out(folder: Path) -> list[str]:
    """Lines that name the unfinished runs of a sweep; of a search, what its trials became.

    More where files or sources changed between runs, a key made no difference, or runs warned.
    """
    lines = missing(folder)
    if is_search(folder):
        words = Counter(trial["state"] for trial in read_trials(folder))
        counts = ", ".join(f"{count} {word}" for word, count in words.items())
        lines = [f"trials: {counts or 'none'}; {TRIALS} lists them"]
    return lines + remarks(folder, design_of(folder))


def missing(folder: Path) -> list[str]:
    """Lines that name the unfinished runs of a sweep; none of a search: trials may end early."""
    if is_search(folder):
        return []
    swept = design_of(folder)
    lines = sweep_folder.undone(folder, swept.points, swept.seeds, swept.algorithms)
    return limit_lines([f"not there: {line}" for line in lines], NAMED)


def misplaced(folder: Path) -> list[str]:
    """Sentences on ended runs of a sweep that are not those that belong at their places."""
    return misplaced_in(folder, _ended(folder), design_of(folder).points)


def _ended(folder: Path) -> list[Path]:
    runs = sweep_folder.runs_with(folder, "environment.json")
    return [run for run in runs if sweep_folder.state(run) == "done"]


def remarks(folder: Path, swept: "SweepDesign") -> list[str]:
    """Sentences on what ended runs of a sweep do not share, keys without effect, and warnings."""
    done = _ended(folder)
    warned = limit_lines(warned_in(folder, done), NAMED)
    return changed_in(folder, done, swept.points) + unmoved_in(swept.points, done) + warned


def limit_lines(lines: Sequence[str], most: int) -> list[str]:
    """Lines, the last of which says how many were left out."""
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]


def is_search(folder: Path, minus: str = "") -> bool:
    """Return whether a sweep's points are trials; `minus`: to what differences are wanted.

    Raises
    ------
    ScenarioError
        If differences of trials are wanted, which are no pairs.
    """
    found = bool(definition(folder)["sweep"].get("trials"))
    if found and minus:
        raise ScenarioError(
            f"{folder / 'scenario.toml'}: sweep.trials: trials of a search are no pairs; leave out "
            f"--paired-to {minus}"
        )
    return found


def read_trials(top: Path) -> list[dict[str, Any]]:
    """The trials of a sweep's folder: `point algorithm values state score` of each."""
    try:
        found: Any = json_file(top / TRIALS)
    except (FileNotFoundError, ScenarioError):
        return []
    needed = {"point", "algorithm", "state", "values"}
    return list(found) if all(needed <= trial.keys() for trial in found) else []


def played_points(top: Path) -> dict[str, dict[str, Any]]:
    """The trials of a sweep's folder in the order of their names: labels and values."""
    found = {trial["point"]: dict(trial["values"]) for trial in read_trials(top)}
    return dict(sorted(found.items()))


def score(summary: dict[str, Any], select: str) -> float | None:
    """The number by which a trial is judged: a metric's mean over nodes at its last evaluation."""
    found = _selected(summary, select)
    return float(found) if is_number(found) else None


def require_number(summary: dict[str, Any], select: str, run: Path) -> None:
    """Refuse a `select` that no model of a run could have as a number: null is one that diverged.

    Parameters
    ----------
    summary : dict
        Of the run.
    run : Path
        Its folder, for the message.

    Raises
    ------
    RunFailedError
    """
    found = _selected(summary, select)
    if found is None or is_number(found):
        return
    known = [name for name, block in summary.items() if isinstance(block, dict) and "mean" in block]
    raise RunFailedError(
        f'[sweep] select = "{one_line(select)}": {run} has no such number'
        f"{did_you_mean(select, known) or '.'} Its metrics are {', '.join(known) or 'none'}; a "
        "path into its summary.json may stand there, too, such as delay.mean_s. Search with "
        "another select, in another folder"
    )


def _selected(summary: dict[str, Any], select: str) -> Any:
    """Value at a path of keys, of a metric its mean; empty text where there is nothing."""
    found: Any = summary
    for key in select.split("."):
        found = found.get(key, "") if isinstance(found, dict) else ""
    return found.get("mean", "") if isinstance(found, dict) else found


def best_trials(
    points: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    names: Sequence[str],
    select: str,
    out: Path,
    main: MainMetric = ACCURACY,
) -> dict[str, dict[str, Any]]:
    """The best point of every algorithm; writes `trials.csv` and `best.json`.

    Parameters
    ----------
    points : mapping of str to mapping
        Values by label, in the sweep's order; left out are those of which a seed has no score, as
        its run failed, diverged, was ended early or is still to come: the others would be the lucky
        ones.
    names : sequence of str
        Of the algorithms.
    select : str
        The metric, or a path into the summary: the highest wins, the lowest where
        `main.is_lowest_best`.
    out : Path
        The sweep's folder.
    main : MainMetric
        Of the task.

    Returns
    -------
    dict
        By algorithm: `point`, `values` (key paths and their values), `score` (mean over seeds),
        `std_seeds` and `seeds`. Empty where no point has the metric of all its seeds.
    """
    rows: list[dict[str, Any]] = []
    best: dict[str, dict[str, Any]] = {}
    sign = -1.0 if main.is_lowest_best(select) else 1.0
    for label, values in points.items():
        for name in names:
            scores = _scores(out, label, seeds, name, select)
            if not scores:
                continue
            mean = statistics.fmean(scores)
            spread = statistics.stdev(scores) if len(scores) > 1 else None
            found: dict[str, Any] = {"score": mean, "std_seeds": spread, "seeds": len(scores)}
            cells = {key: csv_cell(value) for key, value in values.items()}
            rows.append({"point": label, "algorithm": name, **cells, **found})
            if name not in best or sign * mean > sign * best[name]["score"]:
                best[name] = {"point": label, "values": dict(values), **found}
    if rows:
        write_csv(out / "trials.csv", rows)
        write_text(out / "best.json", json.dumps(best, indent=2) + "\n")
    return best


def _scores(top: Path, label: str, seeds: Sequence[int], name: str, select: str) -> list[float]:
    """The scores of a point's runs, one a seed; empty if one of them has none."""
    found = []
    for seed in seeds:
        run = top / place_of(label, seed) / name
        has_ended = sweep_folder.state(run) == "done"
        value = score(run_folder.summary(run), select) if has_ended else None
        if value is None:
            return []
        found.append(value)
    return found
