"""`--watch`: the page of a run or a sweep is written anew while it goes on.

Another process at low priority makes the page of the files that are there by then
(`live_worker`), so that the run neither waits for it nor changes by it. It is told on its
standard input how far the run has come, and ends when that does.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from netsim.campaign import live_worker
from netsim.errors import ScenarioError, one_line
from netsim.scenario import AlgorithmEntry
from netsim.terminal.progress import words_of
from netsim.views.render.page.run_page import NAME as PAGE

if TYPE_CHECKING:
    from netsim.engine.progress import Progress
    from netsim.terminal.progress import Watcher

WRITE_EVERY_S = 3.0
"""So often a run that is watched writes what it has, in its first minute."""
TOLD_EVERY_S = 1.0
"""Least wall time between two words to the process that makes the page."""
_LONGEST = 1_000


class LivePage:
    """The page of what is being played; told of its progress as the terminal is.

    Parameters
    ----------
    names : sequence of str
        The algorithms, in the order in which they are played; a sweep's are not told of.
    components : sequence of Path
        Folders of components of the user's own.
    say : callable
        Takes what is to be told on the terminal.
    """

    def __init__(
        self, names: Sequence[str], components: Sequence[Path], say: Callable[[str], object]
    ) -> None:
        self._names, self._say = list(names), say
        self._components = [path.absolute() for path in components]
        self._terminal: Watcher | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._hearing: threading.Thread | None = None
        self._top: Path | None = None
        self._is_stopped = False
        self._told_s, self._written_ns = -float("inf"), 0

    def begin(self, folder: Path) -> None:
        """Write the page of a folder from now on, and say where it is to be seen."""
        self._top = folder.absolute()
        problem = live_worker.write(self._top, live_worker.nothing_yet("Waiting for the run ..."))
        self._say(f"watch it at {(self._top / PAGE).as_uri()}")
        if problem:
            self._tell_problem(problem)
        self._process = self._started()
        self._hearing = threading.Thread(target=self._hear, args=(self._process,), daemon=True)
        self._hearing.start()
        assert self._process.stdin is not None
        if os.name == "posix":  # a run never waits for its page
            os.set_blocking(self._process.stdin.fileno(), False)

    def _started(self) -> "subprocess.Popen[bytes]":
        searched = os.pathsep.join(path or os.getcwd() for path in sys.path)
        folders = map(str, (self._top, *self._components))
        return subprocess.Popen(
            [sys.executable, "-P", "-m", live_worker.__name__, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": searched},  # imports as this process
            start_new_session=True,  # Ctrl-C is the run's
        )

    def _hear(self, process: "subprocess.Popen[bytes]") -> None:
        """Tell each problem that the other process has, once."""
        assert process.stdout is not None
        for line in process.stdout:
            self._tell_problem(line.decode("utf-8", "replace").strip())
        if not self._is_stopped:
            self._tell_problem(f"the process that writes {PAGE} has ended")

    def _tell_problem(self, problem: str) -> None:
        self._say(f"--watch: {problem}; the run goes on")

    def told_with(self, shown: "Watcher | None") -> "LivePage":
        """Tell the terminal, too; None: it shows nothing."""
        self._terminal = shown
        return self

    def __call__(self, entry: AlgorithmEntry, step: "Progress") -> None:
        if self._terminal is not None:
            self._terminal(entry, step)
        several = f" ({self._names.index(entry.name) + 1} of {len(self._names)})"
        where = f"{entry.name}{several if len(self._names) > 1 else ''}"
        self._tell(f"{where} · {words_of(step)}", step.virtual_s / step.horizon_s)

    def announce(self, words: str) -> None:
        """Say what is done before the first algorithm begins."""
        if self._terminal is not None:
            self._terminal.announce(words)
        self._tell(words, 0.0)

    def _tell(self, words: str, share: float) -> None:
        now_s = time.monotonic()
        if self._process is None or now_s < self._told_s + TOLD_EVERY_S:
            return
        self._told_s = now_s
        line = json.dumps({"words": words[:_LONGEST], "share": share}).encode() + b"\n"
        assert self._process.stdin is not None
        with suppress(OSError):  # it is busy, or gone, which is told elsewhere
            os.write(self._process.stdin.fileno(), line)

    def stop(self) -> None:
        """Stop writing: the run writes its last page itself."""
        if self._process is None:
            return
        self._is_stopped = True
        self._process.terminate()  # it leaves nothing half written
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._closed(self._process)
        self._process = None
        self._written_ns = self._page_ns()

    def _closed(self, process: "subprocess.Popen[bytes]") -> None:
        if self._hearing is not None:
            self._hearing.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _page_ns(self) -> int:
        """Return when the page was written; 0 where there is none."""
        assert self._top is not None
        try:
            return (self._top / PAGE).stat().st_mtime_ns
        except OSError:
            return 0

    def end(self) -> None:
        """Leave a page that says how the run ended, where the run has written none of its own."""
        self.stop()
        if self._top is None or self._page_ns() != self._written_ns or not self._top.is_dir():
            return
        contents = live_worker.Contents(self._top, self._components)
        try:
            problem = live_worker.write(self._top, contents.last())
        except Exception as error:  # how the run itself has ended is told all the same
            problem = f"no last page: {type(error).__name__}: {one_line(error)}"
        if problem:
            self._say(f"--watch: {problem}")


@contextmanager
def live_page(
    wanted: bool, names: Sequence[str], components: Sequence[Path], say: Callable[[str], object]
) -> Iterator[LivePage | None]:
    """Show a live page while something is played; None where none is wanted.

    Parameters
    ----------
    names : sequence of str
        Algorithms, in the order in which they are played.
    components : sequence of Path
        Folders of components.
    say : callable
        Told, in words, of what goes wrong with the page.
    """
    if not wanted:
        yield None
        return
    page = LivePage(names, components, say)
    try:
        yield page
    finally:
        page.end()


def require_page(report: bool, remedy: str = "leave out --no-report") -> None:
    """Refuse to watch a run that is to have no page.

    Raises
    ------
    ScenarioError
    """
    if not report:
        raise ScenarioError(f"--watch: writes {PAGE} while the run goes on; {remedy}")


def write_every_s(page: LivePage | None) -> float | None:
    """Return the interval at which a run writes for a page that shows it; None: as usual."""
    return None if page is None else WRITE_EVERY_S
