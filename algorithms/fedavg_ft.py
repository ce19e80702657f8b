"""FedAvg-FT: FedAvg whose model is fine-tuned by local training before a node predicts with it.

Source: as a baseline of Ye et al., ICML 2023 (pFedGraph): the model to report is theta_i after its
local training, before it is averaged, in every round. As a baseline of Kharrat, Canini and Horvath
2024 (DPFL), `fine_tune_after` = T: FedAvg for T rounds, then the w that was best on the node's
validation samples is trained for `fine_tune_epochs` (2 tau_train) more and the node stops.

The model to report is published as `trained`, w as nothing at all. With `proximal` > 0 the rounds
are FedProx's (`fedprox` has that as an option).
Departures: best is by validation loss, the later one at a tie; DPFL goes by accuracy.
"""

import torch
from torch import Tensor

from algorithms._rounds import Mean, RoundParams, round_processes, trained_share
from netsim.api import Count, Node, Process, Ref


class Params(RoundParams):
    """After how many rounds FedAvg ends, if ever, and how long to train then."""

    fine_tune_after: Count | None = None
    fine_tune_epochs: Count = 10


def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg."""
    return fine_tuned(node, params)


def fine_tuned(node: Node, params: Params, proximal: float = 0.0) -> list[Process]:
    """Rounds of FedAvg, or of FedProx, whose fine-tuned models are shown."""
    model = node.hold(node.initial())
    best = Best(node)
    rounds = 0

    def train() -> Process:
        nonlocal rounds
        rounds += 1
        if params.fine_tune_after is not None and rounds > params.fine_tune_after:
            if rounds == params.fine_tune_after + 1:
                start = best.theta or model.theta
                tuned = yield node.train(start, epochs=params.fine_tune_epochs)
                trained_share(node, tuned)
            return None
        anchor = (model.theta, proximal) if proximal else None
        return trained_share(node, (yield model.train(anchor=anchor, **params.how())))

    def adopt(mean: Mean) -> None:
        model.replace(mean.theta)
        if params.fine_tune_after is not None and rounds <= params.fine_tune_after:
            best.offer(mean.theta)

    return round_processes(node, params, train, adopt)


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
