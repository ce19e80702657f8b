"""Worker processes on this machine."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import netsim
from netsim.campaign.grid import Job
from netsim.campaign.workers.play_job import Ask, Evaluation
from netsim.campaign.workers.reports import Ended, Lost, Progress, Report, Started
from netsim.campaign.workers.wire import job_text, read_outcome

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import netsim; del sys.path[0]; "
    "from netsim.campaign.workers.child import main; main()"
)
"""Imports this very netsim and nothing else from where it lies, and nothing from the working
folder, which `-P` keeps off the path: a file `signal.py` there is none of Python's."""

LOOK_EVERY_S = 0.5
"""Longest wait for a report: a signal to this process is noticed in between."""

END_WITHIN_S = 15.0
"""Workers that are told to end and have not by then are killed; longer than they need to end
themselves, see `child.END_WITHIN_S`."""


class _Worker:
    """One process: its orders, its reports, and the run that it plays."""

    def __init__(self, processes: int) -> None:
        reading, writing = os.pipe()
        root = str(Path(netsim.__path__[0]).parent)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, root, str(writing), str(processes)],
                stdin=subprocess.PIPE,
                pass_fds=(writing,),
                process_group=0,  # Ctrl-C is for the sweep, which tells its workers
            )
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        self.reading = reading
        self.job: Job | None = None
        self._rest = b""

    def say(self, text: str) -> None:
        """Write a line to the worker; a dead one hears nothing, which shows elsewhere."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()

    def said(self) -> list[dict[str, Any]]:
        """The whole lines that the worker has written since the last call."""
        while True:
            try:
                found = os.read(self.reading, 1 << 16)
            except BlockingIOError:
                break
            if not found:
                break
            self._rest += found
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def dismiss(self) -> None:
        """Tell the worker to end: its input does."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def why_gone(self) -> str:
        """Describe the end of the process, for people."""
        code = self.process.wait()
        if code >= 0:
            return f"its process ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        memory = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"its process was killed by {name}{memory}"


class LocalWorkers:
    """Processes of this machine, each of which plays one run after the other.

    Parameters
    ----------
    slots : int
        How many. They share the cores: the threads of each are its part of them, unless
        `[run] threads` is a number.
    ask : callable
        Whether a run that reports shall go on.
    """

    def __init__(self, slots: int, ask: Ask) -> None:
        self.slots = slots
        self._ask = ask
        self._workers: list[_Worker] = []
        self._started: list[Report] = []
        self._selector = selectors.DefaultSelector()

    def start(self, job: Job) -> None:
        """Give a run to an idle process, or to a new one."""
        worker = next((w for w in self._workers if w.job is None), None)
        if worker is None:
            worker = _Worker(self.slots)
            self._workers.append(worker)
            self._selector.register(worker.reading, selectors.EVENT_READ)
        worker.job = job
        worker.say(job_text(job))
        self._started.append(Started(job, worker.process.pid, socket.gethostname()))

    def reports(self) -> Iterator[Report]:
        """Yield new reports, waiting at most 0.5 s."""
        started, self._started = self._started, []
        yield from started
        if not started:
            self._selector.select(LOOK_EVERY_S)
        for worker in tuple(self._workers):
            gone = worker.process.poll() is not None  # before its last words are read
            yield from self._heard(worker)
            if gone:
                yield from self._buried(worker)

    def _heard(self, worker: _Worker) -> Iterator[Report]:
        for said in worker.said():
            kind, job = said.pop("kind"), worker.job
            assert job is not None
            if kind == "progress":
                yield Progress(job, **said)
            elif kind == "evaluated":
                worker.say(json.dumps(self._ask(job, Evaluation(**said))))
            else:
                worker.job = None
                yield Ended(read_outcome(job, said))

    def _buried(self, worker: _Worker) -> Iterator[Report]:
        self._workers.remove(worker)
        self._selector.unregister(worker.reading)
        os.close(worker.reading)
        worker.dismiss()
        why = worker.why_gone()
        if worker.job is not None:
            yield Lost(worker.job, why)

    def stop(self) -> Iterator[Report]:
        """Make all runs end; what ended on its own before that is among the reports."""
        for worker in self._workers:
            worker.dismiss()
        until_s = time.monotonic() + END_WITHIN_S
        while self._workers and time.monotonic() < until_s:
            yield from self.reports()

    def close(self) -> None:
        """Leave no process behind."""
        for worker in self._workers:
            worker.dismiss()
            if worker.job is not None:
                worker.process.kill()
        for _ in self.stop():
            pass
        for worker in tuple(self._workers):
            worker.process.kill()
            for _ in self._buried(worker):
                pass
        self._selector.close()
