"""Messages of a node's peers in a round: those in time, and the substitutes for the rest.

Links lose messages and deliver them late, nodes wake when others do not. Every method that mixes
what it hears says by `AbsenceParams` what a peer means that is not heard.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process
from netsim.protocols.discounts import StalenessParams
from netsim.registry import Positive


class AbsenceParams(StalenessParams):
    """Weight of a peer whose message did not come or is too old.

    Attributes
    ----------
    absent
        Substitute for a peer whose message did not come or is too old: nothing, so that the others
        share its weight ("renormalise"); a copy of the node's own message, so that its weight stays
        with the node ("self"; a server, which has none, leaves it out); or its last known message
        ("last").
    max_age_s
        Greatest age of a message that counts, whatever the schedule. Absent: three mean intervals
        of the schedule; under `rounds`, and for `absent = "last"`, any counts.
    """

    absent: Literal["renormalise", "self", "last"] = "renormalise"
    max_age_s: Positive | None = None


class Inbox:
    """One kind of message, exchanged round by round.

    Parameters
    ----------
    node : Node
    kind : type of Message
        Value that is exchanged.
    params : AbsenceParams
    phase : int
        Tells the exchanges of one kind in one round apart: an inbox for each. Late messages of all
        of them go to the inbox whose listeners run.

    Attributes
    ----------
    last : dict of int to Received
        The latest message of each peer, whatever its age.
    news : bool
        Whether the exchange gave anything that the one before had not given.

    Examples
    --------
    >>> def processes(node, params):
    ...     inbox = Inbox(node, Model, params)
    ...     return [on_round(node, inbox), *inbox.listeners()]
    >>> def on_round(node, inbox):
    ...     theta = node.initial()
    ...     while True:
    ...         yield node.wakeup()
    ...         theta = (yield node.train(theta, epochs=1)).theta
    ...         models = yield from inbox.exchange(Model(theta))
    ...         thetas = [theta, *(model.theta for model in models.values())]
    ...         theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
    ...         node.publish(theta, "mixed")
    """

    def __init__(
        self, node: Node, kind: type[Message], params: AbsenceParams, phase: int = 0
    ) -> None:
        self._node, self._kind, self._params, self._phase = node, kind, params, phase
        self.last: dict[int, Received[Any]] = {}
        self.news = False
        self._given_s: dict[int, float] = {}

    def exchange(
        self,
        msg: Message | Mapping[int, Message] | None = None,
        to: Iterable[int] | None = None,
        expect: Iterable[int] | None = None,
    ) -> Process:
        """Send, and collect as `node.exchange` does; run it by `yield from`.

        Parameters
        ----------
        msg : Message or mapping of int to Message, optional
            The same for all, or one for each receiver; None sends nothing.
        to : iterable of int, optional
            The receivers; None: all neighbours.
        expect : iterable of int, optional
            The senders to wait for; None: all neighbours.

        Returns
        -------
        dict of int to Message
            {sender: message} of those of use, ids ascending. Last messages of absent peers are
            among them under `absent = "last"`; what stands for a peer under `absent = "self"` is
            for the caller to add.
        """
        node, params = self._node, self._params
        senders = node.neighbours if expect is None else tuple(expect)
        fresh = yield node.exchange(
            {} if msg is None else msg,
            to=to,
            expect=senders,
            phase=self._phase,
            kind=self._kind,
            max_age_s=math.inf,
        )
        self.last.update(fresh)
        chosen = self.last if params.absent == "last" else fresh
        oldest_s = node.now_s - node.max_age_s
        of_use = [j for j in sorted(senders) if j in chosen and chosen[j].sent_s >= oldest_s]
        sent_s = {j: chosen[j].sent_s for j in of_use}
        self.news = any(s > self._given_s.get(j, -1.0) for j, s in sent_s.items())
        self._given_s |= sent_s
        return {j: chosen[j].msg for j in of_use}

    def listeners(self) -> list[Process]:
        """Return processes that take in messages after their exchange; add them to `processes`."""
        return [self._on_late()] if self._node.schedule == "rounds" else []

    def _on_late(self) -> Process:
        while True:
            received = yield self._node.receive(self._kind, timeout_s=None)
            known = self.last.get(received.sender)
            if known is None or known.sent_s < received.sent_s:
                self.last[received.sender] = received


def drop_late(node: Node, kind: type[Message]) -> Process:
    """Process: receive and drop late messages of a kind, because their round is over."""
    while True:
        yield node.receive(kind, timeout_s=None)
