"""APFL: a node predicts by a mixture of the common model and a model of its own.

Source: Deng, Kamani and Mahdavi, "Adaptive personalized federated learning", arXiv:2003.13461,
2020, Algorithm 1.
Symbols: w the model that is averaged, v the own one, v_bar = alpha v + (1 - alpha) w, F the loss.
Departures: no server; alpha takes one step a round, on a minibatch of its own.
"""

from torch import Tensor, nn

from netsim import api
from netsim.api import Batch, Count, Fraction, Inbox, Model, Node, Positive, Process


class Params(api.AbsenceParams):
    """Initial value of alpha, its learning rate, and the length of a round's training."""

    alpha: Fraction = 0.5
    adaptive: bool = True
    alpha_learning_rate: Positive = 0.1
    local_steps: Count = 5


@api.algorithm(knows_servers=False, tasks=("any",))
def processes(node: Node, params: Params) -> list[Process]:
    """A node's rounds, and listening for models that come late."""
    inbox = Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 1: steps of alpha, w and v, then the mean of the w."""
    w = node.initial()
    v = w.part("parameters")
    alpha = node.compute(scalar, v, params.alpha)
    while True:
        yield node.wakeup()
        if params.adaptive:
            found = yield node.train(
                w,
                steps=1,
                loss=of_mixture,
                given=(v,),
                learn={"alpha": alpha},
                learning_rate=params.alpha_learning_rate,
                stream="alpha",
            )
            alpha = node.compute(clipped, found.learned["alpha"])
        trained = yield node.train(
            w, steps=params.local_steps, loss=of_both, given=(alpha,), learn={"v": v}
        )
        w, v = trained.theta, trained.learned["v"]
        v_bar = node.compute(mixture, alpha, v, w.part("parameters"))
        node.publish(w.with_part("parameters", v_bar), "trained")
        models = {**(yield from inbox.exchange(Model(w))), node.id: Model(w)}
        w = sum(models[j].theta for j in sorted(models)) / len(models)
        v_bar = node.compute(mixture, alpha, v, w.part("parameters"))
        node.publish(w.with_part("parameters", v_bar), "mixed")


def of_both(model: nn.Module, batch: Batch, learned: dict[str, Tensor], alpha: Tensor) -> Tensor:
    """F(w) + F(v_bar): its gradients are those of w and v in Algorithm 1."""
    return batch.loss(model(batch.x)) + of_mixture(model, batch, {"alpha": alpha}, learned["v"])


def of_mixture(model: nn.Module, batch: Batch, learned: dict[str, Tensor], v: Tensor) -> Tensor:
    """F(v_bar) with w held fixed."""
    v_bar = mixture(learned["alpha"], v, api.parameters_of(model).detach())
    return batch.loss(api.call_at(model, v_bar, batch.x))


def mixture(alpha: Tensor, v: Tensor, w: Tensor) -> Tensor:
    """v_bar, (P,)."""
    return alpha * v + (1 - alpha) * w


def clipped(alpha: Tensor) -> Tensor:
    """The nearest number in [0, 1]."""
    return alpha.clamp(0, 1)


def scalar(like: Tensor, value: float) -> Tensor:
    """A number in the precision of models."""
    return like.new_tensor(value)
