"""FedAvg-FT: FedAvg whose model is fine-tuned by local training before a node predicts with it.

Source: as a baseline of Ye et al., ICML 2023 (pFedGraph): the model to report is theta_i after its
local training, before it is averaged, in every round. As a baseline of Kharrat, Canini and Horvath
2024 (DPFL), `fine_tune_after` = T: FedAvg for T rounds, then the w that was best on the node's
validation samples is trained for `fine_tune_epochs` (2 tau_train) more and the node stops.

The model to report is published as `trained`, w as nothing at all. With `proximal` > 0 the rounds
are FedProx's (`fedprox` has that as an option).
Departures: best is by validation loss, the later one at a tie; DPFL goes by accuracy.
"""

from typing import Any

import torch
from torch import Tensor

from netsim import api
from netsim.api import Node, Process, Ref


class Params(api.RoundParams):
    """After how many rounds FedAvg ends, if ever, and how long to train then."""

    fine_tune_after: api.Count | None = None
    fine_tune_epochs: api.Count = 10


def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg."""
    return api.round_processes(node, params, FineTuned(node, params))


class FineTuned(api.AveragedModel[Params]):
    """One node, in rounds of FedAvg or (`proximal` > 0) of FedProx."""

    def __init__(self, node: Node, params: Params, proximal: float = 0.0) -> None:
        super().__init__(node, params)
        self.proximal = proximal
        self.best = Best(node)
        self.rounds = 0

    def how(self) -> dict[str, Any]:
        anchor = (self.model.theta, self.proximal) if self.proximal else None
        return {"anchor": anchor, **super().how()}

    def train(self) -> Process:
        self.rounds += 1
        last = self.params.fine_tune_after
        if last is None or self.rounds <= last:
            return (yield from super().train())
        if self.rounds == last + 1:
            start = self.best.theta or self.model.theta
            tuned = yield self.node.train(start, epochs=self.params.fine_tune_epochs)
            api.trained_share(self.node, tuned)
        return None

    def adopt(self, common: api.Mean) -> None:
        self.model.replace(common.theta)
        last = self.params.fine_tune_after
        if last is not None and self.rounds <= last:
            self.best.offer(common.theta)


class Best:
    """The model with the lowest validation loss among those offered.

    Attributes
    ----------
    theta : Ref or None
        None before the first.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.theta: Ref | None = None

    def offer(self, theta: Ref) -> None:
        """Keep the better one; which one that is stays lazy."""
        node, loss = self._node, self._node.loss(theta, "validation")
        if self.theta is None:
            self.theta, self._loss = theta, loss
            return
        self.theta = node.mix([theta, self.theta], node.compute(lower, loss, self._loss))
        self._loss = node.compute(torch.fmin, loss, self._loss)


def lower(loss: Tensor, best: Tensor) -> Tensor:
    """(1, 0) if `loss` is not over `best` or that is no number, (0, 1) else: (2,)."""
    first = ((loss <= best) | best.isnan()).to(loss)
    return torch.stack([first, 1 - first])
