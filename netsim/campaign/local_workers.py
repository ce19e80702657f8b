"""Worker processes on this machine: each plays one run after the other.

A worker is given jobs, and answers to its questions; it gives reports, and `Evaluation`s, each of
which asks whether its run shall go on. Its orders end when the process that started it does, by
whatever: then a run under way is interrupted, so no worker outlives its sweep. A worker that is
killed loses its own run alone, which another one plays again.
"""

import _thread
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path

import netsim
from netsim import standard_streams
from netsim.backends.native import cores
from netsim.campaign.grid import Job, Outcome
from netsim.campaign.play_job import Ask, Evaluation, play_job
from netsim.campaign.pool import Lost, Progress, Report, Started
from netsim.engine.interruption import ENDS

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import netsim; del sys.path[0]; "
    "from netsim import garbage; garbage.set_for_own_process(); "
    "from netsim.campaign.local_workers import main; main()"
)
"""Imports this very netsim and nothing else from where it lies, and nothing from the working
folder, which `-P` keeps off the path: a file `signal.py` there is none of Python's."""

LOOK_EVERY_S = 0.5
"""Longest wait for a report: a signal to this process is noticed in between."""

KILLED_AFTER_S = 15.0
"""Workers that are told to end and have not by then are killed; longer than they need to end
themselves, see `END_WITHIN_S`."""


class _Worker:
    """One process: its orders, its reports, and the run that it plays."""

    def __init__(self, processes: int) -> None:
        orders, self.orders = Pipe(duplex=False)
        self.reports, reports = Pipe(duplex=False)
        ends, root = (orders.fileno(), reports.fileno()), Path(netsim.__path__[0]).parent
        with orders, reports:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, (root, *ends, processes))],
                stdin=subprocess.DEVNULL,
                pass_fds=ends,
                process_group=0,  # Ctrl-C is for the sweep, which tells its workers
            )
        self.job: Job | None = None

    def say(self, order: Job | bool) -> None:
        """Give the worker an order; a dead one hears nothing, which shows elsewhere."""
        with suppress(OSError):
            self.orders.send(order)

    def said(self) -> Iterator[Report | Evaluation]:
        """Yield what the worker has said since the last call."""
        with suppress(EOFError, OSError):
            while self.reports.poll():
                yield self.reports.recv()

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

    `slots`: how many. They share the cores: the threads of each are its part of them, unless `[run]
    threads` is a number. `ask`: whether a run that reports shall go on.
    """

    def __init__(self, slots: int, ask: Ask) -> None:
        self.slots = slots
        self._ask = ask
        self._workers: list[_Worker] = []
        self._started: list[Report] = []

    def start(self, job: Job) -> None:
        """Give a run to an idle process, or to a new one."""
        worker = next((w for w in self._workers if w.job is None), None)
        if worker is None:
            worker = _Worker(self.slots)
            self._workers.append(worker)
        worker.job = job
        worker.say(job)
        self._started.append(Started(job, worker.process.pid, socket.gethostname()))

    def reports(self) -> Iterator[Report]:
        """Yield new reports, waiting at most 0.5 s."""
        started, self._started = self._started, []
        yield from started
        if not started:
            wait([worker.reports for worker in self._workers], LOOK_EVERY_S)
        for worker in tuple(self._workers):
            gone = worker.process.poll() is not None  # before its last words are read
            yield from self._reports_of(worker)
            if gone:
                yield from self._remove_dead(worker)

    def _reports_of(self, worker: _Worker) -> Iterator[Report]:
        for said in worker.said():
            if isinstance(said, Evaluation):
                assert worker.job is not None
                worker.say(self._ask(worker.job, said))
                continue
            if isinstance(said, Outcome):
                worker.job = None
            yield said

    def _remove_dead(self, worker: _Worker) -> Iterator[Report]:
        self._workers.remove(worker)
        worker.reports.close()
        worker.orders.close()
        why = worker.why_gone()
        if worker.job is not None:
            yield Lost(worker.job, why)

    def stop(self) -> Iterator[Report]:
        """Make all runs end; what ended on its own before that is among the reports."""
        for worker in self._workers:
            worker.orders.close()
        until_s = time.monotonic() + KILLED_AFTER_S
        while self._workers and time.monotonic() < until_s:
            yield from self.reports()

    def close(self) -> None:
        """Leave no process behind."""
        for worker in self._workers:
            worker.orders.close()
            if worker.job is not None:
                worker.process.kill()
        for _ in self.stop():
            pass
        for worker in tuple(self._workers):
            worker.process.kill()
            for _ in self._remove_dead(worker):
                pass


END_WITHIN_S = 8.0
"""After the end of its orders a worker that can't be interrupted ends all the same."""


class _Orders:
    """Orders of the parent; their end interrupts the main thread."""

    def __init__(self, given: "Connection[None, Job | bool]") -> None:
        self._given = given
        self._waiting: queue.SimpleQueue[Job | bool | None] = queue.SimpleQueue()
        self._busy = False
        self._ended = False
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._waiting.put(self._given.recv())
        self._ended = True
        self._waiting.put(None)
        if self._busy:
            _thread.interrupt_main()
        time.sleep(END_WITHIN_S)
        os._exit(1)

    def job(self) -> Job | None:
        """The next job; None when there will be none."""
        self._busy = False
        job = self._waiting.get()
        self._busy = job is not None
        assert not isinstance(job, bool)
        return None if self._ended else job

    def answer(self) -> bool:
        """The answer to a question that was reported."""
        answer = self._waiting.get()
        if answer is None:
            raise KeyboardInterrupt
        assert isinstance(answer, bool)
        return answer


def main() -> None:
    """Play what is ordered; `argv` ends with two file descriptors and a number of workers."""
    given, descriptor_out, processes = map(int, sys.argv[-3:])
    for descriptor in (given, descriptor_out):
        os.set_inheritable(descriptor, False)  # or what a run starts would keep it open
    standard_streams.never_fail()
    reports: Connection[Report | Evaluation, None] = Connection(descriptor_out, readable=False)
    orders = _Orders(Connection(given, writable=False))
    cores.share(processes)

    def tell(job: Job, virtual_s: float, horizon_s: float) -> None:
        reports.send(Progress(job, virtual_s, horizon_s))

    def ask(_: Job, evaluation: Evaluation) -> bool:
        reports.send(evaluation)
        return orders.answer()

    try:
        # The end of the orders is the one word to stop at: a second one, such as the SIGTERM that a
        # scheduler sends to all processes of a job, would fall into what the first has a run write.
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while (job := orders.job()) is not None:
            reports.send(play_job(job, tell, ask))
    except KeyboardInterrupt:
        os._exit(130)  # what the run had to write is written
    except BrokenPipeError:
        os._exit(1)  # nobody is left to be told
