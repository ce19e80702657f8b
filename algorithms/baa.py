"""BAA: federated averaging whose updates add up in the air.

Source: Zhu, Wang and Huang 2020, "Broadband Analog Aggregation for Low-Latency Federated Edge
Learning", IEEE Trans. Wireless Commun. 19(1) (arXiv:1812.11494): a server broadcasts the global
model, every device trains it, and all send what they have trained at the same time as analogue
symbols, each with truncated channel inversion, so that the channel itself computes the sum.

Symbols: w the global model (`w`), K the devices (`node.neighbours` of the server), g_th the
truncation threshold (`params.truncation`), g_k the power gain of device k's fading, rho the
received power over noise. Power, sum and noise are `netsim.links.radio.superposition`.

Readings: devices send the change of the model, w_k - w, not w_k: what truncation leaves out is then
an update of 0, not a parameter of 0; the paper speaks of either. The mean is over the devices that
are heard in an entry (`divide = "heard"`), which the server knows from their pilots; with `"all"`
it is over K, and truncation shrinks the step by exp(-g_th). All devices count alike, as in the
paper. rho is that of the weakest device that sends: leaving out those at the edge of the cell
(the paper's cell-interior scheduling) is a matter of places in the scenario.

Departures: symbols are scaled by the largest root mean square of the updates, not by mean and
variance over all devices. The global model comes back digitally, to each device by itself. Running
statistics (BatchNorm) stay with their device. Without a server every node is a receiver of its
neighbours: w_i <- w_i + the mean of its own change and what it received. Over wires the changes
come one by one, as bits, and their sum is exact.

Personalizes: nothing: one model for all.
Shares: the model's parameters.
Sends: `b * P + 2 * b + 32` per neighbour; with a server `b * P + 2 * b + 32` up, `b * theta` down.
Over a radio all devices together send P symbols up, and no bits.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: clients that send within `wait_s` of the first are in the sum; a later one is
in a sum of its own, which joins that of the round if it comes in time. A client that gets no answer
continues from the model that it had.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from netsim import api
from netsim.api import Node, NonNegative, OverTheAir, Process, Ref


class Params(api.PlainTraining):
    """Power control, and what the sum is divided by.

    Attributes
    ----------
    truncation
        g_th, power gain below which a device does not send. Source: Zhu, Wang and Huang 2020,
        truncated channel inversion.
    wait_s
        Longest wait of the first device for the last.
    divide
        Divisor of a sum that becomes a mean: the devices that are "heard" in an entry, or "all".
    """

    truncation: NonNegative = 0.1
    wait_s: NonNegative = 60.0
    divide: Literal["heard", "all"] = "heard"


@api.algorithm(schedules=("rounds",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """The server's processes, a device's, or those of a node among peers."""
    api.require_one_server(node)
    late = api.drop_late(node, OverTheAir)
    if node.role == "server":
        return [on_server(node, params), late]
    device = Device(node, params)
    return [device.on_round(), device.on_model() if node.servers else late]


class Device:
    """A device: trains the global model and sends the change."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.w = self.trained = node.initial()

    def on_round(self) -> Process:
        """Process: train, send with all others at once."""
        node, params = self.node, self.params
        while True:
            yield node.wakeup()
            w = self.w
            self.trained = (yield node.train(w, **params.how())).theta
            node.publish(self.trained, "trained")
            change = node.mix([self.trained, w], [1.0, -1.0]).part("parameters")
            if node.servers:
                row = self.row(change, node.num_nodes - 1)
                yield node.exchange(row, to=node.servers, expect=())
            else:
                got = yield node.exchange(self.row(change, len(node.neighbours)))
                self.take(aggregated(node, params, w, got, change))

    def row(self, change: Ref, senders: int) -> OverTheAir:
        """Return the node's row to send over the air with those of others."""
        return OverTheAir(change, self.params.truncation, senders, self.params.wait_s)

    def on_model(self) -> Process:
        """Process: the global model arrives."""
        while True:
            received = yield self.node.receive(api.Mean, timeout_s=None)
            self.take(received.msg.theta)

    def take(self, w: Ref) -> None:
        """Go on from a model."""
        self.w = api.with_statistics_of(self.trained, w)
        self.node.publish(self.w, "mixed")


def on_server(node: Node, params: Params) -> Process:
    """Process: w <- w + the mean of what was received; send it to all."""
    w = node.initial()
    while True:
        yield node.wakeup()
        got = yield node.exchange({}, expect=node.neighbours, kind=OverTheAir)
        if got:
            w = aggregated(node, params, w, got)
            for k in node.neighbours:
                node.send(k, api.Mean(w))


def aggregated(
    node: Node, params: Params, w: Ref, got: dict[int, Any], own: Ref | None = None
) -> Ref:
    """The model after one aggregation.

    Parameters
    ----------
    node : Node
        The receiver.
    params : Params
    w : Ref
        The model before.
    got : dict of int to Received
        What came over the air.
    own : Ref or None
        The receiver's own change, if it trains.

    Returns
    -------
    Ref
    """
    mine, own_part = w.part("parameters"), () if own is None else (own,)
    total, heard = node.superposed(got) if got else (None, None)
    every = None if params.divide == "heard" else float(len(node.neighbours) + len(own_part))
    mean = node.compute(add_mean, mine, total, heard, own_part, every, like=mine)
    return w.with_part("parameters", mean)


def add_mean(
    w: Tensor,
    total: Tensor | None,
    heard: Tensor | None,
    own: tuple[Tensor, ...],
    every: float | None,
) -> Tensor:
    """The parameters w + (total + own) / count; where nobody was heard there is noise alone.

    Parameters
    ----------
    w : (D,) tensor
    total, heard : (D,) tensor or None
        What was received, and how many senders are in each entry.
    own : tuple of (D,) tensor
        The receiver's own change, or none.
    every : float or None
        What to divide by; None: by those heard, and the own one.
    """
    if total is None or heard is None:
        total = heard = torch.zeros_like(w)
    received = torch.where(heard > 0.0, total, torch.zeros_like(total))
    count = (heard + len(own)).clamp_min(1.0) if every is None else every
    found: Tensor = w + (received + sum(own)) / count
    return found
