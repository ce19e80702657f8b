"""Arrival of a node's messages: each goes to the process that waits for it.

A request or a reply goes to the pending requests, a message of an exchange to the barrier or, under
schedules without one, to the latest messages of that exchange, and everything else to the mailbox.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from netsim.clock import Clock
from netsim.links.link import ARRIVED, Transmission
from netsim.messaging.barrier import Barrier
from netsim.messaging.latest import LatestMessages
from netsim.messaging.mailbox import Mailbox
from netsim.messaging.message import Envelope
from netsim.node.adversary import Adversary
from netsim.node.request_reply import RequestReply
from netsim.recording.uses import Uses


class Inbox:
    """Messages that have arrived at one node.

    Parameters
    ----------
    node_id : int
    barrier : Barrier or None
        Of the schedule `rounds`.
    mailbox : Mailbox
    latest : LatestMessages
        Messages of exchanges without a barrier.
    requests : RequestReply
    adversary : Adversary or None
        What lets a malicious node ignore messages.
    counts : Counter
        Where messages ignored are counted.
    uses : Uses
        Where it is recorded what becomes of values that arrive.
    clock : Clock
    """

    def __init__(
        self,
        node_id: int,
        barrier: Barrier | None,
        mailbox: Mailbox,
        latest: LatestMessages,
        requests: RequestReply,
        adversary: Adversary | None,
        counts: Counter[str],
        uses: Uses,
        clock: Clock,
    ) -> None:
        self._id, self._barrier = node_id, barrier
        self._mailbox, self._latest, self._requests = mailbox, latest, requests
        self._adversary, self._counts = adversary, counts
        self._uses, self._clock = uses, clock

    def deliver(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """A transmission to this node has ended.

        Parameters
        ----------
        tx : Transmission
        outcome : str
        arrived : numpy.ndarray of bool or None
            Which packets arrived, of a partial message.
        """
        barrier, envelope = self._barrier, None
        if outcome not in ARRIVED:
            if tx.envelope.ages is not None and outcome != "withdrawn":
                self._uses.lost(self._clock.now)
        elif self._adversary is not None and self._ignores(tx.envelope, self._adversary):
            self._counts["messages_ignored"] += 1
            self._arrived(tx, "ignored")
            self._requests.without(tx.envelope)
        else:
            envelope = tx.envelope if arrived is None else tx.envelope.in_part(arrived)
            self._arrived(tx)
        tag = tx.envelope.tag
        if barrier is not None:
            if tag is None:
                barrier.recheck()
            elif barrier.resolved(tag, self._id, envelope, self._mailbox.put):
                return
        if envelope is None:
            return
        if tag is not None and barrier is not None:
            envelope.came_late(self._id)
        if envelope.request is not None:
            self._requests.arrived(envelope)
        elif tag is None or barrier is not None:
            self._mailbox.put(envelope)
        elif tag in self._latest.asked or not self._mailbox.has_listener(tag[0]):
            self._latest.put(envelope)
        else:  # a listener, at a node that takes no part in the exchange itself
            self._mailbox.put(envelope)

    def _arrived(self, tx: Transmission, fate: str | None = None) -> None:
        """Record that values have arrived; `fate`: what becomes of them, if that is known."""
        envelope = tx.envelope
        if envelope.ages is not None:
            arrival = self._uses.arrived(
                tx.row, tx.src, self._id, type(envelope.message).__name__, envelope.sent_ns,
                self._clock.now,
            )  # fmt: skip
            if fate is None:
                envelope.arrivals[self._id] = arrival
            else:
                arrival.settled(fate)

    def unread(self) -> int:
        """Messages delivered that have not been handed to a process."""
        held = 0 if self._barrier is None else self._barrier.held(self._id)
        waiting = self._mailbox.unread() + self._requests.unread()
        return waiting + self._latest.unseen() + held

    def superseded(self) -> int:
        """Messages of exchanges that no process saw before a later one took their place."""
        return self._latest.superseded

    def _ignores(self, envelope: Envelope, adversary: Adversary) -> bool:
        """Return whether this node drops a message; it answers requests."""
        asked = envelope.request is not None and not envelope.reply
        return not asked and adversary.ignores(envelope.message)
