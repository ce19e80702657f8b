"""BAA: federated averaging whose updates add up in the air.

Source: Zhu, Wang and Huang 2020, "Broadband Analog Aggregation for Low-Latency Federated Edge
Learning", IEEE Trans. Wireless Commun. 19(1) (arXiv:1812.11494): a server broadcasts the global
model, every device trains it, and all send what they have trained at the same time as analogue
symbols, each with truncated channel inversion, so that the channel itself computes the sum.

Symbols: w the global model (`w`), K the devices (`len(node.neighbours)` of the server), g_th the
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
statistics (BatchNorm) stay with their device.

Personalizes: nothing: one model for all.
Shares: the model.
Sends: `D` symbols up, whatever the number of devices, and no bits; `b * theta` down a device.
Needs: equal architectures, a server, a radio between it and the devices.
Cost a round: `S` steps, a mean.
Late or absent peers: those that send within `wait_s` of the first are in the sum; a later one is in
a sum of its own, which joins the round's if it comes in time. A client without an answer goes on
from the model that it had.
"""

from typing import Literal

import torch
from torch import Tensor

from netsim import api
from netsim.api import Node, NonNegative, OverTheAir, Process


class Params(api.PlainTraining):
    """`truncation` is g_th; `wait_s` is how long the first device waits for the last [s]."""

    truncation: NonNegative = 0.1
    wait_s: NonNegative = 60.0
    divide: Literal["heard", "all"] = "heard"


@api.algorithm(schedules=("rounds",))
def processes(node: Node, params: Params) -> list[Process]:
    """The server's process, or the two of a device."""
    if node.role == "server":
        return [on_server(node, params)]
    if len(node.servers) != 1:
        raise api.ProtocolError("baa: every device needs one neighbour of role server")
    device = Device(node, params)
    return [device.on_round(), device.on_model()]


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
            trained = yield node.train(w, **params.how())
            node.publish(trained.theta, "trained")
            self.trained = trained.theta
            change = node.mix([trained.theta, w], [1.0, -1.0]).part("parameters")
            row = OverTheAir(change, params.truncation, node.num_nodes - 1, params.wait_s)
            yield node.exchange(row, to=node.servers, expect=())

    def on_model(self) -> Process:
        """Process: the global model arrives."""
        while True:
            received = yield self.node.receive(api.Mean, timeout_s=None)
            self.w = api.with_statistics_of(self.trained, received.msg.theta)
            self.node.publish(self.w, "mixed")


def on_server(node: Node, params: Params) -> Process:
    """Process: w <- w + the mean of what was received; send it to all."""
    w, devices = node.initial(), node.neighbours
    while True:
        yield node.wakeup()
        got = yield node.exchange({}, expect=devices, kind=OverTheAir)
        if not got:
            continue
        total, count = node.superposed(got)
        share = count if params.divide == "heard" else float(len(devices))
        mine = w.part("parameters")
        w = w.with_part("parameters", node.compute(add_mean, mine, total, share, like=mine))
        for k in devices:
            node.send(k, api.Mean(w))


def add_mean(w: Tensor, total: Tensor, share: Tensor | float) -> Tensor:
    """The model w + total / share; where nobody was heard there is noise alone, and w stays.

    Parameters
    ----------
    w, total : (D,) tensor
    share : (D,) tensor or float
        How many senders the sum is divided by.
    """
    share = torch.as_tensor(share, dtype=w.dtype, device=w.device).expand_as(w)
    return torch.where(share > 0.0, w + total / share.clamp_min(1.0), w)
