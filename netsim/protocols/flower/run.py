"""The state of one run that all its nodes share: the app, its time, and changes to Flower."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future

from flwr.app import Message
from flwr.common.serde import message_to_proto

from netsim.errors import NetsimError
from netsim.learning.global_draws import KeptGenerators
from netsim.messaging.message import Opaque
from netsim.node.node import Node
from netsim.protocols.flower.app_thread import AppThread
from netsim.protocols.flower.apps import FlowerApp
from netsim.protocols.flower.calling import Answer, Call, PlayedApp
from netsim.protocols.flower.client_pool import ClientPool
from netsim.protocols.flower.metrics import Names
from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.flower.virtual_time import EPOCH_S
from netsim.protocols.flower.waiting import Waiting
from netsim.units import to_ns

_guard = threading.Lock()
_players: list[int] = []
"""Threads that play an app: while one does, Python's clock and Flower are changed for it."""


def _claim_process() -> int:
    """Claim Python's clock for this thread's app; gives the thread.

    Runs of one thread end in the reverse order of their beginnings, and so do their changes.

    Raises
    ------
    NetsimError
        If another thread plays an app: the first one to end would take the other's clock away.
    """
    me = threading.get_ident()
    with _guard:
        if any(player != me for player in _players):
            raise NetsimError(
                "a run of another thread plays a Flower app, for which Python's clock is changed "
                "in the whole process; play one after the other, or in processes: netsim.sweep "
                "with jobs"
            )
        _players.append(me)
    return me


def _release_process(player: int) -> None:
    with _guard:
        if player in _players:
            _players.remove(player)


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
    app : PlayedApp
        In this process.
    waiting : Waiting
        Wall time that the app takes.
    generators : KeptGenerators
        The server's.
    names : Names
    config : dict
    thread : AppThread or None
        The server's, once it has begun.
    server : Node or None
        The one that runs it.
    asks_since_s : float or None
        Virtual time since which it has done nothing but ask which clients are in reach, and sleep.
    """

    def __init__(self, node: Node, params: FlowerParams, app: FlowerApp) -> None:
        self._params = params
        self.config, self.names = dict(app.config), Names()
        self.thread: AppThread | None = None
        self.server: Node | None = None
        self.asks_since_s: float | None = None
        with node.seeded("flower") as seed:
            self.generators = KeptGenerators(seed)
        self._player = _claim_process()
        self._logger = logging.getLogger("flwr")
        self._level = self._logger.level
        self._logger.setLevel(logging.WARNING)
        self._pool: ClientPool | None = None
        self.waiting = Waiting(params.call_limit_s)
        try:
            with self.waiting.on("the app's modules, which are imported"):
                self.app = PlayedApp(app, lambda: to_ns(node.now_s), self.generators)
        except BaseException:
            self._logger.setLevel(self._level)
            self.waiting.close()
            _release_process(self._player)
            raise
        if params.client_processes:
            self._pool = ClientPool(app, seed, params.client_processes, params.call_limit_s)

    def begin_call(self, call: Call) -> Future[Answer] | None:
        """Begin a call in another process; None: this process makes it when it is awaited."""
        return None if self._pool is None else self._pool.begin(call)

    def answer(self, node: Node, call: Call, begun: Future[Answer] | None) -> Answer:
        """Make a call, or wait for the process that does.

        Parameters
        ----------
        node : Node
        call : Call
        begun : Future or None
            Of a process that makes the call; None: this one makes it.
        """
        kind = call.message.metadata.message_type
        with self.waiting.on(f'the ClientApp of node {node.id}, called with "{kind}"'):
            return self.app.answer(call) if begun is None else begun.result()

    def pack(self, message: Message) -> Opaque:
        """A message with its size: Flower's own encoding, and what the user adds."""
        size = message_to_proto(message).ByteSize()
        return Opaque(message, 8 * (size + self._params.overhead_bytes))

    def expires_ns(self, message: Message, now_ns: int) -> int:
        """The end of a message's time to live, which began when it was made."""
        made_ns = to_ns(message.metadata.created_at - EPOCH_S)
        if abs(made_ns - now_ns) < 1000:  # Flower's dates are good to a quarter of a microsecond
            made_ns = now_ns
        return made_ns + to_ns(message.metadata.ttl)

    def ended(self) -> None:
        """Warn where the app would have gone on."""
        if self.server is not None and self.thread is not None and not self.thread.has_ended:
            remedy = "Lengthen horizon_s, or let it play fewer rounds"
            if self.asks_since_s is not None:
                remedy = (
                    f"Since {self.asks_since_s:g} s it only asked which clients are in reach, as "
                    "strategies do that wait for more than there are: see its min_available_nodes "
                    "and fractions, or let more clients be on"
                )
            self.server.warn(
                "the ServerApp had not ended",
                "the ServerApp had not ended; what it reports is that of the rounds until then. "
                + remedy,
            )

    def close(self) -> None:
        """End the app and its processes, and let Flower and `time` be as they were."""
        try:
            if self._pool is not None:
                self._pool.close()
            if self.thread is not None:
                self.thread.close()
            self.app.close()
            self.waiting.close()
            self._logger.setLevel(self._level)
        finally:
            _release_process(self._player)
