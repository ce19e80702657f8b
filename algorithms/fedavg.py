"""FedAvg: every node goes on from the mean of all models.

Source: McMahan, Moore, Ramage, Hampson and Aguera y Arcas 2017, Algorithm 1: local training from w,
w <- sum p_i theta_i with p_i = n_i / sum n over those who trained. With a server or without one, as
`netsim.protocols.rounds` says.

Where nodes wake by themselves and there is no server, `pace = "slots"` is the baseline of KD-PDFL
(Jeong and Kountouris 2023): its star exchange, with the arithmetic mean over N_i and i in place of
Eqs. (1)-(4); the paper says no more than "FedAvg". `pace = "rounds"` has a node train and exchange
whenever it wakes.

Departures: by default all clients take part, as far as the links and the schedule let them;
`sampled` is C, the part of them that trains in a round.

Personalizes: nothing: one model for all.
Shares: the model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down; in slots
`2 * b * theta` per peer and exchange.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model; a
star mixes the answers that came.
"""

from typing import Any

from netsim import api
from netsim.api import Node, Process, Ref


class Params(api.StarParams, api.RoundParams, api.PaceParams, api.SamplingParams, api.FallingRate):
    """Of the star exchange and of rounds, and a learning rate that may fall as FedAvg+'s does."""


@api.algorithm(common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds (Algorithm 1), or the star exchange with the mean as its rule."""
    if api.takes_rounds(node, params):
        sampling = api.Sampling(node, params)
        return api.round_processes(node, params, InRounds(node, params), sampling=sampling)
    return FedAvgStar(node, params).processes()


class InRounds(api.AveragedModel[Params]):
    """One node in rounds."""

    def how(self) -> dict[str, Any]:
        rate = self.params.learning_rate(self.node.now_s)
        return {**super().how(), "learning_rate": rate}


class FedAvgStar(api.StarExchange[Params]):
    """A star that mixes by the arithmetic mean over N_i and i."""

    def how(self) -> dict[str, Any]:
        rate = self.params.learning_rate(self.node.now_s)
        return {"learning_rate": rate, "loss": self.params.loss()}

    def combine(self, heard: api.Heard) -> Ref:
        return mean(self.node, self.params, self.model.theta, heard)


def share(heard: api.Heard) -> float:
    """1 / (|N_i| + 1)."""
    return 1.0 / (len(heard.peers) + len(heard.missing) + 1)


def mean(node: Node, params: api.StarParams, own: Ref, heard: api.Heard) -> Ref:
    """(theta_i + sum of theta_j over N_i) / (|N_i| + 1); a missing peer's share stays with i."""
    each = share(heard)
    thetas = [own, *heard.thetas]
    shares = [each * (1 + len(heard.missing)), *[each] * len(heard.thetas)]
    weights = api.discounted(node, params, thetas, shares)
    node.log_weights([node.id, *heard.peers], weights)
    return node.mix(thetas, weights)
