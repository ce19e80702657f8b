"""FedAvg-FT: FedAvg whose model is fine-tuned by local training before a node predicts with it.

Source: Ye et al., ICML 2023 (pFedGraph), as a baseline: the model to report is theta_i after its
local training, before it is averaged, in every round. As a baseline of Kharrat, Canini and Horvath
2024 (DPFL, Appendix F.6), `fine_tune_after` = T: FedAvg for T rounds, then the w that had the
highest validation accuracy, the later one of equals, is trained for `fine_tune_epochs` (2
tau_train) more by the same loss and the node stops.

The model to report is published as `trained`, w as nothing at all; with `fine_tune_after` that is
the model after the last fine-tuning alone. With `proximal` > 0 local training is FedProx's, the
last fine-tuning included (`fedprox` has that as an option).
Departures: none known.

Personalizes: the model, by local training from the common one.
Shares: the common model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; validation samples with `fine_tune_after`.
Cost a round: `S` steps, a mean; with `fine_tune_after` a pass over the validation samples.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Annotated, Any

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, Ref


class Params(api.RoundParams):
    """Number of rounds after which FedAvg ends, if ever, and length of the training then.

    Attributes
    ----------
    fine_tune_after
        T, rounds of FedAvg before the best model is fine-tuned. Absent: FedAvg goes on to the end.
        Source: Kharrat et al. 2024 (DPFL), Appendix F.6.
    fine_tune_epochs
        Passes over the training samples of that fine-tuning.
    """

    fine_tune_after: Annotated[api.Count | None, api.Needs("classes")] = None
    fine_tune_epochs: api.Count = 10


@api.algorithm(
    mixes_to_one=True,
    needs_validation=lambda params: params.fine_tune_after is not None,
    common_parts=("parameters",),
)
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
        return {**super().how(), "anchor": self.anchor(self.model.theta)}

    def anchor(self, start: Ref) -> tuple[Ref, float] | None:
        """Return the model near which a training from `start` stays, and the pull's weight."""
        return (start, self.proximal) if self.proximal else None

    def train(self) -> Process:
        last = self.params.fine_tune_after
        if last is None:
            return (yield from super().train())
        self.rounds += 1
        if self.rounds <= last:
            trained = yield self.model.train(**self.how())
            return None if trained is None else api.Share(trained.theta, self.node.train_size)
        if self.rounds == last + 1:
            yield from self.fine_tune(self.best.theta or self.model.theta)
        return None

    def fine_tune(self, start: Ref) -> Process:
        """The last local training, by the loss of the rounds; its model is the one to report."""
        epochs, loss = self.params.fine_tune_epochs, self.params.loss()
        tuned = yield self.node.train(start, epochs=epochs, loss=loss, anchor=self.anchor(start))
        self.node.publish(tuned.theta, "trained")

    def adopt(self, common: api.Mean) -> None:
        self.model.replace(common.theta)
        last = self.params.fine_tune_after
        if last is not None and self.rounds <= last:
            self.best.offer(common.theta)


class Best:
    """The model with the highest validation accuracy among those offered, the last of equals.

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
        node, accuracy = self._node, self._node.measure(hit_rate, theta, "validation")
        if self.theta is None:
            self.theta, self._accuracy = theta, accuracy
            return
        self.theta = node.mix([theta, self.theta], node.compute(higher, accuracy, self._accuracy))
        self._accuracy = node.compute(torch.maximum, accuracy, self._accuracy)


def hit_rate(model: Any, batch: Batch) -> Tensor:
    """Accuracy over all samples of a split; outputs that are not finite never hit: a scalar."""
    outputs: Tensor = model(batch.x)
    hits = (outputs.argmax(1) == batch.y) & outputs.isfinite().all(1)
    return hits.to(outputs).mean()


def higher(accuracy: Tensor, best: Tensor) -> Tensor:
    """(1, 0) if `accuracy` is not under `best`, (0, 1) else: (2,)."""
    first = (accuracy >= best).to(accuracy)
    return torch.stack([first, 1 - first])
