"""pFedMe: a personal model near a model that is averaged, by Moreau envelopes of the losses.

Source: Dinh, Tran and Nguyen, "Personalized federated learning with Moreau envelopes", NeurIPS
2020, Algorithm 1.
Symbols: w the mean, w_i the local model, theta_i the personal one, lam, eta, beta as there, K
(`inner_steps`) steps on each of R (`local_steps`) problems.
Departures: no server, whose step each node takes itself; all nodes take part in every round.
"""

from netsim.api import AbsenceParams, Count, Inbox, Model, Node, Positive, Process, algorithm


class Params(AbsenceParams):
    """R, K, lam, and the steps of w_i (`eta`), of w (`beta`) and of theta_i."""

    local_steps: Count = 20
    inner_steps: Count = 5
    lam: Positive = 15.0
    eta: Positive = 0.01
    beta: Positive = 1.0
    inner_learning_rate: Positive = 0.01


@algorithm(knows_servers=False)
def processes(node: Node, params: Params) -> list[Process]:
    """A node's rounds, and listening for models that come late."""
    inbox = Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 1: R times theta_i near w_i and a step of w_i to it; then the server's step."""
    w = node.initial()
    while True:
        yield node.wakeup()
        w_i = theta_i = w
        for _ in range(params.local_steps):
            trained = yield node.train(
                theta_i,
                steps=params.inner_steps,
                same_batch=True,
                anchor=(w_i, params.lam),  # lam / 2 * ||theta_i - w_i||^2 beside the loss
                learning_rate=params.inner_learning_rate,
            )
            theta_i = trained.theta
            w_i = w_i - params.eta * params.lam * (w_i - theta_i)
        node.publish(theta_i, "trained")
        models = {**(yield from inbox.exchange(Model(w_i))), node.id: Model(w_i)}
        mean = sum(models[j].theta for j in sorted(models)) / len(models)
        w = (1 - params.beta) * w + params.beta * mean
