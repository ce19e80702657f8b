"""Wires by themselves: messages of given sizes at given times, and when they end how."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from netsim.clock import Clock
from netsim.links.link import Transmission
from netsim.links.wired import plan
from netsim.links.wired.shared import SharedWiredLink
from netsim.links.wired.wire import Wire
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.rng import Streams


@dataclass(frozen=True)
class Parcel(Message):
    number: int = 0


@dataclass(frozen=True)
class PatchyParcel(Message):
    accepts_partial = True


class Wires:
    """A network link and what became of the messages sent over it."""

    def __init__(self, wire: Wire, nodes: int, **how: Any) -> None:
        seed, folder = how.pop("seed", 0), how.pop("folder", None)
        up, down = how.pop("up_bps", None), how.pop("down_bps", None)
        streams = Streams(seed)
        self.wiring = plan.read_wiring(
            wire, up or [None] * nodes, down or [None] * nodes, [True] * nodes, streams, folder
        )
        self.env = Clock()
        self.off: set[int] = set()
        meetings = how.pop("meetings", None)
        self.link = SharedWiredLink(
            self.wiring, nodes, self.env, Recorder(None), streams, self.off, meetings
        )
        assert not how
        self.ends: list[tuple[float, int, int, str]] = []
        self.logged: list[tuple[str, int, int]] = []
        finish = self.link.finish

        def noted(
            tx: Transmission, outcome: str, attempts: int = 1, lost: int = 0, *more: Any
        ) -> None:
            self.logged.append((outcome, attempts, lost))
            finish(tx, outcome, attempts, lost, *more)

        self.link.finish = noted  # type: ignore[method-assign]

    def switch(self, node: int, on: bool) -> None:
        (self.off.discard if on else self.off.add)(node)
        self.link.on_switch(node, on)

    def send(self, at_s: float, src: int, dst: int, bits: int, **how: Any) -> None:
        def now() -> None:
            message = how.pop("message", Parcel())
            envelope = Envelope(message, src, bits, 1, self.env.now, **how)
            self.link.unicast(Transmission(envelope, dst, self._done))

        self.env.call_after(round(at_s * 1e9), now)

    def at(self, time_s: float, action: Callable[..., object], *arguments: Any) -> None:
        self.env.call_after(round(time_s * 1e9), action, *arguments)

    def _done(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        self.ends.append((self.env.now / 1e9, tx.src, tx.dst, outcome))

    def run(self) -> list[tuple[float, int, int, str]]:
        self.env.run()
        assert self.link.in_flight == 0
        return self.ends


@pytest.fixture
def wires() -> Callable[..., Wires]:
    """Wires(nodes, fields of [link] ...)."""

    def build(nodes: int, fields: dict[str, Any], **how: Any) -> Wires:
        return Wires(Wire(**fields), nodes, **how)

    return build
