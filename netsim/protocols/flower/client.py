"""A node that runs a ClientApp."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from flwr.app import Context, RecordDict
from flwr.app import Message as FlowerMessage

from netsim.errors import ProtocolError
from netsim.node.node import Node, Process
from netsim.protocols.flower.apps import FlowerApp, count_of
from netsim.protocols.flower.calling import RUN_ID, Answer, Call
from netsim.protocols.flower.messages import FIRST_ID, Instruction, Reply
from netsim.protocols.flower.metrics import Numbers, not_recorded, numbers_of_all, unrecorded_keys
from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.flower.run import FlowerRun
from netsim.units import to_ns, to_s

LEARNING = ("train", "evaluate")
"""Message types that take a client's processor."""

MOST_STEPS = 2**53
"""Local steps that a reply may tell of: numbers of more are no counts."""


def processes(node: Node, params: FlowerParams, app: FlowerApp) -> list[Process]:
    """One process, which answers one message after another.

    Parameters
    ----------
    node : Node
    params : FlowerParams
    app : FlowerApp
    """
    return [Client(node, params, app).main()]


class Client:
    """A ClientApp on one node.

    Parameters
    ----------
    node : Node
    params : FlowerParams
    app : FlowerApp
    """

    def __init__(self, node: Node, params: FlowerParams, app: FlowerApp) -> None:
        self._node, self._params, self._app = node, params, app
        self._batch_size, self._epochs = (
            count_of(params, app, key) or 1 for key in ("batch_size", "epochs")
        )
        self._known = {kind: count_of(params, app, f"{kind}_steps", least=0) for kind in LEARNING}

    def main(self) -> Process:
        """Answer the server's messages."""
        node, params = self._node, self._params
        run = node.once(FlowerRun, node, params, self._app)
        others = [i for i in range(node.num_nodes) if i not in node.servers]
        where: dict[str, bool | float | int | str]
        where = {"partition-id": others.index(node.id), "num-partitions": len(others)}
        context = Context(RUN_ID, FIRST_ID + node.id, where, RecordDict(), dict(run.config))
        (server,) = node.servers
        while True:
            received = yield node.receive(Instruction, timeout_s=None)
            message = received.msg.content.value
            if run.expires_ns(message, to_ns(node.now_s)) <= to_ns(node.now_s):
                continue  # nobody waits for the answer any more: Flower does not hand it out
            with node.seeded("flower") as seed:
                call = Call(message, context, seed, to_ns(node.now_s))
            begun, known = run.begin_call(call), self._known.get(_message_kind(message))
            if known is not None:
                yield node.work(steps=self._share(message, known))
            answer = run.answer(node, call, begun)
            reply, context = answer.reply, answer.context
            self._warn(answer, known is not None)
            if known is None:
                yield node.work(steps=self._steps(message, reply))
            if answer.slept_ns:
                yield node.work(seconds=to_s(answer.slept_ns))
            self._record(run, message, reply)
            packed = run.pack(reply)
            for _ in range(params.tries):
                outcome = yield node.send(server, Reply(packed))
                if outcome in ("delivered", None):
                    break

    def _warn(self, answer: Answer, takes_time: bool) -> None:
        if answer.failure:
            free = (
                "; its work took no time but what it slept, as nobody knows how far it had come: "
                "train_steps and evaluate_steps of [algorithm] say what a call takes"
            )
            self._node.warn(
                "the ClientApp failed",
                f"the ClientApp {answer.failure}; the server got Flower's error reply"
                + ("" if takes_time else free),
            )

    def _steps(self, message: FlowerMessage, reply: FlowerMessage) -> int:
        """Local steps that a reply tells of."""
        params, kind = self._params, _message_kind(message)
        if reply.has_error() or kind not in LEARNING:
            return 0
        named = self._metrics_by_name(reply)
        if params.steps_key:
            steps = named.get(params.steps_key)
        else:
            legacy = named.get("num_examples")  # of a NumPyClient
            examples = named.get(params.examples_key, legacy)
            epochs = self._epochs if kind == "train" else 1
            steps = None
            if _is_count(examples):
                steps = math.ceil(examples / self._batch_size) * epochs
        if not _is_count(steps):
            key = params.steps_key or params.examples_key
            self._node.warn(
                "replies without examples",
                f"a reply to a {kind} message has no metric {key} that is a whole number of 0 or "
                "more, so its work takes no time; name the one that has it: examples_key or "
                "steps_key of [algorithm]",
            )
            return 0
        return self._share(message, int(steps))

    def _metrics_by_name(self, reply: FlowerMessage) -> dict[str, Numbers]:
        """The numbers of a reply by name, where its records do not contradict each other.

        Raises
        ------
        ProtocolError
            If two of them have other numbers of examples, or of steps.
        """
        found = _metrics(reply)
        key = self._params.steps_key or self._params.examples_key
        of_key = {name: n for name, n in found.items() if name.endswith(f".{key}")}
        if key in found or not of_key:
            return found
        (first, count), *others = of_key.items()
        for name, other in others:
            if other != count:
                raise ProtocolError(
                    f"a reply says {first} = {count} and {name} = {other}, so the time of its work "
                    "is not known; report it in one MetricRecord, or name the one that counts: "
                    f'examples_key = "{first}" of [algorithm], or steps_key'
                )
        return {**found, key: count}

    def _share(self, message: FlowerMessage, steps: int) -> int:
        """Local steps that take as long as so many batches of a message's kind of work."""
        share = self._params.evaluate_share
        if _message_kind(message) != "evaluate" or not steps:
            return steps
        return max(1, round(steps * share)) if share else 0

    def _record(self, run: FlowerRun, message: FlowerMessage, reply: FlowerMessage) -> None:
        part = f"client_{_message_kind(message)}"
        for key, value in _metrics(reply).items():
            self._node.record(run.names(part, key), value)
        for record in _records(reply).values():
            for key in unrecorded_keys(record):
                self._node.warn(f"not recorded: {key}", not_recorded(f"{part}_{key}"))


def _is_count(number: object) -> TypeGuard[float]:
    """Return whether a metric is a whole number that steps or examples can have."""
    return isinstance(number, int | float) and number % 1 == 0 and 0 <= number <= MOST_STEPS


def _message_kind(message: FlowerMessage) -> str:
    """The first part of a message's type: `train`, `evaluate`, `query`."""
    return str(message.metadata.message_type.partition(".")[0])


def _records(reply: FlowerMessage) -> Any:
    return {} if reply.has_error() else reply.content.metric_records


def _metrics(reply: FlowerMessage) -> dict[str, Numbers]:
    """The numbers that a reply reports, by name."""
    return numbers_of_all(_records(reply))
