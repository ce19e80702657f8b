"""Empirical distributions: of a metric over nodes, of delays and ages over messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import is_share
from netsim.results import metrics as measured
from netsim.results import plot_axes, plot_style
from netsim.results.plot_sheets import Sheet
from netsim.results.plots import layout, names
from netsim.results.plots import runs as of_runs
from netsim.results.plots.estimates import Floats, node_differences
from netsim.results.plots.numbers import Drawn, thinned
from netsim.results.plots.runs import Run
from netsim.results.terminal_tables import Row

OF_MESSAGES = {"delay": "Message delay", "age": "Age of messages at first use"}
"""Quantities of messages that arrived, and their names."""
_ARRIVED = ("delivered", "partial")
_POINTS = 400
_WIDE = 30.0
"""Ratio of the 99.9 % to the 0.1 % quantile from which an axis is logarithmic."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One distribution a curve.

    Attributes
    ----------
    what : str
        The metric, `delay` or `age`; as `accuracy minus FedAvg` of a difference.
    label, unit : str
        Of the horizontal axis.
    of : str
        What the shares are of.
    samples : mapping of str to array
        All values by curve, sorted.
    """

    what: str
    label: str
    unit: str
    of: str
    samples: Mapping[str, Floats]


def default_quantities(runs: Sequence[Run]) -> list[str]:
    """The main metric, where it was measured, and delays, where any message is known to arrive."""
    found = [runs[0].main.name] if runs[0].main.name in measured.names(runs[0].metrics) else []
    logged = any(len(_over_messages(run, "delay")) for run in runs if _has_log(run))
    return [*found, *(["delay"] if logged else [])]


def draw(
    runs: Sequence[Run], wanted: Sequence[str], sheet: Sheet, paired_to: str | None = None
) -> Drawn:
    """Draw distributions, a panel each; seeds of one curve are pooled.

    Parameters
    ----------
    runs : sequence of Run
    wanted : sequence of str
        Metrics, at each run's last evaluation; `delay` and `age` of messages.
    sheet : Sheet
    paired_to : str, optional
        A curve from which the other curves' differences are drawn, node by node, in a panel more.

    Raises
    ------
    ScenarioError
        If a run has not what is wanted, or there is no curve that `paired_to` means.
    """
    groups = of_runs.groups(runs)
    drawn = []
    for what in wanted:
        drawn.append(_panel(groups, what))
        if paired_to is not None and what not in OF_MESSAGES:
            drawn.append(_differences(groups, what, of_runs.reference(groups, paired_to)))
    columns = layout.columns_of(len(drawn), sheet)
    figure, axes = layout.panels(len(drawn), columns, sheet)
    places = {name: i for i, name in enumerate(groups)}
    entries: dict[str, Any] = {}
    for panel, on in zip(drawn, axes, strict=True):
        _draw_panel(panel, on, places, entries)
        on.set_xlabel(layout.wrapped(on.get_xlabel(), figure, columns))
    about = _about(groups, wanted, paired_to is not None) + _left_out(runs, wanted)
    layout.finish(figure, list(entries.values()), list(entries), about)
    rows = [row for panel in drawn for row in _rows(panel)]
    return Drawn(figure, rows, [row for panel in drawn for row in _short(panel)], about)


def steps(values: Floats) -> tuple[Floats, Floats]:
    """The distinct values of a sorted sample, and the share of it at or below each."""
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    return values[last], (last + 1) / len(values)


def _panel(groups: Mapping[str, Sequence[Run]], what: str) -> Panel:
    if what in OF_MESSAGES:
        samples = {
            name: np.sort(np.concatenate([_over_messages(run, what) for run in group]))
            for name, group in groups.items()
        }
        kept = {name: values for name, values in samples.items() if len(values)}
        if not kept:
            folder = next(iter(groups.values()))[0].folder
            raise ScenarioError(
                f"{folder / 'messages'}: outcome: no message arrived, so that there is no {what}; "
                "draw a metric, as with --metric accuracy"
            )
        return Panel(what, OF_MESSAGES[what], "s", "messages that arrived", kept)
    samples = {
        name: np.sort(np.concatenate([_over_nodes(run, what) for run in group]))
        for name, group in groups.items()
    }
    return Panel(what, names.metric(what), "%" if is_share(what) else "", "nodes", samples)


def _differences(groups: Mapping[str, Sequence[Run]], metric: str, minus: str) -> Panel:
    samples = {}
    for name, group in groups.items():
        if name != minus:
            pairs = of_runs.pairs(group, groups[minus])
            found = [node_differences(run, other, metric) for run, other in pairs]
            last = np.concatenate([list(one.values())[-1] for one in found])
            samples[name] = np.sort(last[np.isfinite(last)])
    label = names.difference(names.metric(metric), minus, alone=True)
    unit = "%" if is_share(metric) else ""
    return Panel(f"{metric} minus {minus}", label, unit, "nodes", samples)


def _left_out(runs: Sequence[Run], wanted: Sequence[str]) -> str:
    """Words on nodes without a finite number, which are in no curve; empty: there are none."""
    found = []
    for what in wanted:
        last = [] if what in OF_MESSAGES else [_at_the_end(run, what) for run in runs]
        lacking = sum(int((~np.isfinite(values)).sum()) for values in last)
        if lacking:
            found.append(f"{what}: {lacking} of {sum(map(len, last))} nodes have no finite number")
    return f"; left out of {'; '.join(found)}" if found else ""


def _at_the_end(run: Run, metric: str) -> Floats:
    """A metric of each node at the last evaluation, (N,)."""
    rows = measured.per_node_rows(run.metrics, metric)
    return np.asarray(rows["value"][rows["t_s"] == rows["t_s"][-1]], dtype=np.float64)


def _over_nodes(run: Run, metric: str) -> Floats:
    run.require_metric(metric)
    last = _at_the_end(run, metric)
    if not np.isfinite(last).any():
        raise ScenarioError(
            f"{run.folder / 'metrics'}: metric = {metric}: no node has a number at the last "
            "evaluation: its models have diverged"
        )
    return last[np.isfinite(last)]


def _has_log(run: Run) -> bool:
    return bool(run_folder.has(run.folder, "messages"))


def _over_messages(run: Run, what: str) -> Floats:
    if what == "age":
        run.require("uses")
        ages = run_folder.read(run.folder, "uses", ("age_at_use_s",))["age_at_use_s"]
        ages = np.asarray(ages, dtype=np.float64)
        return ages[np.isfinite(ages)]
    run.require("messages")
    rows = run_folder.read(run.folder, "messages", ("t_sent_s", "t_done_s", "outcome"))
    arrived = np.isin(rows["outcome"], _ARRIVED)
    return np.asarray((rows["t_done_s"] - rows["t_sent_s"])[arrived], dtype=np.float64)


def _draw_panel(panel: Panel, on: Axes, places: dict[str, int], entries: dict[str, Any]) -> None:
    """Draw one panel; new curves are added to the entries of the legend.

    Parameters
    ----------
    panel : Panel
    on : Axes
    places : dict of str to int
        The look of each curve.
    entries : dict
        Grows.
    """
    every = np.concatenate(list(panel.samples.values()) or [np.zeros(1)])
    in_seconds = panel.unit == "s"
    axis = names.quantity(panel.label, "s", every.tolist()) if in_seconds else None
    per = axis.per if axis else 0.01 if panel.unit == "%" else 1.0
    low, high = np.quantile(every, [0.001, 0.999])
    is_log = in_seconds and low > 0 and high > _WIDE * low
    for name, values in panel.samples.items():
        x, share = steps(values)
        at = list(thinned(len(x), _POINTS))
        start = x[0] if is_log else min(x[0], float(every.min()))
        x = np.concatenate([[start], x[at], [every.max()]]) / per
        share = np.concatenate([[0.0], share[at], [1.0]])
        look = plot_style.curve_style(places[name], len(x)) | {"clip_on": True}
        entries.setdefault(name, on.plot(x, 100 * share, drawstyle="steps-post", **look)[0])
    on.set_xlabel(axis.label if axis else panel.label)
    on.set_ylabel(layout.wrapped_once(f"Share of {panel.of} [%]"))
    on.set_ylim(0, 101.5)
    on.set_yticks([0, 25, 50, 75, 100])
    on.grid(color=plot_style.GRID, linewidth=0.8)
    on.tick_params(length=0)
    if " minus " in panel.what:
        on.axvline(0.0, color=plot_style.FAINT, linewidth=0.8, zorder=1)
    if is_log:
        on.set_xscale("log")
        plot_axes.without_formulas(on.xaxis)
        on.xaxis.set_major_formatter(FuncFormatter(lambda v, _: plot_axes.tick_text(v)))
    else:
        on.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        on.xaxis.set_major_formatter(FuncFormatter(lambda v, _: plot_axes.tick_text(v)))
        if panel.unit == "%" and " minus " not in panel.what:
            left, right = on.get_xlim()
            on.set_xlim(max(0.0, left), min(100.5, right))


def _about(groups: Mapping[str, Sequence[Run]], wanted: Sequence[str], is_paired: bool) -> str:
    """Describe the distribution."""
    run = next(iter(groups.values()))[0]
    seeds = max(len(group) for group in groups.values())
    nodes = f"{run.nodes:,} nodes"
    told = [f"{nodes} of each of {seeds} seeds" if seeds > 1 else nodes]
    if any(what not in OF_MESSAGES for what in wanted):
        told.append("at the last evaluation")
    if is_paired:
        told.append("differences by node")
    return ", ".join(told)


def _rows(panel: Panel) -> list[Row]:
    found: list[Row] = []
    for name, values in panel.samples.items():
        x, share = steps(values)
        found += [
            {
                "curve": name,
                "metric": panel.what,
                "unit": "s" if panel.unit == "s" else "1",
                "x": float(x[i]),
                "share_at_or_below": float(share[i]),
                "samples": len(values),
            }
            for i in thinned(len(x), _POINTS)
        ]
    return found


def _short(panel: Panel) -> list[Row]:
    """Quantiles."""
    scale = 100.0 if panel.unit == "%" else 1.0
    label = f"{panel.label} [s]" if panel.unit == "s" else panel.label
    return [
        {
            "curve": name,
            "what": label,
            **{
                f"{100 * q:g} %": float(scale * np.quantile(values, q, method="inverted_cdf"))
                for q in (0.05, 0.25, 0.5, 0.75, 0.95)
            },
            "samples": len(values),
        }
        for name, values in panel.samples.items()
    ]
