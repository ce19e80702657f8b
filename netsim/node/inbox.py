"""Where a node's messages arrive: what has come is sorted to whatever waits for it.

A request or a reply goes to the pending requests, a message of an exchange to the barrier or, under
schedules without one, to the latest messages of that exchange, and everything else to the mailbox.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from netsim.links.link import ARRIVED, Transmission
from netsim.messaging.barrier import Barrier
from netsim.messaging.latest import LatestMessages
from netsim.messaging.mailbox import Mailbox, Stored
from netsim.messaging.message import handed_to
from netsim.node.adversary import Adversary
from netsim.node.request_reply import RequestReply
from netsim.recording.traffic_stats import Ages


class Inbox:
    """What has arrived at one node.

    Parameters
    ----------
    node_id : int
    barrier : Barrier or None
        Of the schedule `rounds`.
    mailbox : Mailbox
    latest : LatestMessages
        Messages of exchanges without a barrier.
    requests : RequestReply
    ages : Ages
        Is told how old models are when the algorithm gets them.
    adversary : Adversary or None
        What lets a malicious node ignore messages.
    counts : Counter
        Where messages ignored are counted.
    """

    def __init__(
        self,
        node_id: int,
        barrier: Barrier | None,
        mailbox: Mailbox,
        latest: LatestMessages,
        requests: RequestReply,
        ages: Ages,
        adversary: Adversary | None,
        counts: Counter[str],
    ) -> None:
        self._id, self._barrier = node_id, barrier
        self._mailbox, self._latest, self._requests = mailbox, latest, requests
        self._ages, self._adversary, self._counts = ages, adversary, counts

    def deliver(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """A transmission to this node has ended.

        Parameters
        ----------
        tx : Transmission
        outcome : str
        arrived : numpy.ndarray of bool or None
            Which packets arrived, of a partial message.
        """
        barrier, stored = self._barrier, None
        if outcome not in ARRIVED:
            pass
        elif self._adversary is not None and self._ignores(tx, self._adversary):
            self._counts["messages_ignored"] += 1
            self._requests.without(tx)
        else:
            msg = handed_to(tx.message, self._id)
            ages = self._ages if tx.carries_values else None
            stored = Stored(msg, tx.src, tx.sent_ns, tx.round, arrived, ages)
        if barrier is not None:
            if tx.tag is None:
                barrier.recheck()
            elif barrier.resolved(tx.tag, self._id, stored, self._mailbox.put):
                return
        if stored is None:
            return
        if tx.request is not None:
            self._requests.arrived(tx, stored)
        elif tx.tag is None or barrier is not None or self._only_listens(tx.tag):
            self._mailbox.put(stored)
        else:
            self._latest.put(tx.tag, stored)

    def unread(self) -> int:
        """Messages delivered that have not been handed to a process."""
        held = 0 if self._barrier is None else self._barrier.held(self._id)
        waiting = self._mailbox.unread() + self._requests.unread()
        return waiting + self._latest.unseen() + held

    def superseded(self) -> int:
        """Messages of exchanges that no process saw before a later one took their place."""
        return self._latest.superseded

    def _ignores(self, tx: Transmission, adversary: Adversary) -> bool:
        """Whether this node takes no notice of a message; requests it answers."""
        asked = tx.request is not None and not tx.reply
        return not asked and adversary.ignores(tx.message)

    def _only_listens(self, tag: Any) -> bool:
        """Whether the node has a listener for an exchange in which it takes no part itself."""
        return tag not in self._latest.asked and self._mailbox.has_listener(tag[0])
