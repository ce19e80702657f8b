"""Costs of a network: the same algorithm in several worlds, as a table, in words and as a figure.

Entries of `[[algorithm]]` that differ in nothing but their `set` are one algorithm in several
worlds, which share their draws. They are ordered by how much a `set` changes, so that each is the
one above it without some of its ease, and compared with that one node by node.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.metrics import Curve, curve, names
from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED
from netsim.registry import TAGS
from netsim.scenario.labels import shown
from netsim.views import Ask, Column, Columns, OnPage, OnPaper, Panel, Printed, Quantity, Shown
from netsim.views.gathering.comparison import Spread, paired_nodes
from netsim.views.render.figure.sheets import SCREEN, Sheet

TITLE = "What the network costs"
PLACE = 5
NOTHING = "no algorithm was played in several worlds: none has a set"

NAME = "network_cost.png"
_DASHES: Sequence[Any] = ("-", (0, (4, 2)), (0, (1, 1.2)))
"""Of the scenario's own world, of the one with a `set` next to it, and so on."""
_LOST = ("#D55E00", "#7f3b08", "#CC79A7", "#6b6b6b", "#000000")
LATE = "deadline"
"""The outcome of messages that would have arrived, but too late."""
CAUSES = {
    "outage": "outage",
    "retries": "all attempts lost",
    "collision": "collision",
    "busy": "receiver busy",
    "off": "receiver off",
    LATE: "too late",
    "withdrawn": "withdrawn by its sender",
}
"""Words for the causes of lost messages, by outcome."""
_FATES = {"arrived": "#9fc5a8", LATE: "#E69F00"}
TITLES = {LATE: "late"}
"""Titles of columns that are not the outcome's name."""


@dataclass(frozen=True)
class World:
    """One algorithm in one world.

    Attributes
    ----------
    name : str
        What results call it.
    changes : mapping
        The `set` of its `[[algorithm]]`.
    run : RunFolder
        It has ended.
    """

    name: str
    changes: Mapping[str, Any]
    run: RunFolder

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
    """Algorithms in several worlds, and those that were played in one beside them.

    Attributes
    ----------
    groups : list of list of World
        One list an algorithm: its worlds, the scenario's own last.
    """

    groups: list[list[World]]

    @property
    def runs(self) -> list[World]:
        """All of them, in the order of the table."""
        return [run for group in self.groups for run in group]

    def with_the_one_above(self) -> list[tuple[World, World | None]]:
        """Each run with the world of the same algorithm that is the row above it."""
        return [
            (run, group[i - 1] if i else None)
            for group in self.groups
            for i, run in enumerate(group)
        ]

    @property
    def causes(self) -> list[str]:
        """Causes to which any message was lost."""
        met = set().union(*(run.outcomes for run in self.runs))
        return [cause for cause in CAUSES if cause in met]


def worlds_of(folders: Sequence[Path], entries: Sequence[Mapping[str, Any]]) -> NetworkCost | None:
    """Return the part of a scenario that was played in several worlds; None: nothing was.

    Parameters
    ----------
    folders : sequence of Path
        One a `[[algorithm]]`, in order.
    entries : sequence of mapping
        The tables `[[algorithm]]`.
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
    """One run less another, node by node, at the last time that both were measured; None: never."""
    return paired_nodes(run.run.measured, other.run.measured, run.main, other.main)


def printed(cost: NetworkCost) -> Printed:
    """Return the table of each world's result, message fates, and loss to the one above."""
    runs, main = cost.runs, cost.runs[0].main
    columns = []
    if any(run.learned for run in runs):
        spelled = [_value(run) if run.learned else "-" for run in runs]
        gaps = [difference(r, above) if above else None for r, above in cost.with_the_one_above()]
        unit = "%" if is_share(main.name) else ""
        columns.append(Column(f"{main.name.replace('_', ' ')}\n{unit}", spelled))
        columns.append(Column("Δ\n", ["" if g is None else _gap(g, main.name) for g in gaps]))
    columns.append(Column("messages\n", [f"{run.sent:,}" for run in runs], cost=True))
    shares = {"arrived": ARRIVED} | {TITLES.get(c, c): (c,) for c in cost.causes}
    for title, outcomes in shares.items():
        cells = [f"{100 * run.share(*outcomes):.1f}" if run.sent else "-" for run in runs]
        columns.append(Column(f"{title}\n%", cells, cost=True))
    delays_s = [run.delay_s("mean") for run in runs]
    cells = ["-" if delay is None else f"{delay:.2f}" for delay in delays_s]
    columns.append(Column("delay\ns", cells, cost=True))
    note = (
        "Δ: to the row above, node by node, ± half its 95 % interval over the nodes of this seed\n"
        "messages: once a receiver; arrived, outage, ...: of these; delay: mean of those arrived"
    )
    return Printed({"run": [run.name for run in runs]}, columns, note)


def sentences(cost: NetworkCost) -> list[str]:
    """Return the table in words, one sentence an algorithm."""
    told = [_sentence(group) for group in cost.groups if len(group) > 1]
    silent = [g[-1] for g in cost.groups if g[-1].sent == 0 and len(g) == 1 and g[-1].learned]
    if len(silent) == 1:
        alone = silent[0]
        gaps = {group[-1].name: difference(group[-1], alone) for group in cost.groups}
        parts = [f"{name} {_against(gap, alone.main)}" for name, gap in gaps.items() if gap]
        parts = [part for part in parts if not part.startswith(f"{alone.name} ")]
        if parts:
            told.append(f"Against {alone.name}, which sends nothing: {'; '.join(parts)}.")
    return told


def _sentence(group: Sequence[World]) -> str:
    """Describe one algorithm's message fates in its own world, and the loss of each world."""
    here = group[-1]
    lost = [
        f"{100 * here.share(cause):.1f} % {text}"
        for cause, text in CAUSES.items()
        if here.outcomes[cause]
    ]
    said = f"Of {here.name}'s {here.sent:,} messages {100 * here.share(*ARRIVED):.1f} % arrived"
    mean_s, max_s = here.delay_s("mean"), here.delay_s("max")
    if mean_s is not None and max_s:
        said += f", after {mean_s:.2g} s on average and {max_s:.2g} s at most"
    said += f" ({', '.join(lost)})" if lost else ""
    reached = []
    for i, run in enumerate(group):
        gap = difference(run, group[i - 1]) if i else None
        if not run.learned or (i and gap is None):
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
    told = [
        key if value is True else f"{key} = {shown(value)}"
        for key, value in differing.items()
        if key.rpartition(".")[2] in TAGS or key.rpartition(".")[0] not in tables
    ]
    return " and ".join(told) or "its set"


def _against(gap: Spread, main: MainMetric) -> str:
    told = _gap(gap, main.name, unit=True)
    if not gap.is_clear:
        return f"makes no clear difference ({told})"
    return f"{'gains' if (gap.mean < 0) == main.is_lower_better else 'loses'} ({told})"


def _value(run: World, unit: bool = False) -> str:
    value = float(run.curve.mean[-1])
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
    if cost is None:
        return None
    return Shown(
        [
            Panel(OnPaper(lambda sheet: _drawn(cost, sheet))),
            Panel(OnPage("sentences", {"sentences": sentences(cost)})),
            _table(cost),
        ],
        printed=printed(cost),
    )


def _drawn(cost: NetworkCost, sheet: Sheet) -> Any:
    """The figure with its rows."""
    from netsim.views.render.figure.files import Drawn  # here: a page does without Matplotlib

    return Drawn(figure(cost, sheet), _rows(cost), _rows(cost), "")


def _rows(cost: NetworkCost) -> list[dict[str, Any]]:
    table = _table(cost).table
    columns = {name: cells.tolist() for name, cells in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _table(cost: NetworkCost) -> Panel:
    """Results of each world, fates of its messages, and differences to the world above."""
    runs, main = cost.runs, cost.runs[0].main
    gaps = [difference(run, above) if above else None for run, above in cost.with_the_one_above()]
    unit = "%" if is_share(main.name) else ""
    points = "pp" if unit else ""
    nan = float("nan")
    table: dict[str, Any] = {
        "run": np.array([run.name for run in runs]),
        "value": np.array([run.curve.mean[-1] if run.learned else nan for run in runs]),
        "difference": np.array([nan if gap is None else gap.mean for gap in gaps]),
        "half_width": np.array(
            [nan if gap is None or gap.half_width is None else gap.half_width for gap in gaps]
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
    for title, outcomes in ({"arrived": ARRIVED} | {CAUSES[c]: (c,) for c in cost.causes}).items():
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


def draw(top: Path, cost: NetworkCost) -> Path:
    """Draw `figures/network_cost.png` in the folder of all runs.

    Parameters
    ----------
    top : Path
    cost : NetworkCost

    Returns
    -------
    Path
        The file.
    """
    from netsim.views.render.figure import style as plot_style

    with plot_style.style():
        return plot_style.save(figure(cost), top / "figures" / NAME)


def figure(cost: NetworkCost, sheet: Sheet = SCREEN) -> Any:
    """Accuracy over time, and beside it what became of messages; the latter alone with no metric.

    To be called, and the figure saved, inside `plot_style.style()`.
    """
    from netsim.views.render.figure import style as plot_style

    sending = [run for run in cost.runs if run.sent]
    learned = all(run.learned and len(run.curve.t_s) > 1 for run in cost.runs)
    wide = 8.0 if learned else 4.6
    found = plot_style.new_figure(sheet.width_in or wide, 3.5, sheet)
    if learned:
        _curves(found.add_subplot(1, 2, 1), cost)
    if sending:
        _fates(found.add_subplot(1, 2 if learned else 1, 2 if learned else 1), sending, cost.causes)
    first = cost.runs[0].run.summary
    if sheet.has_heading:
        plot_style.heading(found, f"{first['name']} · {int(first['nodes']):,} nodes")
    return found


def _curves(panel: Any, cost: NetworkCost) -> None:
    """One colour an algorithm, one dash a world."""
    from netsim.views.render.figure import axes as plot_axes
    from netsim.views.render.figure import style as plot_style

    drawn = []
    for colour, group in zip(plot_style.COLOURS * 9, cost.groups, strict=False):
        for place, run in enumerate(reversed(group)):
            over_time = run.curve
            drawn.append(over_time.mean)
            panel.plot(
                over_time.t_s,
                over_time.mean,
                color=colour,
                linestyle=_DASHES[min(place, len(_DASHES) - 1)],
                label=run.name,
            )
    metric, all_drawn = cost.runs[0].main.name, np.concatenate(drawn)
    label = f"Test {metric.replace('_', ' ')}"
    if is_share(metric):
        plot_axes.share_axis(panel, f"{label} [%]", all_drawn)
    else:
        plot_axes.value_axis(panel, label, all_drawn)
    end = max(float(run.curve.t_s[-1]) for run in cost.runs)
    plot_axes.number_axis(panel, "Virtual time [s]", end)
    panel.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2)


def _fates(panel: Any, runs: Sequence[World], causes: Sequence[str]) -> None:
    """A bar a run: shares of its messages by what became of them, and how long they took."""
    from netsim.views.render.figure import style as plot_style

    kinds = {"arrived": ARRIVED} | {CAUSES[cause]: (cause,) for cause in causes}
    lost = iter(_LOST)
    left = np.zeros(len(runs))
    for title, outcomes in kinds.items():
        shares = np.array([100 * run.share(*outcomes) for run in runs])
        colour = _FATES.get(outcomes[0] if title != "arrived" else title) or next(lost)
        panel.barh(range(len(runs)), shares, left=left, color=colour, label=title, height=0.62)
        left += shares
    for i, run in enumerate(runs):
        mean_s = run.delay_s("mean")
        if mean_s is not None:
            text = f"after {mean_s:.2g} s" if mean_s else "at once"
            panel.text(2, i, text, va="center", fontsize=8, color=plot_style.INK)
    panel.set_yticks(range(len(runs)), [run.name for run in runs])
    panel.invert_yaxis()
    panel.set_xlim(0, 100)
    panel.set_xlabel("Messages, once a receiver [%]")
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, columnspacing=1.2)
