"""Ring all-reduce: in N - 1 phases every node passes on what it got last; then the mean."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Piece(Message):
    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node)]


def on_wakeup(node: Node) -> Process:
    left, right = ((node.id + step) % node.num_nodes for step in (-1, 1))
    while True:
        yield node.wakeup()
        pieces = [node.initial()]
        for phase in range(node.num_nodes - 1):
            got = yield node.exchange({right: Piece(pieces[-1])}, expect=[left], phase=phase)
            if left not in got:
                break
            pieces.append(got[left].msg.theta)
        saw(node, "pieces", len(pieces))
        node.publish(node.mix(pieces, [1.0 / len(pieces)] * len(pieces)), "reduced")
