"""`--watch`: the page of a run on this machine's loopback address while the run goes on."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from netsim.console import live_worker, terminal
from netsim.errors import one_line
from netsim.results.live.builder import BuilderProcess
from netsim.results.live.pages import Pages
from netsim.results.live.server import Server
from netsim.scenario import AlgorithmEntry, Scenario

if TYPE_CHECKING:
    from netsim.console.progress import Watcher
    from netsim.engine.progress import Progress

WRITE_EVERY_S = 3.0
"""So often a run that is watched writes what it has, in its first minute."""
LAST_LOOK_S = 6.0
"""So long a run that has ended waits for a page that is open to fetch its end."""


class LivePage:
    """The page of runs that are being played; told of their progress as their terminal is.

    Parameters
    ----------
    scenario : Scenario
    components : sequence of Path
        Folders of components of the user's own.
    port : int
        0: one that is free.

    Attributes
    ----------
    address : str

    Raises
    ------
    ScenarioError
        If the port is taken.
    """

    def __init__(self, scenario: Scenario, components: Sequence[Path], port: int) -> None:
        self._names = [entry.name for entry in scenario.algorithm]
        self._doing, self._ended, self._failed = "", "", False
        self._last: tuple[str, Progress, float] | None = None
        self._terminal: Watcher | None = None
        folders = tuple(str(path.absolute()) for path in components)
        self._builder = BuilderProcess(live_worker.__name__, folders)
        self._pages = Pages(self._builder, self._told)
        self._server = Server(self._pages.answers(), port)
        self.address = self._server.address

    def begin(self, folder: Path) -> None:
        """Show what lies in a folder, and say where it is to be seen."""
        self._pages.top = folder
        terminal.err().print(Text("watch it at ") + Text(self.address, style="bold"))

    def told_with(self, shown: "Watcher | None") -> "LivePage":
        """Tell the terminal, too; None: it shows nothing."""
        self._terminal = shown
        return self

    def __call__(self, entry: AlgorithmEntry, step: "Progress") -> None:
        self._last, self._doing = (entry.name, step, time.monotonic()), step.doing
        if self._terminal is not None:
            self._terminal(entry, step)

    def doing(self, words: str) -> None:
        """Say what is done before the first algorithm begins."""
        self._doing = words
        if self._terminal is not None:
            self._terminal.doing(words)

    def _told(self) -> dict[str, Any]:
        """Return the progress of the run, for the page."""
        found: dict[str, Any] = {"doing": self._doing, "algorithms": len(self._names)}
        found |= {"ended": self._ended, "failed": self._failed}
        if self._last is not None:
            name, step, told_s = self._last
            is_whole = self._ended and not self._failed
            found |= {
                "algorithm": name,
                "place": self._names.index(name) + 1,
                "virtual_s": step.horizon_s if is_whole else step.virtual_s,
                "horizon_s": step.horizon_s,
                "wall_s": step.wall_s + (0.0 if self._ended else time.monotonic() - told_s),
            }
        return found

    def end(self, error: BaseException | None) -> None:
        """Let a page that is open see the end, and close.

        Parameters
        ----------
        error : BaseException or None
            What ended the run.
        """
        self._doing = ""
        self._ended, self._failed = "The run has ended.", error is not None
        if error is not None:
            self._ended = f"The run failed: {one_line(error)}"
        try:
            if not isinstance(error, KeyboardInterrupt):
                self._pages.end(LAST_LOOK_S)
        finally:
            self._builder.close()
            self._server.close()


@contextmanager
def served(
    port: int | None, scenario: Scenario, components: Sequence[Path]
) -> Iterator[LivePage | None]:
    """A live page while a run is played; None where none is wanted.

    Parameters
    ----------
    port : int or None
        0: one that is free; None: no page.
    scenario : Scenario
    components : sequence of Path
        Folders of components of the user's own.

    Raises
    ------
    ScenarioError
        If the port is taken.
    """
    if port is None:
        yield None
        return
    page = LivePage(scenario, components, port)
    try:
        yield page
    except BaseException as error:
        page.end(error)
        raise
    page.end(None)


def write_every_s(page: LivePage | None) -> float | None:
    """Return the interval at which a run writes for a page that shows it; None: as usual."""
    return None if page is None else WRITE_EVERY_S
