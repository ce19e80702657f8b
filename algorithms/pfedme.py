"""pFedMe: personal models from Moreau envelopes of the local losses, near a model that is averaged.

Source: Dinh, Tran and Nguyen, "Personalized federated learning with Moreau envelopes", NeurIPS
2020, Algorithm 1; as a baseline of pFedGraph (Ye et al., ICML 2023), whose rates, lam and K are
the defaults here (its R is 200).

Symbols: w the mean, w_i the local model that starts from it, theta_i the personal model, lam
(`strength`), eta (`outer_learning_rate`), beta the server's step, K (`inner_steps`), R
(`local_steps`).

R times in a round: K steps of theta_i on F_i(theta) + (lam / 2) ||theta - w_i||^2, from where
theta_i is, at `inner_learning_rate`; then w_i <- w_i - eta lam (w_i - theta_i). A round begins with
theta_i = w_i = w. After it w <- (1 - beta) w + beta mean(w_i). The model to report is theta_i,
published as `trained`, w as nothing at all; `report = "w"` is pFedGraph's code: w_i after local
training as `trained`, w as `mixed`.

Readings and departures:
- The K steps of a problem take one minibatch, the R problems one each. A round takes the virtual
  time of its K R gradients. R is no number of epochs: `local_epochs` is refused.
- The inner steps are the scenario's optimiser's, started afresh for each of the R problems, with
  its weight decay and its momentum; pFedGraph's code has 0.001 and none:
  `training = { momentum = 0.0, weight_decay = 0.001 }`.
- Every node takes the server's step itself, from the w that it adopted last: the same where no
  message is lost.
- The mean is by training samples; `weights = "equal"` is Algorithm 1. All clients take part.
- Running statistics (BatchNorm) stay with the node.

Personalizes: a second whole model theta_i, near the common one.
Shares: w, a model without running statistics.
Sends: `b * P + 32` per neighbour; with a server `b * P + 32` up, `b * P` down.
Needs: equal architectures.
Cost a round: `K * S` steps, K `inner_steps`; a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Literal

from netsim import api
from netsim.api import Node, Process


class Params(api.RoundParams):
    """R, K, lam, both learning rates, beta, and which model is reported.

    Attributes
    ----------
    local_steps
        R, problems that a node solves in a round. Source: Dinh et al. 2020, Algorithm 1.
    inner_steps
        K, steps of theta_i on each problem. Source: Dinh et al. 2020, Algorithm 1.
    strength
        lam, weight of the distance between theta_i and w_i. Source: Dinh et al. 2020, Algorithm 1.
    inner_learning_rate
        Learning rate of theta_i.
    outer_learning_rate
        eta, learning rate of w_i.
    beta
        Step of the server: how far w goes towards the mean; 1: all the way.
    report
        Model that is reported: the personal one, or w_i, as in pFedGraph's code ("w").
    """

    local_steps: api.Count = 20
    inner_steps: api.Count = 5
    strength: api.Positive = 15.0
    inner_learning_rate: api.Positive = 0.01
    outer_learning_rate: api.Positive = 0.01
    beta: api.Positive = 1.0
    report: Literal["theta", "w"] = "theta"


@api.algorithm(mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which the w_i are averaged."""
    return api.round_processes(node, params, PFedMe(node, params, "parameters"))


class PFedMe(api.AveragedPart[Params]):
    """One node: `theta` is w_i or w; personal its theta_i, w (P,) what it adopted last."""

    def __init__(self, node: Node, params: Params, part: str) -> None:
        super().__init__(node, params, part)
        self.personal = self.theta
        self.w = self.theta.part(part)

    def fit(self) -> Process:
        node, params = self.node, self.params
        w_i = personal = self.theta
        step = params.outer_learning_rate * params.strength
        for _ in range(params.local_steps):
            trained = yield node.train(
                personal,
                steps=params.inner_steps,
                anchor=(w_i, params.strength),
                learning_rate=params.inner_learning_rate,
                loss=params.loss(),
                same_batch=True,
            )
            personal = trained.theta
            w_i = api.with_statistics_of(personal, node.mix([w_i, personal], [1.0 - step, step]))
        self.personal = personal
        return w_i

    def adopt(self, common: api.Mean) -> None:
        beta = self.params.beta
        self.w = self.node.mix([self.w, common.theta], [1.0 - beta, beta])
        super().adopt(api.Mean(self.w))

    def show(self, stage: str) -> None:
        if self.params.report == "w":
            self.node.publish(self.theta, stage)
        elif stage == "trained":
            self.node.publish(self.personal, stage)
