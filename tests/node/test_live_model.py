"""A model that arrives while its receiver trains, under the three rules of `on_arrival`."""

import pytest
import torch

from netsim.errors import NetsimError


def under(rule, **more):
    keys = {"learning_rate": 0.1, "dtype": "float64", "on_arrival": rule, **more}
    return {"training": keys}


def arrival_in_mid_training(node, found):
    """A step from 0 s to 1 s; half the initial model arrives at 0.5 s, a third of it at 0.6 s."""
    found.initial = node.initial()
    model = node.hold(node.initial())
    found.trained_alone = (yield node.train(node.initial(), steps=1)).theta
    start_s = node.now_s
    training = model.train(steps=1, stream="train again")
    yield node.sleep(0.5)
    model.replace(node.mix([node.initial()], [1 / 2]))
    found.at_once = model.theta
    yield node.sleep(0.1)
    model.replace(node.mix([node.initial()], [1 / 3]))
    found.result = yield training
    found.ended_s = node.now_s - start_s
    found.after = model.theta


@pytest.fixture
def reference(learn):
    """Apply the step alone to the initial model."""

    def process(node, found):
        yield node.train(node.initial(), steps=1)
        found.theta = (yield node.train(node.initial(), steps=1, stream="train again")).theta

    return learn(process).theta


def test_wait_lets_the_job_end_and_then_takes_what_arrived_last(learn):
    found = learn(arrival_in_mid_training, **under("wait"))
    assert torch.equal(found.at_once, found.initial)
    assert found.ended_s == 1.0
    assert found.result is not None
    assert torch.equal(found.after, found.initial * (1 / 3))
    assert found.simulation.counts["trainings_overwritten"] == 1


def test_rebase_adds_what_training_changed(learn, reference):
    found = learn(arrival_in_mid_training, **under("rebase"))
    assert found.ended_s == 1.0
    n = found.world.architectures[0].num_parameters
    expected = found.initial / 3 + (reference - found.initial)
    torch.testing.assert_close(found.after[:n], expected[:n], rtol=0, atol=1e-12)
    assert torch.equal(found.after[n:], found.initial[n:] * (1 / 3))


def test_discard_step_takes_it_at_once_and_frees_the_processor(learn):
    found = learn(arrival_in_mid_training, **under("discard_step"))
    assert torch.equal(found.at_once, found.initial / 2)
    assert found.result is None
    assert found.ended_s == pytest.approx(0.6)  # the job had ended at 0.5 s, only nobody looked
    assert torch.equal(found.after, found.initial * (1 / 3))
    assert found.simulation.counts["trainings_discarded"] == 1


def test_rebasing_leaves_no_negative_variance(learn):
    """The last 64 values are BatchNorm's running variances, 1 at first."""

    def process(node, found):
        model = node.hold(node.initial())
        training = model.train(steps=20)
        model.replace(node.mix([node.initial()], [1e-6]))
        yield training
        found.variances = model.theta.part("buffers")

    assert bool((learn(process, **under("rebase")).variances[-64:] > 0).all())


@pytest.mark.parametrize("rule", ["wait", "rebase", "discard_step"])
def test_without_training_an_arrival_takes_effect_at_once(learn, rule):
    def process(node, found):
        model = node.hold(node.initial())
        model.replace(node.mix([node.initial()], [0.5]))
        found.theta, found.initial = model.theta, node.initial()
        yield model.settled()
        found.settled_s = node.now_s

    found = learn(process, **under(rule))
    assert torch.equal(found.theta, found.initial / 2)
    assert found.settled_s == 0.0


def test_after_a_dropped_step_the_processor_takes_the_next_at_once(learn):
    def process(node, found):
        model = node.hold(node.initial())
        model.train(steps=10)
        yield node.sleep(2.0)
        model.replace(node.initial())
        yield model.train(steps=1)
        found.ended_s = node.now_s

    assert learn(process, **under("discard_step")).ended_s == 3.0


@pytest.mark.parametrize("battery_j", [None, 100.0])
def test_a_dropped_training_draws_energy_until_it_is_dropped(build, play, battery_j):
    """2 s of ten steps of 1 s at 3 J, then one step of them."""
    energy = {"compute": {"kind": "per_step", "joules": 3.0}, "battery_j": battery_j}
    left_j = []

    def process(node):
        model = node.hold(node.initial())
        model.train(steps=10)
        yield node.sleep(2.0)
        model.replace(node.initial())
        yield model.train(steps=1)
        left_j.append(node.battery_j)

    built = build(nodes={"count": 1}, energy=energy, **under("discard_step"))
    simulation = play(built, process)
    spent_j = simulation.devices.meter.spent_j(0, simulation.clock.now)
    assert spent_j == pytest.approx(9.0)
    if battery_j is not None:
        assert left_j == [pytest.approx(battery_j - 9.0)]


@pytest.mark.parametrize("battery_j", [None, 1000.0])
@pytest.mark.parametrize("first", [False, True])
def test_a_training_is_dropped_among_other_works(build, play, battery_j, first):
    """Ten steps of 1 s at 3 J, dropped after 2 s, and a work of 4 s before or behind it.

    Behind it the work keeps its time, 10 to 14 s, and 2 + 4 steps are drawn. Before it the held
    training has not begun: 4 are. The step that follows begins when all is done, and the first
    work is never cut.
    """
    energy = {"compute": {"kind": "per_step", "joules": 3.0}, "battery_j": battery_j}
    ended_s = {}

    def process(node):
        model = node.hold(node.initial())
        work = node.work(seconds=4.0) if first else None
        model.train(steps=10)
        if work is None:
            work = node.work(seconds=4.0)
        yield node.sleep(2.0)
        model.replace(node.initial())
        step = model.train(steps=1)
        yield work
        ended_s["work"] = node.now_s
        yield step
        ended_s["step"] = node.now_s

    built = build(nodes={"count": 1}, energy=energy, **under("discard_step"))
    simulation = play(built, process)
    spent_j = simulation.devices.meter.spent_j(0, simulation.clock.now)
    assert spent_j == pytest.approx(3.0 * (5 if first else 7))
    assert ended_s == ({"work": 4.0, "step": 5.0} if first else {"work": 14.0, "step": 15.0})


def test_settled_waits_for_the_job_in_flight(learn):
    def process(node, found):
        model = node.hold(node.initial())
        model.train(steps=2)
        yield model.settled()
        found.settled_s = node.now_s

    assert learn(process, **under("wait")).settled_s == 2.0


def test_what_arrives_must_be_a_model(learn):
    def process(node, found):
        node.hold(node.initial()).replace(node.initial().part("head"))
        yield node.sleep(0.0)

    with pytest.raises(NetsimError, match="a whole model is needed"):
        learn(process)


def test_a_held_model_is_trained_by_one_job_at_a_time(learn):
    def process(node, found):
        model = node.hold(node.initial())
        model.train(steps=2)
        model.train(steps=2)
        yield node.sleep(0.0)

    with pytest.raises(NetsimError, match="being trained already"):
        learn(process)
