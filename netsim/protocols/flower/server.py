"""The node that runs a ServerApp."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial
from heapq import heapify, heappop
from typing import Any

from flwr.app import Context, Error, Metadata, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.app.message.message import make_message
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.supercore.constant import SYSTEM_MESSAGE_TYPE

from netsim.errors import NetsimError, ProtocolError
from netsim.node.node import Node, Process
from netsim.protocols.flower.app_thread import (
    AppThread,
    NodeIds,
    Pull,
    Push,
    Request,
    Sleep,
    Wait,
)
from netsim.protocols.flower.apps import FlowerApp
from netsim.protocols.flower.calling import RUN_ID, text_of
from netsim.protocols.flower.grid import SimulatedGrid, adapt_legacy_server
from netsim.protocols.flower.messages import FIRST_ID, Instruction, Reply
from netsim.protocols.flower.metrics import Numbers, listen_to_strategies, not_recorded
from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.flower.run import FlowerRun
from netsim.protocols.flower.virtual_time import EPOCH_S
from netsim.units import FOREVER_NS, to_ns, to_s


def processes(node: Node, params: FlowerParams, app: FlowerApp) -> list[Process]:
    """The processes of the ServerApp: the app itself and a listener.

    Parameters
    ----------
    node : Node
    params : FlowerParams
    app : FlowerApp
    """
    server = Server(node, params, app)
    return [server.main(), server.listen()]


class Server:
    """A ServerApp on one node.

    Parameters
    ----------
    node : Node
    params : FlowerParams
    app : FlowerApp
    """

    def __init__(self, node: Node, params: FlowerParams, app: FlowerApp) -> None:
        self._node, self._params, self._app = node, params, app
        self._heard = node.condition()
        self._sent: dict[str, FlowerMessage] = {}
        self._expires_ns: dict[str, int] = {}
        self._replies: dict[str, FlowerMessage] = {}
        self._told: list[tuple[str, Numbers]] = []
        self._came: list[str] = []
        self._count = self._late = 0

    @property
    def _now_ns(self) -> int:
        return to_ns(self._node.now_s)

    def main(self) -> Process:
        """Run the app: answer what it asks, and let time pass where it waits."""
        run = self._run = self._node.once(FlowerRun, self._node, self._params, self._app)
        poll_s, grids = self._params.poll_s, list[SimulatedGrid]()
        context = Context(RUN_ID, SUPERLINK_NODE_ID, {}, RecordDict(), run.config)
        app = run.app
        thread = run.thread = AppThread(
            lambda: app.server(grids[0], context),
            app.time,
            run.generators,
            app.surroundings.copy(),
            self._params.call_limit_s,
        )
        run.server = self._node
        grids.append(SimulatedGrid(thread, app.time, poll_s))
        adapt_legacy_server(app.changes, thread, app.time, poll_s)
        listen_to_strategies(
            app.changes,
            run.names,
            lambda *told: self._told.append(told),
            lambda name: self._node.warn(f"not recorded: {name}", not_recorded(name)),
        )
        request = self._resume_app(thread, None)
        while request is not None:
            answer = yield from self._answer(request)
            request = self._resume_app(thread, answer)
        self._node.record("flower_done_s", self._node.now_s)

    def _resume_app(self, thread: AppThread, answer: object) -> Request | None:
        """Let the app go on, and record what it has reported."""
        try:
            with self._run.waiting.on("the ServerApp, between two of its requests"):
                request = thread.go_on(answer)
        except (NetsimError, KeyboardInterrupt):
            raise
        except BaseException as error:
            place = self._run.app.place_of(error)
            raise ProtocolError(
                f"the ServerApp raised {type(error).__name__}: {text_of(error)}{place}"
            ) from error
        finally:
            for name, value in self._told:
                self._node.record(name, value)
            self._told.clear()
        return request

    def _answer(self, request: Request) -> Generator[Any, Any, Any]:
        """Do what the app has asked for."""
        node, run = self._node, self._run
        if not isinstance(request, Sleep | NodeIds):
            run.asks_since_s = None
        elif isinstance(request, NodeIds) and run.asks_since_s is None:
            run.asks_since_s = node.now_s
        if isinstance(request, Sleep):
            yield node.sleep(to_s(request.duration_ns))
            return None
        if isinstance(request, NodeIds):
            there = yield node.reachable()
            return [FIRST_ID + i for i in there]
        if isinstance(request, Push):
            return [self._push(message) for message in request.messages]
        if isinstance(request, Pull):
            found = self._pull(request.ids)
            if not found:
                until_ns = self._now_ns + to_ns(self._params.poll_s)
                yield from self._first_over([Wait([name], until_ns) for name in request.ids])
                found = self._pull(request.ids)
            return found
        if isinstance(request, Wait):
            return (yield from self._send_and_receive(request))
        return (yield from self._wait_for_first(request.waits))

    def _send_and_receive(self, wait: Wait) -> Generator[Any, Any, list[FlowerMessage]]:
        """One `send_and_receive`."""
        began_ns = self._now_ns
        yield from self._first_over([wait])
        found = self._pull(wait.ids)
        self._end_round(wait.ids, found, began_ns)
        return found

    def _end_round(self, ids: list[str], found: list[FlowerMessage], began_ns: int) -> None:
        """Record a round, and forget what nobody can pull any more."""
        for name in ids:
            self._forget(name)
        errors = sum(message.has_error() for message in found)
        numbers = {
            "sent": len(ids),
            "replies": len(found) - errors,
            "errors": errors,
            "late": self._late,
            "round_s": to_s(self._now_ns - began_ns),
        }
        for name, value in numbers.items() if ids else ():
            self._node.record(self._run.names("", name), value)

    def _wait_for_first(self, waits: list[Wait]) -> Generator[Any, Any, dict[int, Any]]:
        """Wait for the first of several waits; the replies of each that has ended, by its place."""
        found = {}
        for place in (yield from self._first_over(waits)):
            found[place] = self._pull(waits[place].ids)
            for name in waits[place].ids:
                self._forget(name)
        return found

    def _first_over(self, waits: list[Wait]) -> Generator[Any, Any, list[int]]:
        """Wait for the first of several waits to be over: answered, expired or out of time.

        Returns
        -------
        list of int
            Places of those that are over; empty where there are none to wait for.
        """
        open_ids = [set(wait.ids).difference(self._finished_messages(wait.ids)) for wait in waits]
        over = {place for place, left in enumerate(open_ids) if not left}
        place_of = {name: place for place, left in enumerate(open_ids) for name in left}
        ends = [
            (wait.until_ns, place, "")
            for place, wait in enumerate(waits)
            if wait.until_ns is not None
        ]
        ends += [(self._expires_ns[name], place, name) for name, place in place_of.items()]
        heapify(ends)
        timers: dict[int, Any] = {}
        self._came.clear()
        while waits and not over:
            while ends and ends[0][0] <= self._now_ns:
                _, place, name = heappop(ends)
                open_ids[place].discard(name)
                if not name or not open_ids[place]:
                    over.add(place)
            if over:
                break
            while ends and ends[0][2] and ends[0][2] not in open_ids[ends[0][1]]:
                heappop(ends)  # it is answered
            heard = self._heard.wait()
            if ends and ends[0][0] < FOREVER_NS:
                wake_ns = ends[0][0]
                if wake_ns not in timers:
                    timers[wake_ns] = self._node.sleep(to_s(wake_ns - self._now_ns))
                yield heard | timers[wake_ns]
            else:
                yield heard
            for name in self._came:
                if (its_place := place_of.get(name)) is not None:
                    open_ids[its_place].discard(name)
                    if not open_ids[its_place]:
                        over.add(its_place)
            self._came.clear()
        return sorted(over)

    def _finished_messages(self, ids: Iterable[str]) -> list[str]:
        """The messages that are answered or have expired, and those that nobody knows."""
        now_ns = self._now_ns
        return [
            name
            for name in ids
            if name in self._replies or self._expires_ns.get(name, -1) <= now_ns
        ]

    # -- messages --------------------------------------------------------------------------------

    def _push(self, message: FlowerMessage) -> str:
        node, number = self._node, int(message.metadata.dst_node_id) - FIRST_ID
        if number not in node.neighbours:
            raise ProtocolError(
                f"the ServerApp sends to node {message.metadata.dst_node_id}, which there is not; "
                "Grid.get_node_ids() gives those in reach"
            )
        self._count += 1
        name = f"{self._count:064x}"
        message.metadata.__dict__["_message_id"] = name
        packed = self._run.pack(message)
        self._sent[name] = message
        self._expires_ns[name] = self._run.expires_ns(message, self._now_ns)
        outcome = node.send(number, Instruction(packed))
        self._retry_when_lost(outcome, number, packed, name, 1)
        return name

    def _retry_when_lost(
        self, outcome: Any, number: int, packed: Any, name: str, tries: int
    ) -> None:
        """Send a message again when it is known not to have come through."""
        if tries < self._params.tries:
            outcome.callbacks.append(partial(self._heard_of, number, packed, name, tries))

    def _heard_of(self, number: int, packed: Any, name: str, tries: int, event: Any) -> None:
        lost = event.value not in ("delivered", None)
        if lost and self._expires_ns.get(name, -1) > self._now_ns:
            outcome = self._node.send(number, Instruction(packed))
            self._retry_when_lost(outcome, number, packed, name, tries + 1)

    def listen(self) -> Process:
        """Take replies in."""
        while True:
            received = yield self._node.receive(Reply, timeout_s=None)
            message = received.msg.content.value
            name = message.metadata.reply_to_message_id
            if self._expires_ns.get(name, -1) > self._now_ns:
                self._replies[name] = message
                self._came.append(name)
                self._heard.notify()
            else:
                self._late += 1

    def _pull(self, ids: list[str]) -> list[FlowerMessage]:
        """Replies and errors, in the order in which their messages were sent."""
        found = []
        for name in dict.fromkeys(sorted(self._finished_messages(ids))):
            if name in self._replies:
                found.append(self._replies[name])
            elif name in self._sent:
                error = Error(ErrorCode.REPLY_MESSAGE_UNAVAILABLE, "the message has expired")
                found.append(FlowerMessage(error, reply_to=self._sent[name]))
            else:
                found.append(self._unknown_message(name))
            self._forget(name)
        return found

    def _unknown_message(self, name: str) -> FlowerMessage:
        """Flower's answer to a pull of what was pulled already, has gone, or never was."""
        metadata = Metadata(
            RUN_ID, "", SUPERLINK_NODE_ID, SUPERLINK_NODE_ID, name, "",
            created_at=EPOCH_S + to_s(self._now_ns), ttl=0.0, message_type=SYSTEM_MESSAGE_TYPE,
        )  # fmt: skip
        error = Error(ErrorCode.MESSAGE_UNAVAILABLE, f"there is no message {name}")
        return make_message(metadata, error=error)

    def _forget(self, name: str) -> None:
        for table in (self._sent, self._expires_ns, self._replies):
            table.pop(name, None)
