"""Time: slots, wake-ups that outlast their interval, and processes that wait for each other."""

from netsim import api
from netsim.api import Node, Process

from ._seen import saw


class Params(api.Params):
    busy_s: api.NonNegative = 0.3


def processes(node: Node, params: Params) -> list[Process]:
    bell = node.condition()
    return [on_slot(node, bell), on_bell(node, bell), on_wakeup(node, params)]


def on_slot(node: Node, bell: api.Condition) -> Process:
    while True:
        slot = yield node.tick()
        saw(node, "slot", slot)
        if slot % 3 == 0:
            bell.notify()


def on_bell(node: Node, bell: api.Condition) -> Process:
    while True:
        yield bell.wait()
        yield node.sleep(0.05)
        saw(node, "bell")


def on_wakeup(node: Node, params: Params) -> Process:
    while True:
        wake = yield node.wakeup()
        saw(node, "wake", wake)
        yield node.sleep(params.busy_s)
