"""One call of a ClientApp, in whichever process it is made."""

from __future__ import annotations

import copy
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flwr.app.message.message as flower_messages
from flwr.app import Context, Error, Message
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.common.serde import message_to_proto
from flwr.supercore.task_identity import TaskIdentity

from netsim.errors import one_line
from netsim.learning.global_draws import KeptGenerators, all_seeded
from netsim.protocols.flower.apps import FlowerApp, ImportedApp
from netsim.protocols.flower.virtual_time import EPOCH_S, Changes, VirtualTime
from netsim.units import NS_PER_S

RUN_ID = 1


@dataclass(frozen=True)
class Call:
    """Arguments of a ClientApp's call.

    Attributes
    ----------
    message : flwr.app.Message
    context : flwr.app.Context
        Of the client, as its last call has left it.
    seed : int
        Of the global random numbers during the call.
    at_ns : int
        Virtual time at which the message came.
    """

    message: Message
    context: Context
    seed: int
    at_ns: int


@dataclass(frozen=True)
class Answer:
    """Outcome of a call.

    Attributes
    ----------
    reply : flwr.app.Message
    context : flwr.app.Context
    slept_ns : int
        Virtual time that it has slept.
    failure : str
        Why the reply is an error, as a clause; empty: it is none.
    """

    reply: Message
    context: Context
    slept_ns: int = 0
    failure: str = ""


def error_answer(
    call: Call, code: int, failure: str, reason: str | None = None, slept_ns: int = 0
) -> Answer:
    """Answer with Flower's error reply.

    Parameters
    ----------
    call : Call
    code : int
        One of Flower's `ErrorCode`.
    failure : str
        What has happened, as a clause.
    reason : str, optional
        What the server reads; by default the same.
    slept_ns : int
        Virtual time that it has slept before.
    """
    error = Error(code, failure if reason is None else reason)
    return Answer(Message(error, reply_to=call.message), call.context, slept_ns, failure)


class PlayedApp:
    """An app in this process, with Flower's identity and clocks in virtual time.

    Parameters
    ----------
    app : FlowerApp
    now_ns : callable
        Virtual time [ns].
    generators : KeptGenerators
        Global random numbers while its modules are imported.

    Attributes
    ----------
    changes : Changes
        What is undone by `close`.
    time : VirtualTime
    surroundings : Surroundings
        As its modules have left them; what a call of the ClientApp changes lasts as long as it.
    server, client : object
        Its ServerApp and its ClientApp.
    """

    def __init__(
        self, app: FlowerApp, now_ns: Callable[[], int], generators: KeptGenerators
    ) -> None:
        self.folder, self.changes = app.folder, Changes()
        self.surroundings = Surroundings()
        self._imported: ImportedApp | None = None
        try:
            self.time = VirtualTime(now_ns, self.changes)
            identity = {"_run_id": RUN_ID, "_node_id": SUPERLINK_NODE_ID, "_task_id": 1}
            for key, value in identity.items():
                self.changes.set(TaskIdentity, key, value)
            self.changes.set(flower_messages, "now", self._date)
            with generators.in_force(), self.time.app_turn(), self.surroundings.in_force():
                self._imported = ImportedApp(app)
        except BaseException:
            self.close()
            raise
        self.server, self.client = self._imported.server, self._imported.client

    def _date(self) -> datetime:
        return datetime.fromtimestamp(EPOCH_S + self.time.now_ns() / NS_PER_S, UTC)

    def answer(self, call: Call) -> Answer:
        """Call the ClientApp; where it raises, the reply is Flower's error."""
        before = copy.deepcopy(call.context)  # its arrays are bytes, which are not copied
        with (
            all_seeded(call.seed),
            self.time.app_turn(call.at_ns) as slept_ns,
            self.surroundings.in_force(keeps=False),
        ):
            try:
                reply = self.client(call.message, call.context)
                _require_reply(reply, call.message)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                said = text_of(error)
                code = ErrorCode.CLIENT_APP_RAISED_EXCEPTION
                failure = f"raised {type(error).__name__}: {said}{self.place_of(error)}"
                call = replace(call, context=before)  # Flower keeps nothing of such a call
                return error_answer(call, code, failure, f"{type(error)}:<'{said}'>", slept_ns())
            return Answer(reply, call.context, slept_ns())

    def place_of(self, error: BaseException) -> str:
        """` (FILE:LINE)` of the app's last line that led to an error."""
        found = ""
        for frame in traceback.extract_tb(error.__traceback__):
            path = Path(frame.filename)
            own = self.folder is not None and path.is_relative_to(self.folder)
            outside = self.folder is None and not {"flwr", "netsim", "threading.py"} & set(
                path.parts
            )
            if own or outside:
                found = f" ({path.name}:{frame.lineno})"
        return found

    def close(self) -> None:
        """Let Flower and `time` be as they were."""
        self.changes.close()
        if self._imported is not None:
            self._imported.close()


def _require_reply(reply: Any, message: Message) -> None:
    """Refuse what Flower could not send as the reply to a message.

    Raises
    ------
    TypeError, ValueError
    """
    if not isinstance(reply, Message):
        raise TypeError(
            f"it returned {type(reply).__name__}, which is no Message; return "
            "Message(content, reply_to=message)"
        )
    if reply.metadata.reply_to_message_id != message.metadata.message_id:
        raise ValueError(
            "the Message that it returned replies to no message or to another one; return "
            "Message(content, reply_to=message)"
        )
    message_to_proto(reply)


def text_of(error: BaseException) -> str:
    """Describe an error in one line; one that can't say anything, by nothing."""
    with suppress(Exception):
        return one_line(error)
    return "(its text can't be had)"


class Surroundings:
    """Working folder, environment and search path of an app; at first those of the process."""

    def __init__(self) -> None:
        self._own = _surroundings()

    def copy(self) -> Surroundings:
        """Others that begin as these are now."""
        other = Surroundings()
        other._own = self._own
        return other

    @contextmanager
    def in_force(self, keeps: bool = True) -> Iterator[None]:
        """Let the process have these; those that it had come back afterwards.

        Parameters
        ----------
        keeps : bool
            Whether what is changed meanwhile is in force the next time.
        """
        before = _surroundings()
        _set_surroundings(self._own)
        try:
            yield
        finally:
            if keeps:
                self._own = _surroundings()
            _set_surroundings(before)


def _surroundings() -> tuple[str, dict[bytes, bytes], list[str]]:
    return _folder(), dict(_raw_environment()), list(sys.path)


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # somebody has removed it
        return ""


def _raw_environment() -> dict[bytes, bytes]:
    """The environment as Python keeps it: to decode it at each call would take longer than most."""
    found: dict[bytes, bytes] = vars(os.environ)["_data"]
    return found


def _set_surroundings(wanted: tuple[str, dict[bytes, bytes], list[str]]) -> None:
    folder, environment, path = wanted
    if folder and _folder() != folder:
        os.chdir(folder)
    if _raw_environment() != environment:
        for name in _raw_environment().keys() - environment.keys():
            del os.environ[os.fsdecode(name)]
        for name, value in environment.items():
            os.environ[os.fsdecode(name)] = os.fsdecode(value)
    if sys.path != path:
        sys.path[:] = path
