"""Processes in which ClientApps compute beside the simulation.

A call is written to a process as it is begun, and the answer is read when virtual time has come to
its end: what happens in the run follows from the calls alone, never from which process was faster.
A process ends with its input, so that none outlives the run, by whatever that ends.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from flwr.common.constant import ErrorCode

import netsim
from netsim import standard_streams
from netsim.errors import ProtocolError, UnsuitableError
from netsim.protocols.flower.apps import FlowerApp
from netsim.protocols.flower.calling import Answer, Call, PlayedApp, error_answer, text_of

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import netsim; del sys.path[0]; "
    "from netsim.protocols.flower.client_pool import main; main()"
)
"""Imports this very netsim, and nothing else from where it lies."""

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class _Begin:
    """First message to a process.

    Attributes
    ----------
    path : list of str
        Where modules are looked for.
    app : bytes
        The app: pickled, for its modules may be found by `path` alone.
    seed : int
        Of the global random numbers while its modules are imported.
    """

    path: list[str]
    app: bytes
    seed: int


class ClientPool:
    """So many processes, each of which makes one call after another.

    Parameters
    ----------
    app : FlowerApp
    seed : int
        Of the global random numbers while the app's modules are imported.
    processes : int
    limit_s : float or None
        Wall time after which a call is broken off.

    Raises
    ------
    UnsuitableError
        If the app is given as objects that no other process can have.
    """

    def __init__(self, app: FlowerApp, seed: int, processes: int, limit_s: float | None) -> None:
        self._begin = pickle.dumps(_Begin(list(sys.path), _pickle_app(app), seed))
        self._limit_s = limit_s
        self._idle = queue.SimpleQueue[_Worker]()
        self._workers = [_Worker(self._begin) for _ in range(processes)]
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(processes, "client")
        self._over = False

    def begin(self, call: Call) -> Future[Answer]:
        """Let a process make a call, as soon as one has time."""
        written = pickle.dumps(call)  # as it is now
        return self._threads.submit(self._answer, call, written)

    def _answer(self, call: Call, written: bytes) -> Answer:
        if self._over:
            raise CancelledError
        worker = self._idle.get()
        try:
            worker.until_ready()
            found = worker.answer(written, self._limit_s)
        except EOFError:
            why = worker.why_gone()
            answer = error_answer(
                call, ErrorCode.CLIENT_APP_CRASHED, f"has crashed: the process that ran it {why}"
            )
        except TimeoutError:
            answer = error_answer(
                call,
                ErrorCode.CLIENT_APP_CRASHED,
                f"was broken off after call_limit_s = {self._limit_s:g} of wall time, by which "
                "this run may differ from the next one",
            )
        else:
            self._idle.put(worker)
            if isinstance(found, Answer):
                return found
            raise ProtocolError(f"a process for ClientApps could not begin: {found}")
        worker.discard()
        if not self._over:
            self._workers.remove(worker)
            self._workers.append(_Worker(self._begin))
            self._idle.put(self._workers[-1])
        return answer

    def close(self) -> None:
        """Leave no process behind, whatever it is at."""
        self._over = True
        for worker in list(self._workers):
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.discard()


def _pickle_app(app: FlowerApp) -> bytes:
    """An app without its ServerApp where it is given as objects.

    Raises
    ------
    UnsuitableError
    """
    if app.folder is not None:
        return pickle.dumps(app)
    try:
        by_value = importlib.import_module("cloudpickle")
        written: bytes = by_value.dumps(replace(app, parts=(None, app.parts[1])))
    except Exception as error:
        raise UnsuitableError(
            f"[algorithm] workers, call_limit_s: the ClientApp can't be given to other processes "
            f"({type(error).__name__}: {text_of(error)}); put the app into a folder of its own and "
            "name that by components, or leave both keys out"
        ) from None
    return written


class _Worker:
    """One process, and the pipes to it and from it."""

    def __init__(self, begin: bytes) -> None:
        reading, writing = os.pipe()
        root = str(Path(netsim.__path__[0]).parent)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, root, str(writing)],
                stdin=subprocess.PIPE,
                pass_fds=(writing,),
                process_group=0,  # Ctrl-C is for the run
            )
        finally:
            os.close(writing)
        self._reading = os.fdopen(reading, "rb")
        self._begin: bytes | None = begin

    def until_ready(self) -> None:
        """Wait until it has imported the app.

        Raises
        ------
        EOFError
            If it has ended.
        """
        if self._begin is not None:
            self._send_text(self._begin)
            self._begin = None
            _read(self._reading)

    def answer(self, call: bytes, limit_s: float | None) -> Any:
        """Write a call and wait for its answer.

        Raises
        ------
        EOFError
            If it has ended.
        TimeoutError
        """
        self._send_text(call)
        if limit_s is not None and not select.select([self._reading], [], [], limit_s)[0]:
            raise TimeoutError
        return pickle.loads(_read(self._reading))

    def _send_text(self, text: bytes) -> None:
        assert self._process.stdin is not None
        try:
            _write(self._process.stdin, text)
        except OSError:
            raise EOFError from None

    def why_gone(self) -> str:
        """Describe its end, as the end of a sentence."""
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "has closed its output"
        if code >= 0:
            return f"ended with exit code {code}"
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    def kill(self) -> None:
        """End it, whatever it is at: who waits for its answer reads the end."""
        self._process.kill()
        self._process.wait()

    def discard(self) -> None:
        """End it, where nobody waits for its answer any more."""
        self.kill()
        self._reading.close()
        with suppress(OSError):  # of what was not written to it
            assert self._process.stdin is not None
            self._process.stdin.close()


def _write(stream: IO[bytes], text: bytes) -> None:
    stream.write(_LENGTH.pack(len(text)))
    stream.write(text)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    """One text.

    Raises
    ------
    EOFError
        If there is none, or not the whole of it.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    text = stream.read(length)
    if len(text) < length:
        raise EOFError
    return text


def _calls(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what is written to this process; when that ends, so does the process, at once."""
    found = queue.SimpleQueue[bytes]()

    def listen() -> None:
        with suppress(EOFError):
            while True:
                found.put(_read(stream))
        os._exit(0)

    threading.Thread(target=listen, name="calls", daemon=True).start()
    while True:
        yield found.get()


def main() -> None:
    """Answer what standard input says; `argv` ends with the file descriptor for the answers."""
    calls_from = os.fdopen(standard_streams.take_input(), "rb")
    descriptor = int(sys.argv[-1])
    os.set_inheritable(descriptor, False)  # or a process that an app starts would keep it open
    answers = os.fdopen(descriptor, "wb")
    standard_streams.never_fail()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls = _calls(calls_from)
    played, why = _load_app(pickle.loads(next(calls)))
    _write(answers, b"ready")
    for text in calls:
        _write(answers, pickle.dumps(why if played is None else played.answer(pickle.loads(text))))


def _load_app(begin: _Begin) -> tuple[PlayedApp | None, str]:
    """The app in this process; None and why, if it can't be had."""
    import torch

    from netsim.learning.global_draws import KeptGenerators

    torch.set_num_threads(1)  # as in a run: other numbers of threads give other sums
    sys.path[:] = begin.path
    try:
        generators = KeptGenerators(begin.seed)
        return PlayedApp(pickle.loads(begin.app), lambda: 0, generators), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {text_of(error)}"
