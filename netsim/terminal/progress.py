"""Progress of a run: one live line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from netsim.recording.main_metric import is_share
from netsim.scenario import AlgorithmEntry, Scenario
from netsim.terminal import evaluation_cost

if TYPE_CHECKING:
    from netsim.engine.progress import Progress as Step

PLAIN_EVERY_S = 10.0
"""Wall time between plain lines; log files stay readable."""
WIDE = 110
"""Columns from which there is room for a bar beside the numbers."""


def headline(scenario: Scenario) -> str:
    """Describe the coming run in one line, with the worlds that algorithms have by their `set`."""
    worlds = dict.fromkeys(map(_words, map(scenario.of, scenario.algorithm)))
    several = zip(*worlds, strict=True)
    return " · ".join(filter(None, (" or ".join(dict.fromkeys(filter(None, w))) for w in several)))


def _words(scenario: Scenario) -> tuple[str, ...]:
    """Words of the headline on a world; an empty text where there is nothing to say."""
    count, link = scenario.nodes.count, scenario.link
    links = [f"{_kind(scenario.radio.fading)} radio"] if scenario.radio else []
    if link is not None or not links:
        links.append("ideal links" if link is not None and link == type(link)() else "wired links")
    return (
        f"{count:,} node{'s' * (count > 1)}",
        _kind(scenario.topology),
        " and ".join(links),
        _woken(scenario),
        *_learned(scenario),
        f"{scenario.horizon_s:,.12g} s",
        f"seed {scenario.seed}",
    )


def announce(console: Console, scenario: Scenario) -> None:
    """Say what is about to be played."""
    console.print(Text(scenario.name, style="bold") + Text("  " + headline(scenario)))


@contextmanager
def watched(
    console: Console, scenario: Scenario | None = None, quiet: bool = False
) -> Iterator["Watcher | None"]:
    """Show the progress of the algorithms that are reported to it; None if quiet.

    Parameters
    ----------
    scenario : Scenario or None
        What is played, which may evaluate less often; None: no word on that.
    """
    if quiet:
        yield None
    elif console.is_terminal:
        with _Bars(console) as bars:
            live = _Live(bars, scenario)
            yield live
            live.end()
    else:
        lines = _Plain(console, scenario)
        yield lines
        lines.end()


class _Bars(Progress):
    """Rows of progress, and a line of advice below them."""

    def __init__(self, console: Console) -> None:
        self.advice = ""
        words = TextColumn("{task.fields[words]}", table_column=Column(no_wrap=True, ratio=1))
        bar = [BarColumn(bar_width=20)] if console.width >= WIDE else []
        name = TextColumn("[bold]{task.description}", table_column=Column(no_wrap=True))
        super().__init__(name, *bar, words, console=console, refresh_per_second=8, expand=True)

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self.advice:
            yield Text(self.advice, style="yellow", no_wrap=True, overflow="ellipsis")


class Watcher:
    """Algorithm that is being played, and its last reported progress."""

    def __init__(self, scenario: Scenario | None) -> None:
        self.last: tuple[str, Step] | None = None
        self._scenario = scenario

    def __call__(self, entry: AlgorithmEntry, step: "Step") -> None:
        if self.last is not None and self.last[0] != entry.name:
            self.end()
        if self.last is None or not step.doing:
            self.last = entry.name, replace(step, doing="")
        self.show(entry.name, step)

    def announce(self, words: str) -> None:
        """Say what is done before the first algorithm begins."""

    def end(self) -> None:
        """The algorithm that was being played has reached the horizon."""
        if self.last is not None:
            self.show_end(*self.last)
        self.last = None

    def show(self, name: str, step: "Step") -> None:
        raise NotImplementedError

    def show_end(self, name: str, last: "Step") -> None:
        raise NotImplementedError

    def advice(self, step: "Step") -> str:
        """Suggest keys that make evaluation cost less, where it takes much of the time."""
        if self._scenario is None:
            return ""
        cost = step.evaluation_wall_s, step.wall_s
        return evaluation_cost.remedy_meanwhile(*cost, self._scenario) or ""


class _Live(Watcher):
    """A line for every algorithm, the running one last; before the first, what is being made."""

    def __init__(self, bars: _Bars, scenario: Scenario | None) -> None:
        super().__init__(scenario)
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._first: TaskID | None = None

    def announce(self, words: str) -> None:
        if self._first is None:
            self._first = self._bars.add_task("", total=None, words=words)
        self._bars.update(self._first, words=words)

    def show(self, name: str, step: "Step") -> None:
        if self._first is not None:
            self._bars.remove_task(self._first)
            self._first = None
        if name not in self._tasks:
            total, words = step.horizon_s, words_of(step)
            self._tasks[name] = self._bars.add_task(name, total=total, words=words)
        self._bars.advice = self.advice(step)
        self._bars.update(self._tasks[name], completed=step.virtual_s, words=words_of(step))

    def show_end(self, name: str, last: "Step") -> None:
        self.show(name, replace(last, virtual_s=last.horizon_s))
        self._bars.advice = ""


class _Plain(Watcher):
    """A line now and then, and one when an algorithm is done."""

    def __init__(self, console: Console, scenario: Scenario | None) -> None:
        super().__init__(scenario)
        self._console = console
        self._shown_s = time.monotonic()
        self._advised = False

    def show(self, name: str, step: "Step") -> None:
        now_s = time.monotonic()
        if step.doing or (
            now_s < self._shown_s + PLAIN_EVERY_S and step.virtual_s < step.horizon_s
        ):
            return
        percent = 100 * step.virtual_s / step.horizon_s
        self._console.print(Text(f"{name}  {percent:3.0f} %  {words_of(step)}"))
        self._shown_s = now_s
        advice = self.advice(step)
        if advice and step.virtual_s < step.horizon_s and not self._advised:
            self._console.print(Text(advice, style="yellow"))
            self._advised = True

    def show_end(self, name: str, last: "Step") -> None:
        if last.virtual_s < last.horizon_s:
            self.show(name, replace(last, virtual_s=last.horizon_s))


def words_of(step: "Step") -> str:
    """Describe progress: share done, wall time to go, main metric, evaluation's share, speed.

    Before the first event and after the last: what is done. What matters least stands last, where
    a narrow terminal cuts.
    """
    if step.doing:
        return step.doing
    wall_s = max(step.wall_s, 1e-9)
    parts = [f"{step.virtual_s:,.4g} of {step.horizon_s:,.12g} s"]
    if 0 < step.virtual_s < step.horizon_s:
        parts.append(f"{duration(step.wall_s * (step.horizon_s / step.virtual_s - 1))} left")
    else:
        parts.append(f"in {duration(step.wall_s)}")
    if step.score is not None:
        parts.append(score_of(step))
    if evaluation_cost.dominates(step.evaluation_wall_s, step.wall_s):
        parts.append(f"evaluation {step.evaluation_wall_s / wall_s:.0%}")
    parts += [
        f"{short(step.events / wall_s)} events/s",
        f"{short(step.node_steps / wall_s)} steps/s",
    ]
    return " · ".join(parts)


def score_of(step: "Step") -> str:
    """The main metric of a run that has been evaluated, with its name."""
    assert step.score is not None
    shown = f"{100 * step.score:.1f} %" if is_share(step.metric) else f"{step.score:.4g}"
    return f"{step.metric.replace('_', ' ')} {shown}"


def short(number: float) -> str:
    """A number in three digits: 950, 12.3k, 4.56M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Wall time for people: 0.4 s, 38 s, 2 min 05 s, 3 h 20 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _learned(scenario: Scenario) -> tuple[str, str]:
    """Words for data and models; empty where methods bring their own."""
    data, models = scenario.data, [m for m in scenario.model if _kind(m) != "none"]
    words = "" if _kind(data) == "none" else f"{_kind(data)} ({_kind(data.partition)})"
    return words, " + ".join(map(_kind, models))


def _woken(scenario: Scenario) -> str:
    """The schedule; empty where it stands in for one, as no method waits for wake-ups."""
    is_there = getattr(scenario.exchange, "period_s", None) != scenario.horizon_s
    return _kind(scenario.exchange) * is_there


def _kind(component: object) -> str:
    return str(getattr(component, "kind", getattr(component, "schedule", "")))
