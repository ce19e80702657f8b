"""Learning from outside: processor time, seeds, an object of a run, a model, an agent's choice."""

import numpy as np

from netsim import api
from netsim.api import Node, Process

from ._seen import saw


class Params(api.Params):
    policy: api.Policy = api.RandomPolicy()


def decides(params: Params, roles: tuple[str, ...]) -> api.Decides:
    nodes = tuple(range(len(roles)))
    return api.Decides(nodes, {"round": api.Numbers(())}, api.Choice(3), params.policy.choose)


class Library:
    """Something that exists once in a run."""


@api.algorithm(decides=decides)
def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node)]


def on_wakeup(node: Node) -> Process:
    length = node.initial().num_values
    while True:
        yield node.wakeup()
        choice = yield node.decide({"round": node.round})
        yield node.work(examples=10 * choice)
        node.once(Library)
        with node.seeded("fit") as seed:
            values = np.random.default_rng(seed).standard_normal(length)
        node.publish(node.model(values), "received")
        saw(node, "fit", (choice, seed))
