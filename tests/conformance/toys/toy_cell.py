"""A base station that gives each node a share by its channel; nodes send what costs energy."""

from dataclasses import dataclass

from netsim import api
from netsim.api import Message, Node, Params, Process

from ._seen import saw


@dataclass(frozen=True)
class Report(Message):
    """Knowledge of a node of itself."""

    values: api.Opaque


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node) if node.role == "server" else on_turn(node)]


def on_turn(node: Node) -> Process:
    (server,) = node.servers
    while True:
        yield node.wakeup()
        report = node.queued, node.battery_j, node.energy_j
        outcome = yield node.send(server, Report(api.Opaque(report, 4000)))
        saw(node, "sent", outcome)


def on_wakeup(node: Node) -> Process:
    while True:
        yield node.wakeup()
        rates = [node.csi(j).rate_bps for j in node.peers]
        node.allocate({j: r / sum(rates) for j, r in zip(node.peers, rates, strict=True)})
        got = yield node.gather(Report, node.peers, timeout_s=0.05)
        saw(node, "heard", tuple(got))
