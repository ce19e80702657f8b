"""FedAvg+: FedAvg, then Reptile steps and gentler local training for personalisation.

Source: Jiang, Konecny, Rush and Kannan 2019 (arXiv:1909.12488), Section 3, as a baseline of KD-PDFL
(Jeong and Kountouris 2023), which gives only the switch times: slot 2000 (IoT), 150 (EMNIST).

From `switch_s` on the step of a star or a round is w <- w + epsilon (mean - w) and local steps use
`fine_tune_learning_rate`; `pace` and rounds are FedAvg's. The model to report is the fine-tuned
one, published as `trained`.
Departures: a star's own model is the w of the step. In rounds every node takes the server's step
itself, from the w that it adopted last: the same where no message is lost.
"""

from algorithms import fedavg
from algorithms._rounds import Mean, round_processes, takes_rounds, trained_share
from algorithms._star import Heard, State, star_processes
from algorithms.fedavg import mean
from netsim.api import Fraction, Node, Positive, Process, Ref


class Params(fedavg.Params):
    """When Reptile takes over, how far it goes and how gently nodes train from then on."""

    switch_s: Positive
    epsilon: Fraction = 0.5
    fine_tune_learning_rate: Positive = 0.01


def processes(node: Node, params: Params) -> list[Process]:
    """Rounds or star exchanges with the mean, later the Reptile step, as their rule."""
    model = node.hold(node.initial())
    w = model.theta

    def personalises() -> bool:
        return node.now_s >= params.switch_s

    def learning_rate() -> float | None:
        return params.fine_tune_learning_rate if personalises() else None

    def stepped(w: Ref, average: Ref) -> Ref:
        if not personalises():
            return average
        return node.mix([w, average], [1.0 - params.epsilon, params.epsilon])

    def combine(heard: Heard) -> Ref:
        return stepped(model.theta, mean(node, model.theta, heard))

    def train() -> Process:
        trained = yield model.train(learning_rate=learning_rate(), **params.how())
        return trained_share(node, trained)

    def adopt(average: Mean) -> None:
        nonlocal w
        w = stepped(w, average.theta)
        model.replace(w)
        if not personalises():
            node.publish(w, "mixed")

    if takes_rounds(node, params):
        return round_processes(node, params, train, adopt)
    return star_processes(node, params, combine, State(model), learning_rate, params.loss())
