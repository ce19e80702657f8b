"""Sent = delivered + partial + lost + expired + in flight, and none is delivered twice."""

from collections.abc import Mapping
from typing import Any

from netsim.engine.invariants import Invariant


class Messages(Invariant):
    """Every message that a node has sent has ended once, or is in flight."""

    def at_evaluation(self, now_ns: int) -> None:
        self._compare(now_ns, self.run.recorder.messages_ended)

    def after(self, summary: Mapping[str, Any]) -> None:
        now_ns, found = self.run.clock.now, summary["messages"]
        self._compare(now_ns, found["sent"])
        ends = sum(
            found[outcome] for outcome in ("delivered", "partial", "lost", "expired", "withdrawn")
        )
        if ends != found["sent"]:
            what = "messages delivered, partial, lost and expired against sent"
            self.broken("all nodes", now_ns, what, ends, found["sent"])

    def _compare(self, now_ns: int, ended: int) -> None:
        in_flight = self.run.link.in_flight
        if in_flight < 0:
            self.broken("all nodes", now_ns, "messages in flight", in_flight, 0)
        sent = sum(parts.outbox.sent for parts in self.run.parts)
        if sent != ended + in_flight:
            what = f"messages that have ended ({ended}) and are in flight ({in_flight}), and sent"
            self.broken("all nodes", now_ns, what, ended + in_flight, sent)
