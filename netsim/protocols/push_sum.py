"""Push-sum over directed graphs: nodes push shares of a value and its weight, and add what comes.

Source: Kempe, Dobra and Gehrke 2003, "Gossip-based computation of aggregate information"; with
gradients, Nedic and Olshevsky 2016, and Assran, Loizou, Ballas and Rabbat 2019 (SGP). Node i has
x_i and w_i = 1 at first, keeps 1 / (1 + m) of both and pushes as much to each of m receivers:

    x_i <- sum_j p_ij x_j,  w_i <- sum_j p_ij w_j,  z_i = x_i / w_i,

p column-stochastic: nobody needs to know who pushes to whom, and the sums of x and of w stay as
they are. Held and sent here are z and w, of which x is the product: the same bits, and the same
numbers but for rounding.

A share that is lost takes its part of both sums with it. z stays a weighted mean of models, but w
falls, and steps of size eta / w grow. So a sender takes back what the link reports as not
delivered; where a link has no acknowledgements, the mass is lost, and `largest_step` bounds 1 / w.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netsim.learning.refs import Ref
from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process
from netsim.protocols.arrivals import Arrivals
from netsim.registry import Count, Positive, Table

LEAST_WEIGHT = 1e-200
"""A weight does not fall below it: one that is halved for ever would be 0 in the end."""


class PushSumParams(Table):
    """Receivers of a push, and the largest steps.

    Attributes
    ----------
    graph
        Nodes to which a node pushes in its k-th round: peers at random; or node i + 2^k (modulo the
        number of nodes, 2^k taking all powers below it in turn), as in SGP ("exponential"). It
        pushes to nobody in a round in which that is no peer.
    receivers
        Number of random peers to which a node pushes in a round.
    largest_step
        The greatest 1 / w by which steps are enlarged. A large number is the printed algorithm:
        where nodes wake at random times w gets small at times, and steps so large that learning
        suffers.
    """

    graph: Literal["random", "exponential"] = "random"
    receivers: Count = 1
    largest_step: Positive = 2.0


@dataclass(frozen=True)
class Pushed(Message):
    """A share of a node's value and weight: z, and its part of w.

    Attributes
    ----------
    z : Ref
    w : float
    """

    z: Ref
    w: float


class PushSum:
    """Value and push-sum weight of a node.

    Parameters
    ----------
    node : Node
    params : PushSumParams
    z : Ref
        The value at first: a model or a part of one.

    Attributes
    ----------
    z : Ref
        The estimate x / w; may be set.
    w : float
        The push-sum weight.

    Examples
    --------
    >>> def on_round(node, params):
    ...     pushed = PushSum(node, params, node.initial())
    ...     while True:
    ...         yield node.wakeup()
    ...         yield from pushed.pull()
    ...         rate = pushed.learning_rate()
    ...         pushed.z = (yield node.train(pushed.z, steps=1, learning_rate=rate)).theta
    ...         yield from pushed.push()
    ...         node.publish(pushed.z, "mixed")
    """

    def __init__(self, node: Node, params: PushSumParams, z: Ref) -> None:
        self._node, self._params = node, params
        self._arrivals = Arrivals(node, Pushed, takes_back=True)
        self._rounds = 0
        self.z, self.w = z, 1.0

    def learning_rate(self) -> float:
        """Eta / w, the learning rate for z: a step of x by eta times a gradient moves z by that."""
        scale = min(1.0 / self.w, self._params.largest_step)
        return self._node.learning_rate * scale

    def push(self) -> Process:
        """Push shares to this round's receivers, and add arrived ones; run it by `yield from`."""
        node = self._node
        receivers = self._receivers()
        share = self.w / (1 + len(receivers))
        came = yield from self._arrivals.exchange(dict.fromkeys(receivers, Pushed(self.z, share)))
        self._add(share, came)
        node.record("push_sum_weight", self.w)

    def pull(self) -> Process:
        """Add shares that have arrived; run it by `yield from`, before the node's step."""
        came = yield from self._arrivals.take()
        if came or self._arrivals.lost:
            self._add(self.w, came)

    def _add(self, own: float, came: Sequence[Received[Pushed]]) -> None:
        """Sum up the mass that the node has kept, has back, and has got."""
        node = self._node
        back = [msg for _, msg in self._arrivals.lost if isinstance(msg, Pushed)]
        masses = [own, *(msg.w for msg in back), *(received.msg.w for received in came)]
        total = sum(masses)
        p = [mass / total for mass in masses]
        values = [msg.z for msg in back] + [received.msg.z for received in came]
        self._arrivals.log_weights(sum(p[: 1 + len(back)]), came, p[1 + len(back) :])
        self.z, self.w = node.mix([self.z, *values], p), max(total, LEAST_WEIGHT)

    def _receivers(self) -> Sequence[int]:
        node, k = self._node, self._rounds
        self._rounds += 1
        if self._params.graph == "random":
            return node.permutation("receivers", node.peers)[: self._params.receivers]
        powers = max(1, (node.num_nodes - 1).bit_length())
        other = (node.id + 2 ** (k % powers)) % node.num_nodes
        return [other] if other in node.peers else []
