"""FedAvg: every node goes on from the mean of all models.

Source: McMahan, Moore, Ramage, Hampson and Aguera y Arcas 2017, Algorithm 1 with all clients in
every round: local training from w, w <- sum p_i theta_i with p_i = n_i / sum n. With a server or
without one, as `_rounds` says.

Where nodes wake by themselves and there is no server, `pace = "slots"` is the baseline of KD-PDFL
(Jeong and Kountouris 2023): its star exchange, with the arithmetic mean over N_i and i in place of
Eqs. (1)-(4); the paper says no more than "FedAvg". `pace = "rounds"` has a node train and exchange
whenever it wakes.

Departures: no sampling of clients: the links and the schedule say who takes part.
"""

from algorithms._rounds import (
    Mean,
    PaceParams,
    RoundParams,
    adopt_mean,
    round_processes,
    takes_rounds,
    trained_share,
)
from algorithms._star import Heard, StarParams, State, star_processes
from netsim.api import Node, Process, Ref


class Params(StarParams, RoundParams, PaceParams):
    """Of the star exchange and of rounds."""


def processes(node: Node, params: Params) -> list[Process]:
    """Rounds, or the star exchange with the mean as its rule."""
    if takes_rounds(node, params):
        return in_rounds(node, params)
    state = State(node.hold(node.initial()))

    def combine(heard: Heard) -> Ref:
        node.log_weights(heard.peers, [share(heard)] * len(heard.peers))
        return mean(node, state.model.theta, heard)

    return star_processes(node, params, combine, state, loss=params.loss())


def in_rounds(node: Node, params: Params) -> list[Process]:
    """Algorithm 1."""
    model = node.hold(node.initial())  # w, theta_i while it is trained

    def train() -> Process:
        return trained_share(node, (yield model.train(**params.how())))

    def adopt(mean: Mean) -> None:
        adopt_mean(node, model, mean)

    return round_processes(node, params, train, adopt)


def share(heard: Heard) -> float:
    """1 / (|N_i| + 1)."""
    return 1.0 / (len(heard.peers) + len(heard.missing) + 1)


def mean(node: Node, own: Ref, heard: Heard) -> Ref:
    """(theta_i + sum of theta_j over N_i) / (|N_i| + 1); a missing peer's share stays with i."""
    each = share(heard)
    own_share = each * (1 + len(heard.missing))
    return node.mix([own, *heard.thetas], [own_share] + [each] * len(heard.thetas))
