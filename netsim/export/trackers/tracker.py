"""Trackers of dashboards: a writer for each algorithm and program."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from netsim.errors import ScenarioError, one_line
from netsim.export.trackers import scalars
from netsim.recording import run_folder
from netsim.recording.observers import EvaluationEvent, Observers, TrafficEvent

PROGRAMS = {
    "tensorboard": ("tensorboard", {}),
    "wandb": ("wandb", {}),
    "wandb-online": ("wandb", {"online": True}),
}
"""Programs of `--log`: the package, which is an extra of that name, and options of its writer."""


class Writer(Protocol):
    """Writer for one program, of one algorithm."""

    def write(self, point: scalars.Point) -> None:
        """Write the numbers of one instant."""

    def finish(self, last: Mapping[str, float]) -> None:
        """Write what the run came to."""

    def close(self) -> None:
        """Leave files that are whole."""


Open = Callable[[Path, str, Mapping[str, Any]], Writer]
"""(folder of the run, its name, resolved scenario) -> what writes."""


def writers_of(names: Sequence[str], option: str = "--log") -> list[Open]:
    """Return the functions that open the writers of some programs.

    Parameters
    ----------
    option : str
        By which they were named, for what is told of a program that there is not.

    Raises
    ------
    ScenarioError
        If there is no such program, or its package is not installed.
    """
    return [_writer_of(name, option) for name in dict.fromkeys(names)]


def _writer_of(name: str, option: str) -> Open:
    if name not in PROGRAMS:
        raise ScenarioError(f"{option} {one_line(name)}: must be one of {', '.join(PROGRAMS)}")
    package, options = PROGRAMS[name]
    try:
        module = importlib.import_module(f"{__package__}.to_{package}")
        for library in module.NEEDS:
            importlib.import_module(library)
    except ImportError as problem:
        raise ScenarioError(
            f"{option} {name}: needs {package}: pip install 'netsim-dfl[{package}]' "
            f"({one_line(problem)})"
        ) from problem

    def opened(folder: Path, title: str, scenario: Mapping[str, Any]) -> Writer:
        writer: Writer = module.Writer(folder, title, scenario, **options)
        return writer

    return opened


def title_of(scenario: Mapping[str, Any], algorithm: str) -> str:
    """Title of a run in a dashboard."""
    return f"{scenario.get('name', '')} {algorithm}".strip()


class Tracker:
    """Tracker that passes the reports of a run's observers on to dashboards.

    Parameters
    ----------
    writers : sequence of callable
        See `writers_of`.
    own : callable
        (algorithm) -> the folder of its run, in which its scenario lies when it is first told of.

    Attributes
    ----------
    problems : list of str
        What went wrong with a dashboard, which is told nothing more; the run goes on.
    """

    def __init__(self, writers: Sequence[Open], own: Callable[[str], Path]) -> None:
        self._opens, self._own = writers, own
        self._algorithm, self._bits = "", 0
        self._writers: list[Writer] = []
        self._evaluations = scalars.Evaluations({})
        self.problems: list[str] = []

    def traffic(self, event: TrafficEvent) -> None:
        """Write what the network has spent."""
        self._turn_to(event.algorithm)
        self._bits = event.bits_transmitted
        self._write(scalars.of_traffic(event), event.t_s)

    def evaluation(self, event: EvaluationEvent) -> None:
        """Write what was measured."""
        self._turn_to(event.algorithm)
        self._write(self._evaluations.final_numbers(event, self._bits), event.t_s)

    def _write(self, found: Mapping[str, float], t_s: float) -> None:
        for writer in list(self._writers):
            with self._excused(writer):
                writer.write(scalars.Point(found, t_s, self._bits))

    def _write_rest(self) -> None:
        for point in self._evaluations.rest():
            for writer in list(self._writers):
                with self._excused(writer):
                    writer.write(point)

    @contextmanager
    def _excused(self, writer: Writer) -> Iterator[None]:
        """Leave out a writer that fails: what it writes is a copy of what the run records."""
        try:
            yield
        except Exception as problem:
            name = type(writer).__module__.rpartition("_")[2]
            self.problems.append(
                f"{self._algorithm}: {name} is told no more: "
                f"{type(problem).__name__}: {one_line(problem)}"
            )
            if writer in self._writers:
                self._writers.remove(writer)
                with suppress(Exception):  # what it failed with is told already
                    writer.close()

    def _turn_to(self, algorithm: str) -> None:
        """Open the writers of an algorithm; those of the one before are done."""
        if algorithm == self._algorithm:
            return
        self.close()
        folder = self._own(algorithm)
        scenario = run_folder.scenario_tables(folder)
        title = title_of(scenario, algorithm)
        self._algorithm, self._bits = algorithm, 0
        self._evaluations = scalars.Evaluations(run_folder.nodes_if_any(folder))
        self._writers = [made(folder, title, scenario) for made in self._opens]

    def close(self) -> None:
        """Write what the run came to, if it has ended, and close its writers."""
        if not self._writers:
            return
        self._write_rest()
        last = scalars.at_the_end(self._own(self._algorithm))
        for writer in list(self._writers):
            with self._excused(writer):
                if last:
                    writer.finish(last)
            with self._excused(writer):
                writer.close()
        self._writers, self._algorithm = [], ""


@contextmanager
def observers_of(
    writers: Sequence[Open],
    own: Callable[[str], Path],
    write_every_s: float | None,
    warn: Callable[[str], object],
) -> Iterator[Observers | None]:
    """Observers of a run for dashboards, whose files are whole at the end; None: there is nothing.

    Parameters
    ----------
    writers : sequence of callable
        See `writers_of`.
    own : callable
        (algorithm) -> the folder of its run.
    write_every_s : float or None
        How often the run is to write what it has [s of wall time].
    warn : callable
        Told at the end, in words, of each dashboard that something went wrong with.
    """
    if not writers:
        yield None if write_every_s is None else Observers(write_every_s=write_every_s)
        return
    tracker = Tracker(writers, own)
    try:
        yield Observers(
            on_evaluation=tracker.evaluation,
            on_traffic=tracker.traffic,
            write_every_s=write_every_s,
        )
    finally:
        tracker.close()
        for problem in tracker.problems:
            warn(problem)
