"""Lazy values: parts of models, mixes, functions of values, numbers."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.errors import ComputeError, NetsimError, ProtocolError

EXACT = {"rtol": 0, "atol": 1e-12}


def constant(value, like):
    return torch.full_like(like, value)


def weights_of(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def test_parts_of_a_model_are_ranges_of_its_columns(learn, fresh_model):
    def process(node, found):
        theta = node.initial()
        found.head, found.backbone = theta.part("head"), theta.part("backbone")
        found.parameters, found.buffers = theta.part("parameters"), theta.part("buffers")
        found.last_bias = theta.part("head.bias")
        yield node.sleep(0.0)

    found = learn(process)
    model = fresh_model(found.world)

    def joined(tensors):
        return torch.cat([t.detach().reshape(-1) for t in tensors])

    assert torch.equal(found.head, joined(model.head.parameters()))
    assert torch.equal(found.backbone, joined(model.features.parameters()))
    assert torch.equal(found.parameters, joined(model.parameters()))
    assert torch.equal(found.buffers, joined(model.buffers()))
    assert torch.equal(found.last_bias, model.head.bias.detach())


def test_a_part_put_into_a_model_replaces_that_part_alone(learn):
    def process(node, found):
        found.trained = trained = (yield node.train(node.initial(), steps=2)).theta
        found.mixed = node.initial().with_part("head", trained.part("head"))
        found.initial = node.initial()

    found = learn(process)
    layout = found.world.architectures[0]
    ((start, stop),) = layout.columns("head")
    expected = found.initial.clone()
    expected[start:stop] = found.trained[start:stop]
    assert torch.equal(found.mixed, expected)
    assert not torch.equal(found.mixed, found.initial)


@pytest.mark.parametrize(
    ("name", "message"), [("tail", "no part 'tail'; it has"), ("head.nothing", "no part")]
)
def test_a_part_that_is_not_there_is_refused(learn, name, message):
    def process(node, found):
        node.initial().part(name)
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match=message):
        learn(process)


def test_a_part_of_another_shape_is_refused(learn):
    def process(node, found):
        theta = node.initial()
        theta.with_part("head", theta.part("backbone"))
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match="part head has shape"):
        learn(process)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_mix_is_the_weighted_sum(learn, lazy):
    shares = (0.5, 0.25, -1.0)

    def process(node, found):
        found.a = a = node.initial()
        found.b = b = (yield node.train(a, steps=1)).theta
        found.c = c = (yield node.train(b, steps=1)).theta
        found.mix = node.mix([a, b, c], node.compute(weights_of, *shares) if lazy else shares)
        found.heads = node.mix([t.part("head") for t in (a, b, c)], shares)

    found = learn(process)
    expected = 0.5 * found.a + 0.25 * found.b - found.c
    torch.testing.assert_close(found.mix, expected, **EXACT)
    ((start, stop),) = found.world.architectures[0].columns("head")
    torch.testing.assert_close(found.heads, expected[start:stop], **EXACT)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_weight_of_zero_keeps_out_a_model_that_diverged(learn, lazy):
    shares = (1.0, 0.0)

    def process(node, found):
        found.theta = theta = node.initial()
        diverged = node.compute(constant, float("nan"), theta)
        weights = node.compute(weights_of, *shares) if lazy else shares
        found.mix = node.mix([theta, diverged], weights)
        yield node.sleep(0.0)

    found = learn(process)
    assert torch.equal(found.mix, found.theta)


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        (["head", "head"], [1.0], "2 Refs but 1 weights"),
        (["head", "backbone"], [0.5, 0.5], "shapes differ"),
        ([], [], "0 Refs"),
    ],
)
def test_a_mix_that_does_not_fit_is_refused(learn, parts, weights, message):
    def process(node, found):
        node.mix([node.initial().part(p) for p in parts], weights)
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match=message):
        learn(process)


def pair_and_sum(a, options):
    return torch.stack([a, options["b"]]), (a + options["b"][0]).sum() * options["factor"]


def test_shapes_of_results_are_known_before_they_are_computed(learn):
    def process(node, found):
        a = node.compute(weights_of, 1.0, 2.0)
        assert a.shape == (2,)
        stack, total = node.compute(pair_and_sum, a, {"b": a, "factor": 3.0})
        assert (stack.shape, total.shape) == ((2, 2), ())
        found.stack, found.total = stack, total
        yield node.sleep(0.0)

    found = learn(process)
    assert found.stack.tolist() == [[1, 2], [1, 2]]
    assert float(found.total) == 3.0 * (1 + 1 + 2 + 1)


def doubled(theta):
    return 2.0 * theta


def test_a_result_like_a_model_is_a_model(learn):
    def process(node, found):
        theta = node.initial()
        found.initial, found.head = theta, node.compute(doubled, theta, like=theta).part("head")
        like_head = node.compute(doubled, theta.part("head"), like=theta.part("head"))
        with pytest.raises(ProtocolError, match="only a whole model"):
            like_head.part("head")
        yield node.sleep(0.0)

    found = learn(process)
    ((start, stop),) = found.world.architectures[0].columns("head")
    assert torch.equal(found.head, 2.0 * found.initial[start:stop])


def positive_part(a):
    return a[a > 0]


def test_shapes_that_depend_on_values_must_be_given(learn):
    def process(node, found):
        a = node.compute(weights_of, -1.0, 2.0)
        found.given = node.compute(positive_part, a, like=(1,))
        with pytest.raises(ProtocolError, match="give like="):
            node.compute(positive_part, a)
        yield node.sleep(0.0)

    assert learn(process).given.tolist() == [2.0]


def test_a_shape_that_was_announced_wrongly_is_an_error(learn):
    def process(node, found):
        node.compute(positive_part, node.compute(weights_of, -1.0, 2.0), like=(2,))
        yield node.sleep(0.0)

    with pytest.raises(ComputeError, match=r"gave shape \(1,\), announced was \(2,\)"):
        learn(process)


def number_of_python(a):
    return float(a.sum())


def test_a_result_that_is_no_tensor_is_told_as_such(learn):
    def process(node, found):
        found.sum = node.compute(number_of_python, node.compute(weights_of, 1.0, 2.0), like=())
        yield node.sleep(0.0)

    with pytest.raises(ComputeError, match="number_of_python gave a float; it must give a tensor"):
        learn(process)


def test_functions_that_see_more_than_their_arguments_are_refused(learn):
    def inner(a):
        return a

    def process(node, found):
        a = node.compute(weights_of, 1.0)
        for fn, what in ((lambda a: a, "a lambda"), (inner, "inside another")):
            with pytest.raises(ProtocolError, match=what + r".*module-level") as refusal:
                node.compute(fn, a)
            assert __file__ in str(refusal.value)
        with pytest.raises(ProtocolError, match="a bound method"):
            node.compute(node.uniform, "x", 1)
        yield node.sleep(0.0)

    learn(process)


def itself(a):
    return a


def first_half(a):
    return a[: len(a) // 2]


def add_one(a):
    return a.add_(1.0)


def test_a_result_is_no_view_of_what_it_was_made_of(learn):
    def process(node, found):
        a = node.compute(weights_of, 1.0, 2.0)
        same, half = node.compute(itself, a), node.compute(first_half, a)
        numbers = yield node.value([a, same, half])
        cells = [ref.cell.materialise() for ref in (a, same, half)]
        assert len({c.data_ptr() for c in cells}) == 3
        assert [n.tolist() for n in numbers] == [[1, 2], [1, 2], [1]]

    learn(process)


def test_outputs_loss_and_gradient_are_torchs(learn, fresh_model, batches):
    def process(node, found):
        found.a = a = node.initial()
        found.b = b = (yield node.train(a, steps=3)).theta
        found.outputs = node.outputs([a, b], node.batch())
        found.loss, found.gradient = node.loss(b), node.gradient(b, "train")

    found = learn(process)
    world = found.world
    (probe,) = batches(world, 1, "probe")
    for row, mine in zip((found.a, found.b), found.outputs, strict=True):
        with torch.no_grad():
            torch.testing.assert_close(mine, fresh_model(world, row).eval()(probe.x), **EXACT)
    model = fresh_model(world, found.b).eval()
    held_out = world.shards.split(0, "validation")
    assert len(held_out.y) == 12
    expected = F.cross_entropy(model(held_out.x), held_out.y).detach()
    torch.testing.assert_close(found.loss, expected, **EXACT)
    train = world.shards.split(0, "train")
    F.cross_entropy(model(train.x), train.y).backward()
    parameters = [p.grad.reshape(-1) for p in model.parameters()]
    expected = torch.cat([*parameters, torch.zeros(128, dtype=torch.float64)])  # 64 + 64 buffers
    torch.testing.assert_close(found.gradient, expected, **EXACT)


def test_numbers_come_in_the_structure_that_was_asked_for(learn):
    def process(node, found):
        a = node.compute(weights_of, 1.0, 2.0)
        found.numbers = yield node.value({"loss": node.loss(node.initial(), "train"), "w": (a, a)})
        found.after_s = node.now_s
        yield node.value(a, duration_s=0.25)
        found.later_s = node.now_s

    found = learn(process)
    assert isinstance(found.numbers["loss"], float)
    assert [type(w) for w in found.numbers["w"]] == [np.ndarray, np.ndarray]
    assert (found.after_s, found.later_s) == (1.0, 1.25)  # one local step, unless told


def test_whole_models_are_not_handed_out_as_numbers(learn):
    def process(node, found):
        yield node.value([node.initial()] * 5)  # 5 x 866 values

    with pytest.raises(NetsimError, match="4096 numbers"):
        learn(process)


def test_what_is_asked_for_before_the_first_is_due_runs_together(build, play):
    """Six nodes ask within half a second for what takes a second: one flush."""
    flushes = []

    def process(node):
        yield node.sleep(0.1 * (1 + node.id))
        theta = node.mix([node.initial(), node.initial()], [0.5, 0.5])
        yield node.value(node.loss(theta, "train"))
        flushes.append(theta.cell.scheduler.flushes)

    simulation = play(build(nodes={"count": 6}), process)
    assert flushes == [1] * 6
    assert simulation.learning.scheduler.jobs == 12


def test_without_tensor_work_a_default_stands_in(build, play):
    seen = []

    def process(node):
        theta = (yield node.train(node.initial(), steps=1)).theta
        seen.append((yield node.value(node.loss(theta, "train"), default=2.0)))
        with pytest.raises(ProtocolError, match="timing-only"):
            node.value(node.loss(theta, "train"))

    simulation = play(build(), process, timing_only=True)
    assert seen == [2.0] * 3
    assert simulation.learning.scheduler.jobs == 0


def test_another_nodes_ref_is_refused(build, play):
    refs = {}

    def process(node):
        refs[node.id] = node.initial()
        yield node.sleep(1.0)
        if node.id == 1:
            with pytest.raises(ProtocolError, match="node 1 used a Ref of node 0"):
                node.mix([refs[1], refs[0]], [0.5, 0.5])

    play(build(), process)
