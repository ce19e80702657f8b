"""Making a live page's numbers in a process of its own.

The run's process writes a line, the name of a folder; this one answers with two lines of JSON:
what making them took, or what went wrong, and the numbers. It ends when its input does: however the
run's process ends, killed or not, that happens at once.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from netsim.errors import ScenarioError, one_line
from netsim.results.played import folders
from netsim.views.gathering.run_tables import Places
from netsim.views.live.pages import signature
from netsim.views.render.page import run_page
from netsim.views.render.page.html import pieces

NICENESS = 10
"""Other work of the machine goes first, the run's above all."""


class BuilderProcess:
    """The process, which begins when it is first asked.

    Parameters
    ----------
    module : str
        What it runs: a module that calls `answer`.
    arguments : sequence of str
        Its command line.
    """

    def __init__(self, module: str, arguments: tuple[str, ...] = ()) -> None:
        self._command = [sys.executable, "-P", "-m", module, *arguments]
        searched = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._environment = {**os.environ, "PYTHONPATH": searched}  # imports as this process
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._is_closed = False

    def start(self) -> None:
        """See `pages.Builder`."""
        if self._process is None and self._lock.acquire(blocking=False):
            try:
                self._started()
            except ScenarioError:
                return  # it is over
            finally:
                self._lock.release()

    def build(self, top: Path) -> tuple[bytes, float]:
        """See `pages.Builder`."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(str(top.absolute())).encode() + b"\n")
                process.stdin.flush()
                about, numbers = process.stdout.readline(), process.stdout.readline()
            except OSError:
                about = numbers = b""
            if not numbers.endswith(b"\n"):
                raise ScenarioError("the page can't be made: its process has ended")
            found = json.loads(about)
            if "problem" in found:
                raise ScenarioError(found["problem"])
            return numbers, float(found["cpu_s"])

    def _started(self) -> "subprocess.Popen[bytes]":
        with self._starting:
            if self._is_closed:
                raise ScenarioError("the run has ended")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                    start_new_session=True,  # Ctrl-C is the run's
                )
            return self._process

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        with self._starting:
            process = self._process
        if process is None:
            return
        process.kill()  # it writes nothing but its answer
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


def answer(asked: IO[bytes], answers: IO[bytes], places: Callable[[Path], Places]) -> None:
    """Answer until there is nothing more to read; what does not change is made once.

    Parameters
    ----------
    asked, answers : binary files
    places : callable
        (folder of a run) -> where its nodes were.
    """
    os.nice(NICENESS)
    known: dict[Path, tuple[str, run_page.Entry]] = {}

    def gathered(folder: Path) -> run_page.Entry:
        """An algorithm's part of the page."""
        now = signature(folder)
        if folder not in known or known[folder][0] != now:
            known[folder] = now, run_page.gather(folder, places(folder), is_live=True)
        return known[folder][1]

    for line in asked:
        began_s = time.process_time()
        about: dict[str, object]
        numbers = b""
        try:
            content = run_page.content(folders(Path(json.loads(line))), gathered)
            numbers = json.dumps(pieces(content), allow_nan=False).encode()
            about = {"cpu_s": time.process_time() - began_s}
        except (ScenarioError, OSError) as problem:
            about = {"problem": one_line(problem)}
        answers.write(json.dumps(about).encode() + b"\n" + numbers + b"\n")
        answers.flush()
