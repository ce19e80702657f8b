"""Weights by staleness: what a message counts by its age, in any method that mixes.

Source: Xie, Koyejo and Gupta 2019, "Asynchronous federated optimization" (FedAsync,
arXiv:1903.03934), Section 5.2: a model of staleness t - tau is mixed with the weight alpha_t =
alpha s(t - tau), and what it loses stays with the model that it is mixed into.

Here s multiplies the weight that a method gives a message, whatever that weight is. Where the
mixture has a model of the node's own, what messages lose goes to it; where it has none (a server's
mean), the weights are divided by their new sum. The age is from sending to mixing, in seconds or in
versions: how often the node that mixes has woken since, so 0 for a message of the same round.
"""

import math
from typing import Literal

from netsim.learning.refs import Ref
from netsim.node.node import Node
from netsim.registry import Component


class Staleness(Component):
    """Base of the weights by staleness: a kind gives `factor(age)`.

    Attributes
    ----------
    unit
        Unit of ages: versions, the wake-ups of the node that mixes since the message was sent, or
        seconds of virtual time.
    """

    unit: Literal["versions", "seconds"] = "versions"

    def factor(self, age: float) -> float:
        """s: what the weight of a message of this age is multiplied by, in [0, 1]."""
        raise NotImplementedError

    def log_factor(self, age: float) -> float:
        """Natural logarithm of s, also where s is too small for a number; minus infinity of 0."""
        s = self.factor(age)
        return math.log(s) if s > 0 else -math.inf

    def of(self, node: Node, value: Ref) -> float:
        """S of the message that brought a value; 1 for a value of the node's own."""
        return 1.0 if value.bringer is None else self.factor(node.age(value, self.unit))

    def log_of(self, node: Node, value: Ref) -> float:
        """Logarithm of the same; 0 for a value of the node's own."""
        return 0.0 if value.bringer is None else self.log_factor(node.age(value, self.unit))
