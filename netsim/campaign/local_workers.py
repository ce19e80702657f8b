"""Worker processes on this machine: each plays one run after the other.

Each line of a worker's input is a job, or the answer to a question; each line that it writes to the
file descriptor it was given is a report. The input ends when the process that started it does, by
whatever: then a run under way is interrupted, so no worker outlives its sweep. A worker that is
killed loses its own run alone, which another one plays again.
"""

import _thread
import json
import os
import queue
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import netsim
from netsim import standard_streams
from netsim.backends.native import cores
from netsim.campaign.grid import Job, Outcome, Point
from netsim.campaign.play_job import Ask, Evaluation, play_job
from netsim.campaign.pool import Ended, Lost, Progress, Report, Started
from netsim.scenario.draft import Draft

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import netsim; del sys.path[0]; "
    "from netsim import garbage; garbage.this_process_is_netsims(); "
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
        until_s = time.monotonic() + KILLED_AFTER_S
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


END_WITHIN_S = 10.0
"""After the end of its input a worker that can't be interrupted ends all the same."""


class _Orders:
    """Yield the parent's lines; their end interrupts the main thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._busy = False
        self._ended = False
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def _listen(self) -> None:
        for line in self._stream:
            self._lines.put(line.decode())
        self._ended = True
        self._lines.put(None)
        if self._busy:
            _thread.interrupt_main()
        time.sleep(END_WITHIN_S)
        os._exit(1)

    def job(self) -> Job | None:
        """The next job; None when there will be none."""
        self._busy = False
        line = self._lines.get()
        self._busy = line is not None
        if self._ended or line is None:
            return None
        return read_job(line)

    def answer(self) -> bool:
        """The answer to a question that was reported."""
        line = self._lines.get()
        if line is None:
            raise KeyboardInterrupt
        return bool(json.loads(line))


class _Reports:
    """Report to the parent."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # or a process that a run starts would keep it open
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)

    def send(self, kind: str, **fields: Any) -> None:
        """Write one report."""
        self._file.write(json.dumps({"kind": kind, **fields}) + "\n")


def main() -> None:
    """Play what standard input says; `argv` ends with a file descriptor and a number of workers."""
    descriptor, processes = (int(word) for word in sys.argv[-2:])
    orders_from = os.fdopen(standard_streams.take_input(), "rb", buffering=0)
    standard_streams.never_fail()
    reports, orders = _Reports(descriptor), _Orders(orders_from)
    cores.share(processes)

    def tell(_: Job, virtual_s: float, horizon_s: float) -> None:
        reports.send("progress", virtual_s=virtual_s, horizon_s=horizon_s)

    def ask(_: Job, evaluation: Evaluation) -> bool:
        reports.send("evaluated", virtual_s=evaluation.virtual_s, means=dict(evaluation.means))
        return orders.answer()

    try:
        # The end of the input is the one word to stop at: a second one, such as the SIGTERM that a
        # scheduler sends to all processes of a job, would fall into what the first has a run write.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while (job := orders.job()) is not None:
            reports.send("ended", **outcome_fields(play_job(job, tell, ask)))
    except KeyboardInterrupt:
        os._exit(130)  # what the run had to write is written
    except BrokenPipeError:
        os._exit(1)  # nobody is left to be told


def job_text(job: Job) -> str:
    """A job as one line."""
    draft = job.draft
    return json.dumps(
        {
            "label": job.point.label,
            "values": job.point.values,
            "seed": job.seed,
            "path": draft.path,
            "raw": draft.raw,
            "said_by": [[list(path), label] for path, label in draft.said_by.items()],
            "folder": str(job.folder),
            "components": [str(folder) for folder in job.components],
            "timing_only": job.timing_only,
            "names": list(job.names),
            "reports": job.reports,
        },
        default=str,  # as scenarios are read: a date is a text
    )


def read_job(text: str) -> Job:
    """The job that `job_text` wrote."""
    found = json.loads(text)
    said_by = {tuple(path): label for path, label in found["said_by"]}
    return Job(
        Point(found["label"], found["values"]),
        found["seed"],
        Draft(found["path"], found["raw"], said_by),
        Path(found["folder"]),
        tuple(Path(folder) for folder in found["components"]),
        found["timing_only"],
        tuple(found["names"]),
        found["reports"],
    )


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """Outcome of a job, without the job itself."""
    fields = {**vars(outcome)}
    del fields["job"]
    return fields


def read_outcome(job: Job, fields: dict[str, Any]) -> Outcome:
    """The outcome whose fields `outcome_fields` gave."""
    return Outcome(job, **{**fields, "tries": tuple(fields["tries"])})
