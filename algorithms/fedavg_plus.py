"""FedAvg+: FedAvg, then Reptile steps and gentler local training for personalisation.

Source: Jiang, Konecny, Rush and Kannan 2019 (arXiv:1909.12488), Section 3, as a baseline of KD-PDFL
(Jeong and Kountouris 2023), which gives only the switch times: slot 2000 (IoT), 150 (EMNIST).

From `switch_s` on the star's step is w <- w + epsilon (mean - w) and local steps use
`fine_tune_learning_rate`. Departures: without a server, the star's own model is the w of the step.
"""

from algorithms._star import SCHEDULES as SCHEDULES
from algorithms._star import Heard, StarParams, State, star_processes
from algorithms.fedavg import mean
from netsim.api import Fraction, Node, Positive, Process, Ref


class Params(StarParams):
    """When Reptile takes over, how far it goes and how gently nodes train from then on."""

    switch_s: Positive
    epsilon: Fraction = 0.5
    fine_tune_learning_rate: Positive = 0.01


def processes(node: Node, params: Params) -> list[Process]:
    """The star exchange with the mean, later the Reptile step, as its rule."""
    state = State(node.hold(node.initial()))

    def personalises() -> bool:
        return node.now_s >= params.switch_s

    def combine(heard: Heard) -> Ref:
        w = state.model.theta
        average = mean(node, w, heard)
        if not personalises():
            return average
        return node.mix([w, average], [1.0 - params.epsilon, params.epsilon])

    def learning_rate() -> float | None:
        return params.fine_tune_learning_rate if personalises() else None

    return star_processes(node, params, combine, state, learning_rate)
