"""FedAvg+: FedAvg, then Reptile steps and gentler local training for personalisation.

Source: Jiang, Konecny, Rush and Kannan 2019 (arXiv:1909.12488), Section 3, as a baseline of KD-PDFL
(Jeong and Kountouris 2023), which gives only the switch times: slot 2000 (IoT), 150 (EMNIST).

From `switch_s` on the step of a star or a round is w <- w + epsilon (mean - w) and local steps use
`fine_tune_learning_rate`; `pace` and rounds are FedAvg's. The model to report is the fine-tuned
one, published as `trained`.
Departures: a star's own model is the w of the step. In rounds every node takes the server's step
itself, from the w that it adopted last: the same where no message is lost.

Personalizes: the model, by gentler local training from `switch_s` on.
Shares: the common model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down; in slots
`2 * b * theta` per peer and exchange.
Needs: equal architectures; the time of the switch (`switch_s`).
Cost a round: `S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model; a
star mixes the answers that came.
"""

from netsim import api
from netsim.api import Node, Process, Ref

from . import fedavg


class Params(fedavg.Params):
    """Time at which Reptile takes over, its step, and the rates of training from then on.

    Attributes
    ----------
    switch_s
        Virtual time from which on steps are Reptile's and training is gentler.
    epsilon
        Step of Reptile: share of the way from w to the mean. Source: Jiang et al. 2019, Section 3.
    fine_tune_learning_rate
        Learning rate of local steps from `switch_s` on.
    """

    switch_s: api.Positive
    epsilon: api.Fraction = 0.5
    fine_tune_learning_rate: api.Positive = 0.01


@api.algorithm(common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds or star exchanges with the mean, later the Reptile step, as their rule."""
    if api.takes_rounds(node, params):
        sampling = api.Sampling(node, params)
        return api.round_processes(node, params, InRounds(node, params), sampling=sampling)
    return AsStar(node, params).processes()


class InRounds(fedavg.InRounds):
    """One node in rounds; w is the model that it adopted last."""

    params: Params

    def __init__(self, node: Node, params: Params) -> None:
        super().__init__(node, params)
        self.w = self.model.theta

    def adopt(self, common: api.Mean) -> None:
        self.w = step(self.node, self.params, self.w, common.theta)
        self.model.replace(self.w)
        if not self.params.has_fallen(self.node.now_s):
            self.node.publish(self.w, "mixed")


class AsStar(fedavg.FedAvgStar):
    """One node of the star exchange."""

    params: Params

    def combine(self, heard: api.Heard) -> Ref:
        own = self.model.theta
        return step(self.node, self.params, own, fedavg.mean(self.node, self.params, own, heard))


def step(node: Node, params: Params, w: Ref, mean: Ref) -> Ref:
    """The mean before the switch, w + epsilon (mean - w) from then on."""
    if not params.has_fallen(node.now_s):
        return mean
    return node.mix([w, mean], [1.0 - params.epsilon, params.epsilon])
