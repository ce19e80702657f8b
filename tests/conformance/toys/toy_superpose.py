"""Over-the-air mean: train, send with all others at once, divide the sum by who is in it."""

from torch import Tensor

from netsim import api
from netsim.api import Node, OverTheAir, Process

from ._seen import saw


class Params(api.Params):
    """Time for which the first sender of a frame waits for the others [s]."""

    wait_s: api.NonNegative = 0.1


def processes(node: Node, params: Params) -> list[Process]:
    """A process that sends and one that drops what comes after its exchange."""
    return [on_wakeup(node, params), api.drop_late(node, OverTheAir)]


def on_wakeup(node: Node, params: Params) -> Process:
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1)).theta
        row = OverTheAir(theta, 0.1, len(node.neighbours), params.wait_s)
        got = yield node.exchange(row)
        saw(node, "got", got)
        if got:
            total, heard = node.superposed(got)
            theta = node.compute(mean, theta, total, heard, like=theta)
        node.publish(theta, "mixed")


def mean(theta: Tensor, total: Tensor, heard: Tensor) -> Tensor:
    """Of the own values and those that were heard, entry by entry."""
    return (theta + total * (heard > 0)) / (1 + heard)
