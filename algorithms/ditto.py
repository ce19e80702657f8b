"""Ditto: a personal model beside FedAvg's, kept near it.

Source: Li, Hu, Beirami and Smith, "Ditto: fair and robust federated learning through
personalization", ICML 2021, Algorithm 1; settings as a baseline of pFedGraph (strength 1) and DPFL
(0.75).

Symbols: w the model received, theta_i trained from it and averaged, v_i the personal model, which
stays with its node.

In a round, v_i is trained first, on F_i(v) + (strength / 2) ||v - w||^2, then theta_i from w, on
F_i; equally long. The model to report is v_i, published as `trained`; w as nothing at all.
Departures: v_i starts at the node's initial model, in pFedGraph's code at one of its own (set
`[training] common_initial = false` for that). The mean is by training samples (pFedGraph's code);
`weights = "equal"` is Algorithm 1.

Personalizes: a second whole model, v_i.
Shares: the common model w.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures.
Cost a round: `2 * S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model;
v_i stays near the w that it has.
"""

from netsim import api
from netsim.api import Node, Process


class Params(api.RoundParams, api.SamplingParams):
    """Pull of v_i towards w, and the share of nodes that train in a round.

    Attributes
    ----------
    strength
        Strength by which v_i is drawn to w; 1 as a baseline of pFedGraph, 0.75 of DPFL. Source: Li
        et al. 2021, Algorithm 1 (lambda).
    """

    strength: api.NonNegative = 1.0


@api.algorithm(mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg with a personal model beside."""
    sampling = api.Sampling(node, params)
    return api.round_processes(node, params, Ditto(node, params), sampling=sampling)


class Ditto(api.AveragedModel[Params]):
    """One node: `model` is w, theta_i while it is trained; v its personal model."""

    def __init__(self, node: Node, params: Params) -> None:
        super().__init__(node, params)
        self.v = node.initial()

    def train(self) -> Process:
        node, anchor = self.node, (self.model.theta, self.params.strength)
        personal = yield node.train(self.v, anchor=anchor, stream="personal", **self.how())
        self.v = personal.theta
        node.publish(self.v, "trained")
        trained = yield self.model.train(**self.how())
        return None if trained is None else api.Share(trained.theta, node.train_size)

    def adopt(self, common: api.Mean) -> None:
        self.model.replace(common.theta)
