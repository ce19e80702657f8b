"""Cost of a network: the same algorithm in several worlds, as a table and in words.

Entries of `[[algorithm]]` that differ in nothing but their `set` are one algorithm in several
worlds, which share their draws. They are ordered by how much a `set` changes, so that each is the
one above it without some of its ease, and compared with that one node by node.

The intervals are Student's, 95 %, over the nodes of one run, which share their links and data: they
tell what is more than noise among these nodes. What holds for other seeds needs other seeds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.metrics import Curve, curve, last_in_common, names
from netsim.recording.parquet_parts import Rows
from netsim.recording.summary import load
from netsim.registry import TAGS
from netsim.scenario.labels import shown
from netsim.views.gathering.sweep_comparison import mean_and_half_width
from netsim.views.render.terminal_tables import Column, WrappedTable

ARRIVED = ("delivered", "partial")
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
TITLES = {LATE: "late"}
"""Titles of columns that are not the outcome's name."""


@dataclass(frozen=True)
class Difference:
    """A mean over nodes of differences, and half the width of its interval."""

    mean: float
    half: float | None

    @property
    def is_clear(self) -> bool:
        """Return whether the interval leaves out nought."""
        return self.half is not None and abs(self.mean) > self.half


@dataclass(frozen=True)
class Played:
    """One algorithm in one world.

    Attributes
    ----------
    name : str
        What results call it.
    changes : mapping
        The `set` of its `[[algorithm]]`.
    folder : Path
    summary : dict
    main : MainMetric
    measured : Rows
        Its metrics; empty where nothing was learned.
    """

    name: str
    changes: Mapping[str, Any]
    folder: Path
    summary: dict[str, Any]
    main: MainMetric
    measured: Rows

    @property
    def learned(self) -> bool:
        """Return whether its main metric was measured."""
        return self.main.name in names(self.measured)

    @property
    def curve(self) -> Curve:
        """Its main metric over time."""
        return curve(self.measured, self.main.name, self.main)

    @property
    def sent(self) -> int:
        """Number of messages sent, once a receiver."""
        return int(self.summary["messages"]["sent"])

    @property
    def outcomes(self) -> Counter[str]:
        """Number of messages by outcome."""
        found: Counter[str] = Counter()
        for by_outcome in self.summary["outcomes"].values():
            found.update(by_outcome)
        return found

    def share(self, *outcomes: str) -> float:
        """Share of its messages with one of some outcomes."""
        return sum(self.outcomes[name] for name in outcomes) / max(1, self.sent)

    def delay_s(self, what: str) -> float | None:
        """`mean` or `max` of what delivered messages took [s]."""
        found: Mapping[str, Any] = self.summary.get("delay") or {}
        value = found.get(f"{what}_s")
        return None if value is None else float(value)


@dataclass(frozen=True)
class NetworkCost:
    """Algorithms in several worlds, and those that were played in one beside them.

    Attributes
    ----------
    groups : list of list of Played
        One list an algorithm: its worlds, the scenario's own last.
    """

    groups: list[list[Played]]

    @property
    def runs(self) -> list[Played]:
        """All of them, in the order of the table."""
        return [run for group in self.groups for run in group]

    def with_the_one_above(self) -> list[tuple[Played, Played | None]]:
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


def of_runs(folders: Sequence[Path], entries: Sequence[Mapping[str, Any]]) -> NetworkCost | None:
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
    groups: dict[str, list[Played]] = {}
    for entry, folder in zip(entries, folders, strict=True):
        summary, measured = load(folder), run_folder.read(folder, "metrics")
        same = {key: value for key, value in entry.items() if key not in ("name", "set")}
        groups.setdefault(repr(sorted(same.items())), []).append(
            Played(
                str(entry["name"]), entry.get("set") or {}, folder, summary,
                MainMetric.of(summary), measured,
            )
        )  # fmt: skip
    ordered = [sorted(g, key=lambda run: -len(run.changes)) for g in groups.values()]
    return NetworkCost(ordered) if any(len(group) > 1 for group in ordered) else None


def difference(run: Played, other: Played) -> Difference | None:
    """One run less another, node by node, at the last time that both were measured; None: never."""
    if not (run.learned and other.learned) or run.main != other.main:
        return None
    found = last_in_common(run.measured, other.measured, run.main.name)
    if found is None or not len(found.nodes):
        return None
    return Difference(*mean_and_half_width((found.values - found.others).tolist()))


def table(cost: NetworkCost) -> WrappedTable:
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
    return WrappedTable({"run": [run.name for run in runs]}, columns, note)


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


def _sentence(group: Sequence[Played]) -> str:
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


def _against(gap: Difference, main: MainMetric) -> str:
    told = _gap(gap, main.name, unit=True)
    if not gap.is_clear:
        return f"makes no clear difference ({told})"
    return f"{'gains' if (gap.mean < 0) == main.is_lower_better else 'loses'} ({told})"


def _value(run: Played, unit: bool = False) -> str:
    value = float(run.curve.mean[-1])
    if is_share(run.main.name):
        return f"{100 * value:.1f}" + (" %" if unit else "")
    return f"{value:.3g}"


def _gap(gap: Difference, metric: str, unit: bool = False) -> str:
    size, decimals = (100.0, 1) if is_share(metric) else (1.0, 3)
    half = "" if gap.half is None else f" ± {size * gap.half:.{decimals}f}"
    points = " points" if unit and is_share(metric) else ""
    return f"{size * gap.mean:+.{decimals}f}{half}{points}"
