"""Malicious node: it forges the values that it sends and may ignore those that it receives.

Both happen between the node and its link, so an algorithm cannot tell.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from netsim.attacks import Attack, Forgery
from netsim.learning.columns import Columns
from netsim.learning.refs import Cell, Ref
from netsim.messaging.message import Message, refs_in, with_refs


class Adversary:
    """The attack that one malicious node carries out.

    Parameters
    ----------
    node_id : int
    seed : int
        The scenario's, from which forgeries draw.
    attack : Attack
    compute : callable
        The node's verb `compute`: forgeries are lazy, as what they replace.
    """

    def __init__(
        self, node_id: int, seed: int, attack: Attack, compute: Callable[..., Any]
    ) -> None:
        self._id, self._seed, self._compute = node_id, seed, compute
        self._forgery: Forgery | None = attack.forgery()
        self._forged: WeakKeyDictionary[Cell, dict[Columns | None, Ref]] = WeakKeyDictionary()
        self._num_forged = 0
        self._ignores_values = not attack.runs_algorithm

    def forge_message(self, msg: Message) -> Message:
        """The message sent in place of `msg`, with every value forged, lazily.

        A value that is sent again, or to several nodes, is the same forgery each time.
        """
        return with_refs(msg, self._forge_value)

    def ignores(self, msg: Message) -> bool:
        """Return whether the node drops a message that has arrived.

        It drops those that carry values if its attack does without the algorithm.
        """
        return self._ignores_values and any(True for _ in refs_in(msg))

    def _forge_value(self, ref: Ref) -> Ref:
        if self._forgery is None:
            return ref
        forged = self._forged.setdefault(ref.cell, {})
        if ref.ranges not in forged:
            # A model's buffers are statistics (variances, say), no parameters: they stay.
            honest = ref if ref.architecture is None else ref.part("parameters")
            lie = self._compute(
                self._forgery, honest, self._seed, self._id, self._num_forged, like=honest
            )
            self._num_forged += 1
            forged[ref.ranges] = lie if honest is ref else ref.with_part("parameters", lie)
        return forged[ref.ranges]
