"""FedAvg without a server: the star takes the mean of its own and the received models.

Source: the baseline of KD-PDFL (Jeong and Kountouris 2023), after McMahan et al. 2017; the same
schedule and messages as KD-PDFL, the arithmetic mean over N_i and i in place of Eqs. (1)-(4).

Departures: none known; the paper says no more than "FedAvg".
"""

from algorithms._star import SCHEDULES as SCHEDULES
from algorithms._star import Heard, StarParams, State, star_processes
from netsim.api import Node, Process, Ref


class Params(StarParams):
    """Parameters of the exchange."""


def processes(node: Node, params: Params) -> list[Process]:
    """The star exchange with the mean as its rule."""
    state = State(node.hold(node.initial()))

    def combine(heard: Heard) -> Ref:
        node.log_weights(heard.peers, [share(heard)] * len(heard.peers))
        return mean(node, state.model.theta, heard)

    return star_processes(node, params, combine, state)


def share(heard: Heard) -> float:
    """1 / (|N_i| + 1)."""
    return 1.0 / (len(heard.peers) + len(heard.missing) + 1)


def mean(node: Node, own: Ref, heard: Heard) -> Ref:
    """(theta_i + sum of theta_j over N_i) / (|N_i| + 1); a missing peer's share stays with i."""
    each = share(heard)
    own_share = each * (1 + len(heard.missing))
    return node.mix([own, *heard.thetas], [own_share] + [each] * len(heard.thetas))
