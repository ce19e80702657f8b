"""The figures of a run and of several algorithms beside each other.

`draw` makes, in the run folder's `figures/`:

- `accuracy_vs_time.png`, `accuracy_vs_megabytes.png`: mean over nodes with its spread; of a task
  with another main metric, that metric and its name;
- `weights.png`: the collaboration weights at the end, who listens to whom;
- `weights_by_shared_classes.png`: the same weights by how many classes two nodes share;
- `reached.png`: messages delivered, and delivered share of those sent, by pair;
- `map.png`: where nodes are, and the links between them.

`draw_comparison` makes the first two with one curve an algorithm. What was not recorded is not
drawn. `curves` gives one of these two as a figure, of any metric.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.parquet_parts import Rows, part_files, read
from netsim.results import graph_figure, heatmaps, node_map, plot_style
from netsim.results import metrics as measured
from netsim.results.summary import labels, load

_TIME = "Virtual time [s]"
_MEGABYTES = "Transmitted by all nodes, headers included [MB]"
_BANDS = 4  # more bands than this hide each other
_SILENT = 0.005  # of the busiest run's traffic; such a curve would lie on the vertical axis


@dataclass(frozen=True)
class _Run:
    """What is drawn of one run folder."""

    folder: Path
    summary: dict[str, Any]
    metrics: Rows

    @property
    def main(self) -> MainMetric:
        """What it is judged by."""
        return MainMetric.of(self.summary)

    @staticmethod
    def of(folder: Path) -> "_Run":
        return _Run(folder, load(folder), read(folder / "metrics"))


@dataclass(frozen=True)
class _Line:
    """One curve with its band."""

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    band: NDArray[np.float64] | None


_Abscissa = Callable[[_Run, measured.Curve], NDArray[np.float64]]
AGAINST: dict[str, tuple[str, _Abscissa]] = {
    "time": (_TIME, lambda run, over_time: over_time.t_s),
    "megabytes": (_MEGABYTES, lambda run, over_time: measured.megabytes(run.folder, over_time.t_s)),
}
"""What curves are drawn against: the label of the axis, and where a run's evaluations lie on it."""


def _recorded(runs: Sequence[_Run]) -> list[str]:
    """The abscissae that every run has recorded: older ones did not count what they transmitted."""
    counted = all(part_files(run.folder / "traffic") for run in runs)
    return [name for name in AGAINST if counted or name != "megabytes"]


def draw(folder: Path) -> list[Path]:
    """Draw one run into its `figures/`.

    Parameters
    ----------
    folder : Path
        A run folder with a `summary.json`.

    Returns
    -------
    list of Path
        The pictures made.

    Raises
    ------
    ScenarioError
        If it is not a run folder.
    """
    run = _Run.of(folder)
    made = []
    wanted = _pictured(run)
    with plot_style.style():
        for against in _recorded([run]) if wanted else ():
            drawn = _of_one(run, wanted, against)
            if drawn is not None:
                made.append(plot_style.save(drawn, _path(folder, run.main.name, against)))
        title = title_of(run.summary)
        for name, figure in heatmaps.draw(folder, int(run.summary["nodes"]), title):
            made.append(plot_style.save(figure, folder / "figures" / name))
        for name, picture in (
            ("weights_by_shared_classes.png", graph_figure.draw(folder, title)),
            ("map.png", node_map.draw(folder, title)),
        ):
            if picture is not None:
                made.append(plot_style.save(picture, folder / "figures" / name))
    return made


def draw_comparison(parent: Path, folders: Sequence[Path]) -> list[Path]:
    """Draw several runs over each other into `parent/figures/`.

    Runs of one algorithm that differ in their seed become one curve: the mean over seeds of the
    mean over nodes, with the spread over seeds as its band. Otherwise the band is the spread over
    nodes. The caption says which.

    Parameters
    ----------
    parent : Path
    folders : sequence of Path
        Run folders.

    Returns
    -------
    list of Path
        The pictures made; none if no run measured the main metric. Of runs that are judged by
        different metrics there are none.

    Raises
    ------
    ScenarioError
        If one is not a run folder.
    """
    runs = [_Run.of(folder) for folder in folders]
    judged_by = list(dict.fromkeys(run.main.name for run in runs))
    if len(judged_by) > 1:
        return []
    wanted = list(dict.fromkeys(m for run in runs for m in _pictured(run)))
    made = []
    with plot_style.style():
        for against in _recorded(runs) if wanted else ():
            figure = _of_several(runs, wanted, against)
            if figure is not None:
                made.append(plot_style.save(figure, _path(parent, judged_by[0], against)))
    return made


def curves(
    folders: Sequence[Path], against: str = "time", metrics: Sequence[str] = ()
) -> Figure | None:
    """Metrics of one run, or of several over each other, as a figure with a panel a metric.

    Parameters
    ----------
    folders : sequence of Path
        Run folders.
    against : {"time", "megabytes"}
        Virtual time, or what all nodes have transmitted.
    metrics : sequence of str
        Which; none: the main metrics on test samples.

    Returns
    -------
    Figure or None
        None where there is nothing to draw: no such metric, or one evaluation alone.

    Raises
    ------
    ScenarioError
        If one is not a run folder.
    """
    runs = [_Run.of(folder) for folder in folders]
    found = list(dict.fromkeys(m for run in runs for m in _pictured(run)))
    if metrics:
        there = {m for run in runs for m in measured.names(run.metrics)}
        found = [m for m in metrics if m in there]
    if not found or against not in _recorded(runs):
        return None
    with plot_style.style():
        if len(runs) == 1:
            return _of_one(runs[0], found, against)
        return _of_several(runs, found, against)


def _of_one(run: _Run, wanted: Sequence[str], against: str) -> Figure | None:
    """The curves of one run."""
    label, abscissa = AGAINST[against]
    figure = _panels([_single(run, metric, abscissa) for metric in wanted], wanted, label)
    if figure is not None:
        plot_style.heading(figure, title_of(run.summary))
    return figure


def _of_several(runs: Sequence[_Run], wanted: Sequence[str], against: str) -> Figure | None:
    """One curve an algorithm, or a run."""
    label, abscissa = AGAINST[against]
    groups = _groups(runs)
    seeds = max(len(group) for group in groups.values())
    panels = []
    for metric in wanted:
        have = {
            title: [run for run in group if metric in measured.names(run.metrics)]
            for title, group in groups.items()
        }
        panels.append(
            [_grouped(title, group, metric, abscissa) for title, group in have.items() if group]
        )
    spread = f"{seeds} seeds" if seeds > 1 else "nodes"
    note = "mean ± standard deviation" if len(groups) <= _BANDS else "mean"
    figure = _panels(panels, wanted, label, f"{note} over {spread}")
    if figure is not None:
        plot_style.heading(figure, title_of(runs[0].summary, algorithm=False))
    return figure


def _path(folder: Path, metric: str, against: str) -> Path:
    return folder / "figures" / f"{metric}_vs_{against}.png"


def _pictured(run: _Run) -> list[str]:
    """The metrics drawn: where data is balanced, the personal accuracy repeats another."""
    found = run.main.of_tests(measured.names(run.metrics))
    return [m for m in found if m != "accuracy_personal"]


def title_of(summary: dict[str, Any], algorithm: bool = True) -> str:
    """What was run, as the heading of a figure."""
    name = str(summary.get("name", "run"))
    if algorithm and summary.get("algorithm", name) != name:
        name = f"{name} · {summary['algorithm']}"
    return f"{name} · {int(summary['nodes']):,} nodes"


def _groups(runs: Sequence[_Run]) -> dict[str, list[_Run]]:
    """Runs by algorithm if their seeds differ, else each by its own label."""
    by_algorithm: dict[str, list[_Run]] = {}
    for run in runs:
        by_algorithm.setdefault(str(run.summary.get("algorithm", run.folder.name)), []).append(run)
    if all(len({r.summary.get("seed") for r in g}) == len(g) for g in by_algorithm.values()):
        return by_algorithm
    names = labels([run.folder for run in runs], [run.summary for run in runs])
    return {name: [run] for name, run in zip(names, runs, strict=True)}


def _single(run: _Run, metric: str, abscissa: _Abscissa) -> list[_Line]:
    over_time = measured.curve(run.metrics, metric, run.main)
    x = abscissa(run, over_time)
    lines = [_Line("mean over nodes ± std", x, over_time.mean, over_time.std)]
    if over_time.nodes >= 10:
        lines.append(_Line("worst 10 % of nodes", x, over_time.worst, None))
    return lines


def _grouped(label: str, runs: Sequence[_Run], metric: str, abscissa: _Abscissa) -> _Line:
    curves = [measured.curve(run.metrics, metric, run.main) for run in runs]
    xs = [abscissa(run, c) for run, c in zip(runs, curves, strict=True)]
    if len(curves) == 1:
        return _Line(label, xs[0], curves[0].mean, curves[0].std)
    # seeds of one scenario are evaluated at the same times; one that was cut off ends the curve
    end = min(len(c.t_s) for c in curves)
    means = np.stack([c.mean[:end] for c in curves])
    x = np.stack([x[:end] for x in xs]).mean(axis=0)
    return _Line(label, x, means.mean(axis=0), means.std(axis=0, ddof=1))


def _panels(
    panels: Sequence[Sequence[_Line]], wanted: Sequence[str], x_label: str, note: str = ""
) -> Figure | None:
    """One panel a metric, side by side, with one legend; None if there is no extent to draw."""
    every = [line for lines in panels for line in lines]
    end = max(float(line.x.max()) for line in every)
    if end == 0:
        return None
    figure = plot_style.new_figure(5.0 if len(wanted) == 1 else 3.9 * len(wanted), 3.6)
    order = {label: i for i, label in enumerate(dict.fromkeys(line.label for line in every))}
    entries: dict[str, Any] = {}
    for i, (lines, metric) in enumerate(zip(panels, wanted, strict=True)):
        panel = figure.add_subplot(1, len(wanted), i + 1)
        drawn = []
        for line in lines:
            look_of = plot_style.curve_style(order[line.label], len(line.x))
            if x_label == _MEGABYTES and line.x.max() < _SILENT * end:
                # a curve over traffic needs traffic; a level can still be compared with
                level = float(line.y[-1])
                entry = panel.axhline(level, color=look_of["color"], linestyle=(0, (4, 2)))
                entries.setdefault(f"{line.label} (at the end; hardly sends)", entry)
                drawn.append(np.array([level]))
                continue
            entries.setdefault(line.label, panel.plot(line.x, line.y, **look_of)[0])
            drawn.append(line.y)
            if line.band is not None and len(lines) <= _BANDS:
                top = 1.0 if is_share(metric) else np.inf
                low, high = line.y - line.band, np.minimum(line.y + line.band, top)
                panel.fill_between(
                    line.x, low, high, color=look_of["color"], alpha=0.14, linewidth=0
                )
                drawn += [low, high]
        if is_share(metric):
            plot_style.share_axis(panel, f"{_spelled(metric)} [%]", np.concatenate(drawn))
        else:
            plot_style.value_axis(panel, _spelled(metric), np.concatenate(drawn))
        plot_style.number_axis(panel, x_label, end)
    plot_style.legend(figure, list(entries.values()), list(entries), note)
    return figure


def _spelled(metric: str) -> str:
    known = {"accuracy": "Test accuracy", "accuracy_all_classes": "Test accuracy, all classes"}
    if metric in known or "accuracy" in metric:
        return known.get(metric, metric.replace("_", " ").capitalize())
    where = ", common samples" if metric.endswith("_common") else ""
    return f"Test {metric.removesuffix('_common').replace('_', ' ')}{where}"
