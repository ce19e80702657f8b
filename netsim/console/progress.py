"""How a run is going: one live line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from netsim.recording.main_metric import is_share
from netsim.scenario import AlgorithmEntry, Scenario

if TYPE_CHECKING:
    from netsim.engine.progress import Progress as Step

PLAIN_EVERY_S = 10.0
"""Wall time between plain lines; log files stay readable."""
WIDE = 100
"""Columns from which there is room for a bar beside the numbers."""


def headline(scenario: Scenario) -> str:
    """What is about to be played, in one line."""
    count = scenario.nodes.count
    over = f"{_kind(scenario.radio.fading)} radio" if scenario.radio else "wired links"
    if scenario.link is not None and scenario.link == type(scenario.link)():
        over = "ideal links"
    parts = (
        f"{count:,} node{'s' * (count > 1)}",
        _kind(scenario.topology),
        over,
        _kind(scenario.exchange),
        f"{_kind(scenario.data)} ({_kind(scenario.data.partition)})",
        " + ".join(_kind(m) for m in scenario.model),
        f"{scenario.horizon_s:,.12g} s",
        f"seed {scenario.seed}",
    )
    return " · ".join(parts)


def announce(console: Console, scenario: Scenario) -> None:
    """Say what is about to be played."""
    console.print(Text(scenario.name, style="bold") + Text("  " + headline(scenario)))


@contextmanager
def watched(
    console: Console, quiet: bool = False
) -> Iterator[Callable[[AlgorithmEntry, "Step"], None] | None]:
    """A function that shows the progress of the algorithms it is told of; None if quiet."""
    if quiet:
        yield None
    elif console.is_terminal:
        with _bars(console) as bars:
            live = _Live(bars)
            yield live
            live.end()
    else:
        lines = _Plain(console)
        yield lines
        lines.end()


def _bars(console: Console) -> Progress:
    words = TextColumn("{task.fields[words]}", table_column=Column(no_wrap=True))
    bar = [BarColumn(bar_width=20)] if console.width >= WIDE else []
    return Progress(
        TextColumn("[bold]{task.description}"), *bar, words, console=console, refresh_per_second=8
    )


class _Watcher:
    """Which algorithm is being played, and its last reported progress."""

    def __init__(self) -> None:
        self.last: tuple[str, Step] | None = None

    def __call__(self, entry: AlgorithmEntry, step: "Step") -> None:
        if self.last is not None and self.last[0] != entry.name:
            self.end()
        self.last = entry.name, step
        self.show(entry.name, step)

    def end(self) -> None:
        """The algorithm that was being played has reached the horizon."""
        if self.last is not None:
            name, step = self.last
            if step.virtual_s < step.horizon_s:
                self.show(name, replace(step, virtual_s=step.horizon_s))
        self.last = None

    def show(self, name: str, step: "Step") -> None:
        raise NotImplementedError


class _Live(_Watcher):
    """A line for every algorithm, the running one last."""

    def __init__(self, bars: Progress) -> None:
        super().__init__()
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def show(self, name: str, step: "Step") -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=step.horizon_s, words="")
        self._bars.update(self._tasks[name], completed=step.virtual_s, words=words_of(step))


class _Plain(_Watcher):
    """A line now and then, and one when an algorithm is done."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._shown_s = time.monotonic()

    def show(self, name: str, step: "Step") -> None:
        now_s = time.monotonic()
        if now_s >= self._shown_s + PLAIN_EVERY_S or step.virtual_s >= step.horizon_s:
            percent = 100 * step.virtual_s / step.horizon_s
            self._console.print(Text(f"{name}  {percent:3.0f} %  {words_of(step)}"))
            self._shown_s = now_s


def words_of(step: "Step") -> str:
    """Virtual time, events and local steps a second, main metric, wall time to go."""
    wall_s = max(step.wall_s, 1e-9)
    parts = [
        f"{step.virtual_s:,.4g} of {step.horizon_s:,.12g} s",
        f"{short(step.events / wall_s)} events/s",
        f"{short(step.node_steps / wall_s)} steps/s",
    ]
    if step.score is not None:
        parts.append(score_of(step))
    if 0 < step.virtual_s < step.horizon_s:
        parts.append(f"{duration(step.wall_s * (step.horizon_s / step.virtual_s - 1))} left")
    else:
        parts.append(f"in {duration(step.wall_s)}")
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


def _kind(component: object) -> str:
    return str(getattr(component, "kind", getattr(component, "schedule", "")))
