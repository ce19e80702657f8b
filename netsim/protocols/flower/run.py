"""The state of one run that all its nodes share: the app, its time, and changes to Flower."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flwr.app.message.message as flower_messages
from flwr.app import Message
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.common.serde import message_to_proto
from flwr.supercore.task_identity import TaskIdentity

from netsim.learning.global_draws import KeptGenerators
from netsim.messaging.message import Opaque
from netsim.node.node import Node
from netsim.protocols.flower.app_thread import AppThread
from netsim.protocols.flower.apps import FlowerApp, ImportedApp
from netsim.protocols.flower.grid import RUN_ID
from netsim.protocols.flower.metrics import Names
from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.flower.virtual_time import EPOCH_S, Changes, VirtualTime
from netsim.units import NS_PER_S, to_ns


class FlowerRun:
    """A Flower app in one run, from `node.once`.

    Parameters
    ----------
    node : Node
        The one that asks first.
    params : FlowerParams
    app : FlowerApp

    Attributes
    ----------
    time : VirtualTime
    generators : KeptGenerators
        The server's.
    changes : Changes
        What is undone when the run ends.
    names : Names
    server_app, client_app : object
    config : dict
    thread : AppThread or None
        The server's, once it has begun.
    server : Node or None
        The one that runs it.
    """

    def __init__(self, node: Node, params: FlowerParams, app: FlowerApp) -> None:
        self._params, self._folder = params, app.folder
        self.config, self.names = dict(app.config), Names()
        self.changes = Changes()
        self.thread: AppThread | None = None
        self.server: Node | None = None
        with node.seeded("flower") as seed:
            self.generators = KeptGenerators(seed)
        self._logger = logging.getLogger("flwr")
        self._level = self._logger.level
        self._imported: ImportedApp | None = None
        try:
            self._begin(node, app)
        except BaseException:
            self.close()
            raise

    def _begin(self, node: Node, app: FlowerApp) -> None:
        self._logger.setLevel(logging.WARNING)
        self.time = VirtualTime(lambda: to_ns(node.now_s), self.changes)
        for key, value in {
            "_run_id": RUN_ID,
            "_node_id": SUPERLINK_NODE_ID,
            "_task_id": 1,
        }.items():
            self.changes.set(TaskIdentity, key, value)
        self.changes.set(flower_messages, "now", self._date)
        with self.generators.in_force(), self.time.working():
            self._imported = ImportedApp(app)
        self.server_app, self.client_app = self._imported.server, self._imported.client

    def _date(self) -> datetime:
        return datetime.fromtimestamp(EPOCH_S + self.time.now_ns() / NS_PER_S, UTC)

    def packed(self, message: Message) -> Opaque:
        """A message with its size: Flower's own encoding, and what the user adds."""
        size = message_to_proto(message).ByteSize()
        return Opaque(message, 8 * (size + self._params.overhead_bytes))

    def expires_ns(self, message: Message, now_ns: int) -> int:
        """The end of a message's time to live, which began when it was made."""
        made_ns = to_ns(message.metadata.created_at - EPOCH_S)
        if abs(made_ns - now_ns) < 1000:  # Flower's dates are good to a quarter of a microsecond
            made_ns = now_ns
        return made_ns + to_ns(message.metadata.ttl)

    def place_of(self, error: BaseException) -> str:
        """` (FILE:LINE)` of the app's last line that led to an error."""
        found = ""
        for frame in traceback.extract_tb(error.__traceback__):
            path = Path(frame.filename)
            own = self._folder is not None and path.is_relative_to(self._folder)
            outside = self._folder is None and not {"flwr", "netsim", "threading.py"} & set(
                path.parts
            )
            if own or outside:
                found = f" ({path.name}:{frame.lineno})"
        return found

    def ended(self) -> None:
        """Warn where the app would have gone on."""
        if self.server is not None and self.thread is not None and not self.thread.has_ended:
            self.server.warn(
                "the ServerApp had not ended",
                "the ServerApp had not ended; what it reports is that of the rounds until then. "
                "Lengthen horizon_s, or let it play fewer rounds",
            )

    def close(self) -> None:
        """End the app, and let Flower and `time` be as they were."""
        if self.thread is not None:
            self.thread.close()
        self.changes.close()
        if self._imported is not None:
            self._imported.close()
        self._logger.setLevel(self._level)


def as_number(value: Any) -> float | None:
    """A number, or None if it is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None
