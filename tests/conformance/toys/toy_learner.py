"""Every learning verb: joint training, parts, lazy functions, selection, numbers, pictures."""

from torch import Tensor, zeros
from torch.nn.functional import cross_entropy

from netsim.api import Node, Params, Process, loss

from ._seen import saw


@loss(uniforms=2)
def joint_loss(model, batch, learned, teacher):
    pull = (model.features(batch.x).mean(0) - learned["prototype"]).square().sum()
    noise = batch.uniforms.mean() * teacher.square().mean()
    return cross_entropy(model(batch.x), batch.y) + 0.1 * pull + 1e-3 * noise


def shares(outputs: Tensor, gradient: Tensor, sharpness: float) -> Tensor:
    return (-(outputs - outputs[:1]).square().mean((1, 2)) * sharpness).softmax(0) + 0 * gradient[0]


def center(model, batch, scale: float) -> Tensor:
    return scale * model.features(batch.x).mean(0)


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node, node.initial(), node.compute(zeros, 4), None)]


def on_wakeup(node: Node, own, prototype, state) -> Process:
    while True:
        yield node.wakeup()
        how = {"given": (own,), "learn": {"prototype": prototype}, "anchor": (own, 0.1)}
        joint = yield node.train(own, epochs=1, loss=joint_loss, optimizer=state, **how)
        other = (yield node.train(own, steps=1, stream="other", learning_rate=0.1)).theta
        mixed = own.with_part("head", joint.theta.part("head"))
        outputs, gradient = node.outputs([mixed, other], node.batch()), node.gradient(mixed)
        own = node.mix([mixed, other], node.compute(shares, outputs, gradient, 0.5))
        order, coins = node.permutation("order", [mixed, other]), node.uniform("coins", 2)
        thetas, sizes = [own, *order], [node.train_size] * 3
        pool = node.pool(thetas, sizes)
        weights, _ = node.select(thetas, sizes, coins, budget=2, state=pool)
        prototype, state = joint.learned["prototype"], joint.optimizer
        features = node.measure(center, own, given=(0.5,), like=(4,))
        lazy = {"loss": node.loss(own, "test"), "weights": weights, "prototype": prototype}
        lazy["features"] = features
        lazy["prototype"] = prototype
        saw(node, "numbers", (yield node.value(lazy, duration_s=0.02, default={})))
        node.keep("prototype", prototype)
        node.record("prototype", prototype)
        node.log_weights([0, 1, 2], weights)
        node.publish(own, "mixed")
