"""Costs of a network: the same algorithm in several worlds, as a table, in words and as a figure.

Entries of `[[algorithm]]` that differ in nothing but their `set` are one algorithm in several
worlds, which share their draws. The entry whose `set` has the most keys comes first, the scenario's
own world last, and each is compared, node by node, with the one above it.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.metrics import Curve, curve, names
from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED
from netsim.recording.summary_fields import MEASURES
from netsim.registry import TAGS
from netsim.scenario.labels import shown
from netsim.views import (
    Ask,
    Column,
    Columns,
    Lines,
    Panel,
    Printed,
    Quantity,
    Sentence,
    Sentences,
    Shares,
    Shown,
)
from netsim.views.gathering import names as names_of
from netsim.views.gathering.comparison import Spread, paired_nodes
from netsim.views.gathering.numbers import rows_of

TITLE = "What the network costs"
PLACE = 5
NOTHING = "no algorithm was played in several worlds: none has a set"

LATE = "deadline"
"""The outcome of messages that would have arrived, but too late."""
CAUSES = {
    "outage": "outage",
    "retries": "all attempts lost",
    "collision": "collision",
    "busy": "receiver busy",
    "off": "receiver off",
    "asleep": "receiver asleep",
    LATE: "too late",
    "withdrawn": "withdrawn by its sender",
}
"""Words for the causes of lost messages, by outcome."""
TITLES = {LATE: "late"}
"""Titles of columns that are not the outcome's name."""


@dataclass(frozen=True)
class World:
    """One algorithm in one world."""

    name: str
    """Its name in results."""
    changes: Mapping[str, Any]
    """The `set` of its `[[algorithm]]`."""
    run: RunFolder
    """It has ended."""

    @property
    def main(self) -> MainMetric:
        """Its main metric."""
        return self.run.main

    @property
    def learned(self) -> bool:
        """Return whether its main metric was measured."""
        return self.main.name in names(self.run.measured)

    @property
    def curve(self) -> Curve:
        """Its main metric over time."""
        return curve(self.run.measured, self.main.name, self.main)

    @property
    def sent(self) -> int:
        """Number of messages sent, once a receiver."""
        return int(self.run.summary["messages"]["sent"])

    @property
    def outcomes(self) -> Counter[str]:
        """Number of messages by outcome."""
        found: Counter[str] = Counter()
        for by_outcome in self.run.summary["outcomes"].values():
            found.update(by_outcome)
        return found

    def share(self, *outcomes: str) -> float:
        """Share of its messages with one of some outcomes."""
        return sum(self.outcomes[name] for name in outcomes) / max(1, self.sent)

    def delay_s(self, what: str) -> float | None:
        """`mean` or `max` of what delivered messages took [s]."""
        found: Mapping[str, Any] = self.run.summary.get("delay") or {}
        value = found.get(f"{what}_s")
        return None if value is None else float(value)


@dataclass(frozen=True)
class NetworkCost:
    """Algorithms in several worlds, and those that were played in one beside them."""

    groups: list[list[World]]
    """One list an algorithm: its worlds, the scenario's own last."""

    @property
    def runs(self) -> list[World]:
        """All of them, in the order of the table."""
        return [run for group in self.groups for run in group]

    @cached_property
    def gaps(self) -> list[Spread | None]:
        """Differences of all to the world above them; None: there is none, or it was not measured.

        The row above is the same algorithm with more of its ease.
        """
        return [
            difference(run, group[i - 1]) if i else None
            for group in self.groups
            for i, run in enumerate(group)
        ]

    @property
    def causes(self) -> list[str]:
        """Causes to which any message was lost."""
        met = set().union(*(run.outcomes for run in self.runs))
        return [cause for cause in CAUSES if cause in met]

    def fates(self, words: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Outcomes by fate: those of arrivals, and each cause of losses by its word."""
        return {"arrived": ARRIVED} | {words.get(c, c): (c,) for c in self.causes}


def worlds_of(folders: Sequence[Path], entries: Sequence[Mapping[str, Any]]) -> NetworkCost | None:
    """The part of a scenario that was played in several worlds; None: nothing was.

    Folders and tables are of each `[[algorithm]]`, in order.
    """
    if not any(entry.get("set") for entry in entries):
        return None
    groups: dict[str, list[World]] = {}
    for entry, folder in zip(entries, folders, strict=True):
        same = {key: value for key, value in entry.items() if key not in ("name", "set")}
        groups.setdefault(repr(sorted(same.items())), []).append(
            World(str(entry["name"]), entry.get("set") or {}, RunFolder.ended(folder))
        )
    ordered = [sorted(g, key=lambda run: -len(run.changes)) for g in groups.values()]
    return NetworkCost(ordered) if any(len(group) > 1 for group in ordered) else None


def difference(run: World, other: World) -> Spread | None:
    """One run less another, node by node, at the last time that both were measured.

    None: never, or a node's model was not finite then.
    """
    found = paired_nodes(run.run.measured, other.run.measured, run.main, other.main)
    return None if found is None or not math.isfinite(found.mean) else found


def printed(cost: NetworkCost) -> Printed:
    """Return the table of each world's result, message fates, and loss to the one above."""
    runs, main = cost.runs, cost.runs[0].main
    columns = []
    if any(run.learned for run in runs):
        unit = "%" if is_share(main.name) else ""
        columns.append(Column(f"{main.name.replace('_', ' ')}\n{unit}", list(map(_value, runs))))
        unknown = ["-" if i else "" for group in cost.groups for i in range(len(group))]
        gaps = [
            u if g is None else _gap(g, main.name) for g, u in zip(cost.gaps, unknown, strict=True)
        ]
        columns.append(Column("Δ\n", gaps))
    columns.append(Column("messages\n", [f"{run.sent:,}" for run in runs], cost=True))
    for title, outcomes in cost.fates(TITLES).items():
        cells = [f"{100 * run.share(*outcomes):.1f}" if run.sent else "-" for run in runs]
        columns.append(Column(f"{title}\n%", cells, cost=True))
    delays_s = [run.delay_s("mean") for run in runs]
    cells = ["-" if delay is None else _delay(delay) for delay in delays_s]
    columns.append(Column("delay\ns", cells, cost=True))
    note = (
        "Δ: to the row above, node by node, ± half its 95 % interval over the nodes of this seed\n"
        "messages: once a receiver; arrived, outage, ...: of these; delay: mean of those arrived"
    )
    return Printed({"run": [run.name for run in runs]}, columns, note)


def sentences(cost: NetworkCost) -> list[str]:
    """Return the table in words, one sentence an algorithm."""
    sentences_of_runs = [_sentence(group) for group in cost.groups if len(group) > 1]
    silent = [g[-1] for g in cost.groups if g[-1].sent == 0 and len(g) == 1 and g[-1].learned]
    if len(silent) == 1:
        alone = silent[0]
        gaps = {group[-1].name: difference(group[-1], alone) for group in cost.groups}
        parts = [f"{name} {_against(gap, alone.main)}" for name, gap in gaps.items() if gap]
        parts = [part for part in parts if not part.startswith(f"{alone.name} ")]
        if parts:
            sentences_of_runs.append(
                f"Against {alone.name}, which sends nothing: {'; '.join(parts)}."
            )
    return sentences_of_runs


def _sentence(group: Sequence[World]) -> str:
    """Describe one algorithm's message fates in its own world, and the loss of each world."""
    here = group[-1]
    lost = [
        f"{100 * here.share(cause):.1f} % {text}"
        for cause, text in CAUSES.items()
        if here.outcomes[cause]
    ]
    said = f"Of {here.name}'s {here.sent:,} messages {100 * here.share(*ARRIVED):.1f} % arrived"
    if not here.sent:
        said = f"{here.name} sent no message"
    mean_s, max_s = here.delay_s("mean"), here.delay_s("max")
    if mean_s is not None and max_s:
        said += f", after {_rough(mean_s)} s on average and {_rough(max_s)} s at most"
    said += f" ({', '.join(lost)})" if lost else ""
    reached = []
    for i, run in enumerate(group):
        gap = difference(run, group[i - 1]) if i else None
        if _value(run) == "-" or (i and gap is None):
            continue
        value = f"{run.name} {_value(run, unit=True)}"
        if gap is not None:
            clear = "" if gap.is_clear else ", not clear,"
            without = f"without {_given_up(group[i - 1].changes, run.changes)}"
            value += f" ({_gap(gap, run.main.name, unit=True)}{clear} {without})"
        reached.append(value)
    return f"{said}; {here.main.name.replace('_', ' ')}: {', '.join(reached)}." if reached else said


def _given_up(above: Mapping[str, Any], below: Mapping[str, Any]) -> str:
    """The keys that one `set` has and another has not or otherwise; of a kind's keys the kind."""
    differing = {k: v for k, v in above.items() if k not in below or below[k] != v}
    tables = [key.rpartition(".")[0] for key in differing if key.rpartition(".")[2] in TAGS]
    reasons = [
        key if value is True else f"{key} = {shown(value)}"
        for key, value in differing.items()
        if key.rpartition(".")[2] in TAGS or key.rpartition(".")[0] not in tables
    ]
    return " and ".join(reasons) or "its set"


def _against(gap: Spread, main: MainMetric) -> str:
    gap_text = _gap(gap, main.name, unit=True)
    if not gap.is_clear:
        return f"makes no clear difference ({gap_text})"
    return f"{'gains' if (gap.mean < 0) == main.is_lower_better else 'loses'} ({gap_text})"


def _rough(time_s: float) -> str:
    return f"{time_s:.2g}" if time_s < 100 else f"{time_s:,.0f}"


def _delay(time_s: float) -> str:
    """A delay in s to two decimals; one of less than 10 ms to three digits."""
    return f"{time_s:.2f}" if time_s >= 0.01 or not time_s else MEASURES["delay_s"].spelled(time_s)


def _value(run: World, unit: bool = False) -> str:
    value = float(run.curve.mean[-1]) if run.learned else math.nan
    if not math.isfinite(value):
        return "-"
    if is_share(run.main.name):
        return f"{100 * value:.1f}" + (" %" if unit else "")
    return f"{value:.3g}"


def _gap(gap: Spread, metric: str, unit: bool = False) -> str:
    size, decimals = (100.0, 1) if is_share(metric) else (1.0, 3)
    half = "" if gap.half_width is None else f" ± {size * gap.half_width:.{decimals}f}"
    points = " points" if unit and is_share(metric) else ""
    return f"{size * gap.mean:+.{decimals}f}{half}{points}"


def of_runs(runs: Sequence[RunFolder], _: Ask) -> Shown | None:
    """Return sentences and paired differences; None where no algorithm has several worlds."""
    top = runs[0].folder.parent
    if not all(run.summary and run.folder.parent == top for run in runs):
        return None
    try:
        entries = run_folder.scenario(top).get("algorithm", [])
    except ScenarioError:
        return None
    tables = {str(one.get("name")): one for one in entries} if isinstance(entries, list) else {}
    if not all(run.folder.name in tables for run in runs):
        return None
    cost = worlds_of([run.folder for run in runs], [tables[run.folder.name] for run in runs])
    return None if cost is None else view(cost)


def view(cost: NetworkCost) -> Shown:
    """Return accuracy over time, fates of messages, sentences and the table of all worlds."""
    table = _table(cost)
    rows = rows_of(table.table)
    words = Panel(Sentences([Sentence(text) for text in sentences(cost)]))
    panels = [*_curves(cost), *_fates(cost), words, table]
    return Shown(panels, short=rows, printed=printed(cost), rows=rows)


def _table(cost: NetworkCost) -> Panel:
    """Results of each world, fates of its messages, and differences to the world above."""
    runs, main = cost.runs, cost.runs[0].main
    unit = "%" if is_share(main.name) else ""
    points = "pp" if unit else ""
    nan = float("nan")
    table: dict[str, Any] = {
        "run": np.array([run.name for run in runs]),
        "value": np.array([run.curve.mean[-1] if run.learned else nan for run in runs]),
        "difference": np.array([nan if gap is None else gap.mean for gap in cost.gaps]),
        "half_width": np.array(
            [nan if gap is None or gap.half_width is None else gap.half_width for gap in cost.gaps]
        ),
        "messages": np.array([run.sent for run in runs]),
    }
    columns = [
        Quantity("run", "run"),
        Quantity("value", main.name.replace("_", " "), unit),
        Quantity("difference", "to the row above", points),
        Quantity("half_width", "± half its 95 % interval", points),
        Quantity("messages", "messages"),
    ]
    for title, outcomes in cost.fates(CAUSES).items():
        table[title] = np.array([run.share(*outcomes) if run.sent else nan for run in runs])
        columns.append(Quantity(title, title, "%"))
    delays = [run.delay_s("mean") for run in runs]
    table["delay_s"] = np.array([nan if delay is None else delay for delay in delays])
    columns.append(Quantity("delay_s", "delay", "s"))
    caption = (
        "Differences to the row above, node by node, with the 95 % interval over the nodes of this "
        "seed; messages once a receiver, of which the shares are; delay: mean of those arrived."
    )
    return Panel(Columns(columns, caption), table)


def _curves(cost: NetworkCost) -> list[Panel]:
    """Return the main metric over time, one colour an algorithm, one dash a world."""
    if not all(run.learned and len(run.curve.t_s) > 1 for run in cost.runs):
        return []
    curves = {run.name: run.curve for run in cost.runs}
    table = {
        "curve": np.repeat(list(curves), [len(one.t_s) for one in curves.values()]),
        "t_s": np.concatenate([one.t_s for one in curves.values()]),
        "mean": np.concatenate([one.mean for one in curves.values()]),
    }
    metric = cost.runs[0].main.name
    mark = Lines(
        Quantity("t_s", "Virtual time", "s"),
        names_of.metric(metric),
        "curve",
        axis="share" if is_share(metric) else "value",
        looks={
            run.name: (colour, place)
            for colour, group in enumerate(cost.groups)
            for place, run in enumerate(reversed(group))
        },
    )
    return [Panel(mark, table, on_page=False)]


def _fates(cost: NetworkCost) -> list[Panel]:
    """Return shares of each run's messages by what became of them, and how long they took."""
    sending = [run for run in cost.runs if run.sent]
    if not sending:
        return []
    kinds = cost.fates(CAUSES)
    counts = [[sum(map(run.outcomes.__getitem__, of)) for of in kinds.values()] for run in sending]
    messages = np.array(counts)
    table = {
        "run": np.repeat([run.name for run in sending], len(kinds)),
        "fate": np.tile(list(kinds), len(sending)),
        "messages": messages.reshape(-1),
        "share": (messages / np.array([[run.sent] for run in sending])).reshape(-1),
    }
    delays = {run.name: run.delay_s("mean") for run in sending}
    legends = {
        name: f"after {mean_s:.2g} s" if mean_s else "at once"
        for name, mean_s in delays.items()
        if mean_s is not None
    }
    y = Quantity("share", "Messages, once a receiver", "%")
    return [Panel(Shares("run", y, "fate", "messages", legends), table, on_page=False)]
