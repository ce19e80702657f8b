"""Failures of one node, or of one call, stay there."""

import pytest
import torch
import torch.nn.functional as F

from netsim.backends.stacked import inference, loss_training
from netsim.backends.stacked.training import Training
from netsim.backends.stacked.workspace import Workspace
from netsim.errors import ComputeError

HUGE = 1e30


def plain_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


def bits(run, but=()):
    return {k: v.numpy().tobytes() for k, v in run.values.items() if k[0] not in but}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("loss", [None, plain_loss], ids=["default", "given"])
@pytest.mark.parametrize("model", [{"kind": "mlp", "hidden": [33]}, {"kind": "iot_mlp"}])
def test_a_node_that_diverges_is_named_and_leaves_the_others_alone(model, loss, build, play):
    """The other five give the same bits as where the node learns as slowly as they do."""

    def lives(rate):
        def program(node, keep):
            yield node.sleep(0.5)
            theta = node.initial()
            for k in range(2):
                learning_rate = rate if node.id == 2 and k == 1 else 0.1
                trained = yield node.train(theta, steps=4, learning_rate=learning_rate, loss=loss)
                theta = trained.theta
            keep("theta", theta)
            keep("loss", node.loss(theta))
            keep("gradient", node.gradient(theta))

        return program

    built = build(model=model, training={"dtype": "float32"}, nodes={"count": 6})
    wild, tame = (play(built, lives(rate)) for rate in (HUGE, 0.1))
    assert wild.width > 2
    assert not torch.isfinite(wild.values[2, "theta"]).all()
    assert bits(wild, but=(2,)) == bits(tame, but=(2,))
    diverged = wild.simulation.finish(None)["diverged"]
    assert [(d["node"], d["t_s"]) for d in diverged] == [(2, 4.5)]
    assert diverged[0]["job"].startswith("training of 4 steps")
    assert tame.simulation.finish(None)["diverged"] == []


def test_the_first_divergence_of_a_node_is_the_one_that_is_told(build, play):
    """Not a later one, nor a model that it only took from another node."""
    lost = {}

    def program(node, keep):
        if node.id == 0:
            yield node.sleep(1.0)
            lost[0] = (yield node.train(node.initial(), steps=2, learning_rate=HUGE)).theta
            yield node.train(node.initial(), steps=3, learning_rate=HUGE)
        if node.id == 1:
            yield node.sleep(20.0)
            theta = node.mix([node.initial(), lost[0].owned_by(1)], [0.5, 0.5])
            keep("theta", (yield node.train(theta, steps=2)).theta)

    for backend in ("sequential", "stacked"):
        run = play(build(training={"dtype": "float32"}), program, backend)
        assert not torch.isfinite(run.values[1, "theta"]).all()
        assert run.simulation.finish(None)["diverged"] == [
            {"node": 0, "t_s": 1.0, "job": "training of 2 steps"}
        ]


def everything(node, keep):
    """Training by the default loss and by one's own, looking, and mixing."""
    trained = yield node.train(node.initial(), steps=1 + node.id % 3)
    own = yield node.train(trained.theta, steps=2, loss=plain_loss)
    keep("theta", trained.theta)
    keep("state", trained.optimizer)
    keep("own", own.theta)
    keep("mix", node.mix([trained.theta, own.theta], [0.5, 0.5]))
    keep("loss", node.loss(own.theta))
    keep("gradient", node.gradient(own.theta))
    keep("outputs", node.outputs([own.theta], node.batch()))


def only_up_to(most, width_of):
    """The call as it is, but without memory for more than `most` lanes."""

    def limited(call):
        def tried(self, *args, **keys):
            result = call(self, *args, **keys) if width_of(self, *args) <= most else None
            if result is None and width_of(self, *args) > most:
                raise torch.OutOfMemoryError("too wide")
            return result

        return tried

    return limited


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_call_for_which_there_is_no_memory_is_made_in_parts(most, build, play, monkeypatch):
    """Half way through, too: what was stored before it broke off takes no second slot."""
    built = build(nodes={"count": 9}, training={"momentum": 0.9})
    whole = play(built, everything)
    peak = {length: slab.peak for length, slab in whole.backend.store._slabs.items()}
    write = Training._write_results

    def written(self, space, jobs, start, stop, recipe):
        write(self, space, jobs, start, stop, recipe)
        if len(jobs) > most:
            raise torch.OutOfMemoryError("too wide")

    monkeypatch.setattr(Training, "_write_results", written)
    limited = only_up_to(most, lambda self, rows, *_: len(rows))
    monkeypatch.setattr(loss_training.LossTraining, "run", limited(loss_training.LossTraining.run))
    for name in ("losses", "gradients", "outputs"):
        method = getattr(inference.StackedInference, name)
        monkeypatch.setattr(inference.StackedInference, name, limited(method))
    parts = play(built, everything)
    assert parts.backend.splits >= 4
    assert not parts.backend.one_by_one
    assert bits(parts) == bits(whole)
    for length, slab in parts.backend.store._slabs.items():
        assert slab.peak <= peak[length] + 1


@pytest.mark.slow
def test_lanes_are_fewer_where_there_is_no_room_for_them(build, play, monkeypatch):
    """Room is made for as many lanes as the route says: that must shrink with the calls."""
    made = []
    make = Workspace.__init__

    def limited(self, module, plan, shards, capacity):
        made.append(capacity)
        if capacity > 3:
            raise torch.OutOfMemoryError("no room")
        make(self, module, plan, shards, capacity)

    built = build(nodes={"count": 9})
    whole = play(built, everything)
    monkeypatch.setattr(Workspace, "__init__", limited)
    parts = play(built, everything)
    assert bits(parts) == bits(whole)
    assert made[-1] <= 3
    assert len(made) < 12  # it learns from what failed


def test_a_job_that_finds_no_memory_alone_fails_by_its_name(build, play, monkeypatch):
    def without(self, *args):
        raise torch.OutOfMemoryError("none left")

    monkeypatch.setattr(Workspace, "__init__", without)
    with pytest.raises(ComputeError, match=r"node \d at 0 s: training of .*none left"):
        play(build(), everything)


def broken(theta):
    if bool(theta.sum() > 1e6):
        raise ArithmeticError("too large")
    return 2 * theta


def times(factor, theta):
    return factor * theta


broken.is_batched = times.is_batched = True


def test_a_function_of_values_that_fails_for_one_node_names_it(build, play):
    def program(node, keep):
        yield node.sleep(float(node.id))
        factor = 1e9 if node.id == 3 else 1.0
        theta = node.compute(times, factor, node.initial(), like=node.initial())
        keep("x", node.compute(broken, theta, like=theta))

    built = build(training={"common_initial": True})
    rows = tuple(row.abs() for row in built.initial)
    object.__setattr__(built, "initial", rows)
    for backend in ("sequential", "stacked"):
        with pytest.raises(ComputeError, match=r"node 3 at 3 s: apply broken.*too large"):
            play(built, program, backend)
