"""What makes a node malicious: it forges what it sends and may be deaf to what it receives.

Both happen between the node and its link, so an algorithm cannot tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from netsim.attacks import Forgery
from netsim.learning.refs import Cell, Ref
from netsim.messaging.message import Message, refs_in, with_refs

if TYPE_CHECKING:
    from netsim.node.node import Node
    from netsim.node.run_state import Context


class Tampering:
    """One malicious node's doings.

    Parameters
    ----------
    node : Node
    ctx : Context

    Attributes
    ----------
    deaf : bool
        Whether it takes nothing from others.
    """

    def __init__(self, node: Node, ctx: Context) -> None:
        assert ctx.attack is not None
        self._node, self._seed = node, ctx.streams.seed
        self._forgery: Forgery | None = ctx.attack.forgery()
        self._forged: WeakKeyDictionary[Cell, dict[tuple[int, int] | None, Ref]] = (
            WeakKeyDictionary()
        )
        self._count = 0
        self.deaf = not ctx.attack.runs_algorithm

    def sent(self, msg: Message) -> Message:
        """The message that goes out in place of `msg`: every value in it forged, lazily.

        A value that is sent again, or to several nodes, is the same forgery each time.
        """
        return with_refs(msg, self._forge)

    def ignores(self, msg: Message) -> bool:
        """Whether the node drops a message that has arrived: one with values, if it is deaf."""
        return self.deaf and any(True for _ in refs_in(msg))

    def _forge(self, ref: Ref) -> Ref:
        if self._forgery is None:
            return ref
        forged = self._forged.setdefault(ref.cell, {})
        if ref.columns not in forged:
            # A model's buffers are statistics (variances, say), no parameters: they stay.
            honest = ref if ref.architecture is None else ref.part("parameters")
            lie = self._node.compute(
                self._forgery, honest, self._seed, self._node.id, self._count, like=honest
            )
            self._count += 1
            forged[ref.columns] = lie if honest is ref else ref.with_part("parameters", lie)
        return forged[ref.columns]
