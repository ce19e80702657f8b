"""Empirical distributions: of a metric over nodes, of delays and ages over messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import metrics as measured
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED
from netsim.views import Ask, Lines, Panel, Quantity, Row, Shown
from netsim.views.gathering import names
from netsim.views.gathering import runs as of_several
from netsim.views.gathering.estimates import Floats, node_differences
from netsim.views.gathering.numbers import evenly, span, tidy

TITLE = "Distributions over nodes and messages"
PLACE = None
TAKES = ("metrics", "paired_to")

OF_MESSAGES = {"delay": "Message delay", "age": "Age of messages at first use"}
"""Quantities of messages that arrived, and their names."""
_POINTS = 400
_WIDE = 30.0
"""Ratio of the 99.9 % to the 0.1 % quantile from which an axis is logarithmic."""


@dataclass(frozen=True, eq=False)
class Samples:
    """One distribution a curve."""

    what: str
    """The metric, `delay` or `age`; as `accuracy minus FedAvg` of a difference."""
    axis: Quantity
    """The horizontal axis."""
    of: str
    """The whole of the shares, in words."""
    by_curve: Mapping[str, Floats]
    """All values, sorted."""


def default_quantities(runs: Sequence[RunFolder]) -> list[str]:
    """The main metric, where it was measured, and delays, where any message is known to arrive."""
    found = [runs[0].main.name] if runs[0].main.name in measured.names(runs[0].measured) else []
    having = [run for run in runs if run_folder.has(run.folder, "messages")]
    logged = any(len(_over_messages(run, "delay")) for run in having)
    return [*found, *(["delay"] if logged else [])]


def of_runs(runs: Sequence[RunFolder], ask: Ask) -> Shown:
    """Return distributions, a panel each; seeds of one curve are pooled.

    A metric's values are those of the nodes at a run's last evaluation; `delay` and `age` are of
    messages. With `paired_to`, one more panel has the differences of the other curves to that one,
    node by node.

    Raises
    ------
    ScenarioError
        If a run has not what is wanted, or there is no curve that `paired_to` means.
    """
    wanted = ask.metrics or default_quantities(runs)
    if not wanted:
        runs[0].require_metric(runs[0].main.name)
    groups = of_several.groups(runs)
    found = []
    for what in wanted:
        found.append(_samples(groups, what))
        if ask.paired_to is not None and what not in OF_MESSAGES:
            minus = of_several.reference(groups, ask.paired_to)
            found.append(_differences(groups, what, minus))
    about = _explanation(groups, wanted, ask.paired_to is not None) + _left_out(runs, wanted)
    short = [row for one in found for row in _quantiles(one)]
    return Shown([_panel(one) for one in found], about, short)


def steps(values: Floats) -> tuple[Floats, Floats]:
    """The distinct values of a sorted sample, and the share of it at or below each."""
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    return values[last], (last + 1) / len(values)


def is_wide(values: Floats) -> bool:
    """Return whether values are so far apart that their axis is logarithmic."""
    low, high = np.quantile(values, [0.001, 0.999])
    return bool(low > 0 and high > _WIDE * low)


def _samples(groups: Mapping[str, Sequence[RunFolder]], what: str) -> Samples:
    over = _over_messages if what in OF_MESSAGES else _over_nodes
    samples = {
        name: np.sort(np.concatenate([over(run, what) for run in group]))
        for name, group in groups.items()
    }
    if what not in OF_MESSAGES:
        return Samples(what, names.metric(what, "x"), "nodes", samples)
    kept = {name: values for name, values in samples.items() if len(values)}
    if not kept:
        folder = next(iter(groups.values()))[0].folder
        raise ScenarioError(
            f"{folder / 'messages'}: outcome: no message arrived, so that there is no {what}; "
            "draw a metric, as with --metric accuracy"
        )
    axis = names.quantity(OF_MESSAGES[what], "s", np.concatenate(list(kept.values())).tolist())
    return Samples(what, axis, "messages that arrived", kept)


def _differences(groups: Mapping[str, Sequence[RunFolder]], metric: str, minus: str) -> Samples:
    samples = {}
    for name, group in groups.items():
        if name != minus:
            pairs = of_several.pairs(group, groups[minus])
            found = [node_differences(run, other, metric) for run, other in pairs]
            last = np.concatenate([list(one.values())[-1] for one in found])
            samples[name] = np.sort(last[np.isfinite(last)])
    axis = names.difference(names.metric(metric, "x"), minus, alone=True)
    return Samples(f"{metric} minus {minus}", axis, "nodes", samples)


def _left_out(runs: Sequence[RunFolder], wanted: Sequence[str]) -> str:
    """Words on nodes without a finite number, which are in no curve; empty: there are none."""
    found = []
    for what in wanted:
        last = [] if what in OF_MESSAGES else [_at_the_end(run, what) for run in runs]
        lacking = sum(int((~np.isfinite(values)).sum()) for values in last)
        if lacking:
            found.append(f"{what}: {lacking} of {sum(map(len, last))} nodes have no finite number")
    return f"; left out of {'; '.join(found)}" if found else ""


def _at_the_end(run: RunFolder, metric: str) -> Floats:
    """A metric of each node at the last evaluation, (N,)."""
    rows = measured.per_node_rows(run.measured, metric)
    return np.asarray(rows["value"][rows["t_s"] == rows["t_s"][-1]], dtype=np.float64)


def _over_nodes(run: RunFolder, metric: str) -> Floats:
    run.require_metric(metric)
    last = _at_the_end(run, metric)
    if not np.isfinite(last).any():
        raise ScenarioError(
            f"{run.folder / 'metrics'}: metric = {metric}: no node has a number at the last "
            "evaluation: its models have diverged"
        )
    return last[np.isfinite(last)]


def _over_messages(run: RunFolder, what: str) -> Floats:
    if what == "age":
        run.require("uses")
        ages = run_folder.read(run.folder, "uses", ("age_at_use_s",))["age_at_use_s"]
        ages = np.asarray(ages, dtype=np.float64)
        return ages[np.isfinite(ages)]
    run.require("messages")
    rows = run_folder.read(run.folder, "messages", ("t_sent_s", "t_done_s", "outcome"))
    arrived = np.isin(rows["outcome"], ARRIVED)
    return np.asarray((rows["t_done_s"] - rows["t_sent_s"])[arrived], dtype=np.float64)


def _explanation(
    groups: Mapping[str, Sequence[RunFolder]], wanted: Sequence[str], is_paired: bool
) -> str:
    """Name of the quantity that is distributed."""
    run = next(iter(groups.values()))[0]
    seeds = sorted({len(group) for group in groups.values()})
    nodes = "1 node" if run.count == 1 else f"{run.count:,} nodes"
    sentences = [f"{nodes} of each of {span(seeds)} seeds" if seeds[-1] > 1 else nodes]
    if any(what not in OF_MESSAGES for what in wanted):
        sentences.append("at the last evaluation")
    if is_paired:
        sentences.append("differences by node")
    return ", ".join(sentences)


def _panel(samples: Samples) -> Panel:
    """Curves of at most so many points."""
    rows: list[Row] = []
    is_time = samples.what in OF_MESSAGES
    for name, values in samples.by_curve.items():
        x, share = steps(values)
        rows += [
            {
                "curve": name,
                "metric": samples.what,
                "unit": "s" if is_time else "1",
                "x": float(x[i]),
                "share_at_or_below": float(share[i]),
                "samples": len(values),
            }
            for i in evenly(len(x), _POINTS).tolist()
        ]
    every = np.concatenate(list(samples.by_curve.values()) or [np.zeros(1)])
    mark = Lines(
        samples.axis,
        Quantity("share_at_or_below", f"Share of {samples.of}", "%"),
        "curve",
        axis="distribution",
        is_log=is_time and is_wide(every),
    )
    return Panel(mark, tidy(rows))


def _quantiles(samples: Samples) -> list[Row]:
    """Quantiles."""
    scale = 100.0 if samples.axis.unit in ("%", "pp") else 1.0
    label = OF_MESSAGES.get(samples.what)
    return [
        {
            "curve": name,
            "what": f"{label} [s]" if label else samples.axis.title,
            **{
                f"{100 * q:g} %": float(scale * np.quantile(values, q, method="inverted_cdf"))
                for q in (0.05, 0.25, 0.5, 0.75, 0.95)
            },
            "samples": len(values),
        }
        for name, values in samples.by_curve.items()
    ]
