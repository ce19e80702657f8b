"""The program of a worker process: plays one run after the other until its standard input ends.

Each line of its input is a job, or the answer to a question; each line that it writes to the file
descriptor it was given is a report. The input ends when the process that started this one does, by
whatever: then a run under way is interrupted, so no worker outlives its sweep.
"""

import _thread
import json
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

from netsim import standard_streams
from netsim.backends.native import cores
from netsim.campaign.grid import Job
from netsim.campaign.workers.play_job import Evaluation, play_job
from netsim.campaign.workers.wire import outcome_fields, read_job

END_WITHIN_S = 10.0
"""After the end of its input a worker that can't be interrupted ends all the same."""


class _Orders:
    """Orders of the parent, line by line; a closed pipe interrupts the main thread."""

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
    """Reports to the parent."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # or a process that a run starts would keep it open
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)

    def send(self, kind: str, **fields: Any) -> None:
        """Write one report."""
        self._file.write(json.dumps({"kind": kind, **fields}) + "\n")


def main() -> None:
    """Play what standard input says; `argv` ends with a file descriptor and a number of workers."""
    descriptor, processes = (int(word) for word in sys.argv[-2:])
    orders_from = os.fdopen(os.dup(0), "rb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)  # for what a run may want to read
    os.dup2(nothing, 0)
    os.close(nothing)
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
