"""Flower's Grid, and the parts of its legacy server that call it from threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import flwr.server.compat.app as legacy_app
import flwr.server.compat.app_utils as legacy_nodes
import flwr.server.server as legacy_server
import flwr.server.workflow.default_workflows as legacy_workflows
from flwr.app import Message
from flwr.proto.node_pb2 import NodeInfo
from flwr.server.client_manager import SimpleClientManager
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from netsim.protocols.flower.app_thread import (
    AppPart,
    AppThread,
    NodeIds,
    Pull,
    Push,
    Sleep,
    Wait,
    WaitForSome,
)
from netsim.protocols.flower.calling import RUN_ID
from netsim.protocols.flower.virtual_time import Changes, VirtualTime
from netsim.units import to_ns

MANY = 1000
"""Questions at one instant after which each takes time, for loops that never sleep."""


class SimulatedGrid(Grid):  # type: ignore[misc, unused-ignore]  # flwr has types of its own or is not there
    """Flower's Grid over the server of one run.

    Parameters
    ----------
    app : AppThread
    time : VirtualTime
    poll_s : float
    """

    def __init__(self, app: AppThread, time: VirtualTime, poll_s: float) -> None:
        self._app, self._time, self._poll_ns = app, time, to_ns(poll_s)
        self._run = Run.create_empty(RUN_ID)
        self._asked_ns, self._asked = -1, 0

    def set_run(self, run: object) -> None:
        """Take no notice: there is one run."""

    @property
    def run(self) -> Any:
        """Flower's own record of the run."""
        return self._run

    def create_message(
        self,
        content: Any,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Any:
        """Make a message.

        Parameters
        ----------
        content : flwr.app.RecordDict
        message_type : str
        dst_node_id : int
        group_id : str
        ttl : float, optional
            Time to live [s]; None: Flower's own.
        """
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> list[int]:
        """The ids of the nodes in reach now."""
        now_ns = self._time.now_ns()
        self._asked = self._asked + 1 if now_ns == self._asked_ns else 0
        self._asked_ns = now_ns
        if self._asked > MANY:
            self._app.ask(Sleep(self._poll_ns))
        found: list[int] = self._app.ask(NodeIds())
        return found

    def get_nodes(self) -> list[Any]:
        """The nodes in reach now."""
        return [NodeInfo(node_id=node_id) for node_id in self.get_node_ids()]

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        """Send messages; their ids, by which replies are pulled."""
        ids: list[str] = self._app.ask(Push(list(messages)))
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Any]:
        """The replies that have come, or errors for messages that have expired."""
        found: list[Any] = self._app.ask(Pull(list(message_ids)))
        return found

    def send_and_receive(
        self, messages: Iterable[Any], *, timeout: float | None = None
    ) -> list[Any]:
        """Send messages and wait for the replies, until all are there or the time is out."""
        ids = self.push_messages(messages)
        until_ns = None if timeout is None else self._time.now_ns() + to_ns(timeout)
        wait = Wait(ids, until_ns)
        part = self._app.part
        found: list[Any] = self._app.ask(wait) if part is None else part.ask(wait)
        return found


class InOrderExecutor:
    """Executor of Flower's legacy server: calls of clients that wait for the Grid together.

    As many run at a time as it has workers, and all where Flower is not told a number.
    """

    def __init__(self, app: AppThread, max_workers: int | None = None) -> None:
        self._app, self._most = app, max_workers
        self._futures: list[Future] = []

    def __enter__(self) -> InOrderExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: all have ended."""

    def submit(self, call: Callable[..., Any], *given: Any, **named: Any) -> Future:
        """Take a call, to be made in `finish`.

        Parameters
        ----------
        call : callable
        *given, **named
            Its arguments.
        """
        future = Future(lambda: call(*given, **named))
        self._futures.append(future)
        return future

    def finish(self) -> list[Future]:
        """Make the calls; they are done in the order in which they were taken."""
        waiting = [self._app.make_part(future.play) for future in self._futures]
        active: list[AppPart] = []
        while waiting or active:
            room = len(waiting) if self._most is None else self._most - len(active)
            begun, waiting = waiting[:room], waiting[room:]
            for part in begun:
                part.go_on()
            active = [part for part in (*active, *begun) if part.waits_for is not None]
            if active:
                waits = [part.waits_for for part in active if part.waits_for is not None]
                ended: Mapping[int, list[Any]] = self._app.ask(WaitForSome(waits))
                for place, replies in ended.items():
                    active[place].go_on(replies)
                active = [part for part in active if part.waits_for is not None]
        return self._futures


class Future:
    """The result of one call, in the words of `concurrent.futures`."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call, self._result = call, None
        self._error: Exception | None = None

    def play(self) -> None:
        """Make the call."""
        try:
            self._result = self._call()
        except Exception as error:
            self._error = error

    def exception(self) -> Exception | None:
        """The exception that the call raised, or None."""
        return self._error

    def result(self) -> Any:
        """The value that the call returned."""
        return self._result


def adapt_legacy_server(changes: Changes, app: AppThread, time: VirtualTime, poll_s: float) -> None:
    """Let Flower's legacy server run in one thread, in virtual time.

    Parameters
    ----------
    changes : Changes
        Through which its modules are changed.
    app : AppThread
    time : VirtualTime
    poll_s : float
        How often it looks for clients while there are too few [s].
    """
    executors: list[InOrderExecutor] = []

    def executor(max_workers: int | None = None) -> InOrderExecutor:
        executors.append(InOrderExecutor(app, max_workers))
        return executors[-1]

    def wait(fs: object, timeout: float | None = None) -> tuple[list[Future], set[Future]]:
        return executors.pop().finish(), set()

    def refreshed(grid: Any, manager: Any) -> tuple[Any, Any, Any]:
        """Refresh at each question alone: that is when Flower's own thread is looked at."""
        stop, done = threading.Event(), threading.Event()
        stop.set()
        legacy_nodes._update_client_manager(grid, manager, stop, done)
        return SimpleNamespace(join=lambda: None), stop, done

    def wait_for(manager: Any, num_clients: int, timeout: float = 86400) -> bool:
        until_ns = time.now_ns() + to_ns(timeout)
        while manager.num_available() < num_clients:
            if time.now_ns() >= until_ns:
                return False
            app.ask(Sleep(min(to_ns(poll_s), until_ns - time.now_ns())))
        return True

    futures = SimpleNamespace(ThreadPoolExecutor=executor, wait=wait, Future=Future)
    changes.set(legacy_server, "concurrent", SimpleNamespace(futures=futures))
    for module in (legacy_app, legacy_workflows):
        changes.set(module, "start_update_client_manager_thread", refreshed)
    changes.set(SimpleClientManager, "wait_for", wait_for)
