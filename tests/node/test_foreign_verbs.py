"""Verbs for code that brings its own learning: `work`, `once`, `seeded`, `model`, `Opaque`."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from netsim import api
from netsim.errors import ProtocolError

SLOW = {"count": 2, "groups": [{"name": "a", "count": 1}, {"name": "b", "count": 1, "speed": 0.5}]}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("given", "end_s", "steps"),
    [
        ({"steps": 4}, (4.0, 8.0), 4),
        ({"examples": 23}, (3.0, 6.0), 3),
        ({"examples": 20}, (2.0, 4.0), 2),
        ({"seconds": 2.5}, (2.5, 5.0), 0),
        ({"steps": 0}, (0.0, 0.0), 0),
    ],
)
def test_work_takes_the_time_of_the_nodes_own_processor(build, play, given, end_s, steps):
    ended, begun = {}, {}

    def process(node):
        yield node.work(**given)
        ended[node.id], begun[node.id] = node.now_s, node.local_steps

    training = {"learning_rate": 0.1, "batch_size": 10}
    play(build(nodes=SLOW, training=training), process)
    assert (ended[0], ended[1]) == end_s
    assert begun == {0: steps, 1: steps}


def test_works_and_trainings_follow_each_other(build, play):
    ended = []

    def process(node):
        first, second = node.work(seconds=2.0), node.train(node.initial(), steps=3)
        yield first
        ended.append(node.now_s)
        yield second
        ended.append(node.now_s)

    play(build(nodes={"count": 1}), process)
    assert ended == [2.0, 5.0]


def test_work_draws_the_energy_of_the_steps_it_stands_for(build, play):
    energy = {"compute": {"kind": "per_step", "joules": 3.0}}

    def process(node):
        yield node.work(seconds=2.5)
        yield node.work(steps=4)

    simulation = play(build(nodes={"count": 1}, energy=energy), process)
    assert simulation.devices.meter.spent_j(0, simulation.clock.now) == pytest.approx(3.0 * 6.5)


def test_a_node_that_is_off_works_on_when_it_is_on_again(build, play, tmp_path):
    ended = []

    def process(node):
        yield node.work(seconds=3.0)
        ended.append(node.now_s)

    (tmp_path / "on.csv").write_text("node,on_s,off_s\n0,0,1\n0,5,\n")
    churn = {"kind": "trace", "path": str(tmp_path / "on.csv")}
    play(build(nodes={"count": 1}, churn=churn), process)
    assert ended == [7.0]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one of steps, examples and seconds"),
        ({"steps": 1, "seconds": 1.0}, "give one of"),
        ({"steps": -1}, "steps = -1: must be a whole number"),
        ({"steps": 1.5}, "steps = 1.5"),
        ({"examples": True}, "examples = True"),
        ({"seconds": float("nan")}, "seconds = nan: must be a number, 0 or more"),
        ({"seconds": float("inf")}, "seconds = inf"),
    ],
)
def test_work_that_is_none_is_refused(build, play, given, said):
    def process(node):
        yield node.work(**given)

    with pytest.raises(ProtocolError, match=said.replace("(", r"\(")):
        play(build(nodes={"count": 1}), process)


class Shared:
    made: list["Shared"] = []

    def __init__(self, name):
        self.name, self.closed = name, 0
        Shared.made.append(self)

    def close(self):
        self.closed += 1


def test_an_object_exists_once_in_a_run(build, play):
    Shared.made.clear()
    seen = []

    def process(node):
        seen.append(node.once(Shared, f"of node {node.id}"))
        yield node.sleep(1.0)

    for run in range(2):
        simulation = play(build(), process)
        assert len(Shared.made) == run + 1
        assert {id(one) for one in seen[-3:]} == {id(Shared.made[-1])}
        simulation.objects.close()
        assert Shared.made[-1].closed == 1
    assert Shared.made[0].name == "of node 0"


def test_objects_are_closed_last_first_and_all_of_them():
    from netsim.node.run_objects import RunObjects

    order = []

    def one(name):
        class Closing:
            def close(self):
                order.append(name)
                if name == "b":
                    raise OSError("b")

        return Closing()

    objects = RunObjects()
    for name in "abc":
        objects.once(lambda name=name: one(name))
    with pytest.raises(OSError, match="b"):
        objects.close()
    assert order == ["c", "b", "a"]
    objects.close()


def drawn():
    return random.random(), np.random.random(), float(torch.rand(()))  # noqa: NPY002


def test_foreign_code_draws_from_seeds_of_the_run(build, play):
    def once(seed):
        found = {}

        def process(node):
            before = drawn_state()
            for call in range(2):
                with node.seeded("fit") as given:
                    found[node.id, call] = (given, *drawn())
            with node.seeded("other"):
                found[node.id, "other"] = drawn()
            assert drawn_state() == before
            yield node.sleep(1.0)

        play(build(seed=seed), process)
        return found

    first = once(1)
    assert once(1) == first
    assert len({repr(value[-1]) for value in first.values()}) == len(first)
    assert once(2)[0, 0] != first[0, 0]


def drawn_state():
    numpy = np.random.get_state(legacy=False)  # noqa: NPY002
    return random.getstate(), numpy["state"]["key"].tobytes(), torch.get_rng_state().tolist()


def test_a_model_from_outside_is_published_and_mixed(build, play):
    def process(node):
        given = np.arange(node.initial().num_values, dtype=np.float64)
        mixed = node.mix([node.model(given), node.model(3.0 * given)], [0.5, 0.5])
        node.publish(mixed, "received")
        given[:] = 0.0
        yield node.sleep(1.0)

    simulation = play(build(model={"kind": "mlp", "hidden": [4]}), process)
    row = simulation.parts[1].publishing.last_published().ref.tensor()
    assert torch.equal(row, 2.0 * torch.arange(len(row), dtype=torch.float64))


def with_statistics():
    """A model whose `state_dict()` has buffers between its parameters, and a tensor twice."""
    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 6), torch.nn.BatchNorm1d(6),
        torch.nn.Linear(6, 6), torch.nn.ReLU(), torch.nn.Linear(6, 10),
    )  # fmt: skip
    model[3].bias = model[1].bias
    return model.double()


def test_values_by_name_make_the_model_that_has_them(build, play):
    """A model that was trained elsewhere predicts here what it predicts there."""
    torch.manual_seed(3)
    elsewhere = with_statistics()
    x = torch.randn(50, 1, 8, 8, dtype=torch.float64)
    elsewhere.train()(3.0 * x + 1.0)  # statistics that tell their places
    state = {name: value.numpy() for name, value in elsewhere.state_dict().items()}

    def process(node):
        node.publish(node.model(dict(reversed(state.items()))), "received")
        yield node.sleep(1.0)

    simulation = play(build(with_statistics()), process)
    ref = simulation.parts[1].publishing.last_published().ref
    here = ref.architecture.bind(ref.tensor().clone()).eval()
    assert torch.equal(here(x), elsewhere.eval()(x))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: np.concatenate([v.ravel() for v in state.values() if v.dtype != int])[6:],
         "give a mapping"),
        (lambda state: {k: v for k, v in state.items() if k != "2.running_var"},
         "lacks 2.running_var"),
        (lambda state: {**state, "other": state["1.bias"]}, "has no other"),
        (lambda state: {**state, "1.bias": state["1.bias"][1:]}, "1.bias has shape"),
        (lambda state: {**state, "1.bias": state["1.bias"] * np.nan}, "not finite"),
        (lambda state: {**state, "1.bias": state["1.bias"] + 1.0}, "several names"),
    ],
)  # fmt: skip
def test_values_that_are_not_those_of_the_model_are_refused(build, play, change, said):
    state = {name: value.numpy() for name, value in with_statistics().state_dict().items()}

    def process(node):
        node.publish(node.model(change(state)), "received")
        yield node.sleep(1.0)

    with pytest.raises(ProtocolError, match=said):
        play(build(with_statistics()), process)


@pytest.mark.parametrize(("values", "said"), [([1.0], "has shape"), (None, "not finite")])
def test_a_model_of_another_form_is_refused(build, play, values, said):
    def process(node):
        wrong = np.full(node.initial().shape, np.nan) if values is None else values
        node.publish(node.model(wrong), "received")
        yield node.sleep(1.0)

    with pytest.raises(ProtocolError, match=said):
        play(build(model={"kind": "mlp", "hidden": [4]}), process)


@dataclass(frozen=True)
class Carried(api.Message):
    content: api.Opaque


def carry(build, play, opaque, then=lambda value: None):
    got = []

    def process(node):
        if node.id == 0:
            value = opaque.value
            node.broadcast(Carried(opaque))
            then(value)
            yield node.sleep(1.0)
        else:
            received = yield node.receive(Carried, timeout_s=50.0)
            got.append(received.msg.content)
            received.msg.content.value.append("mine")

    simulation = play(build(link={"rate_bps": 100.0}), process)
    return got, simulation


def test_an_opaque_value_arrives_as_it_was_sent_and_each_receiver_has_its_own(build, play):
    given = api.Opaque([{"w": np.ones(3)}], bits=200)
    got, simulation = carry(build, play, given, then=lambda value: value.clear())
    assert [one.value[1:] for one in got] == [["mine"], ["mine"]]
    assert all((one.value[0]["w"] == 1.0).all() for one in got)
    assert got[0].value[0] is not got[1].value[0]
    assert simulation.link.bits_transmitted_by(0) == 400


@pytest.mark.thinned(2)
@pytest.mark.parametrize("bits", [-1, 1.5, "8", True, None])
def test_an_opaque_value_has_a_size(build, play, bits):
    with pytest.raises(ProtocolError, match="bits must be a whole number"):
        carry(build, play, api.Opaque([], bits=bits))


def test_an_encoded_value_is_a_ref(build, play):
    @dataclass(frozen=True)
    class Wrong(api.Message):
        content: api.Encoded

    def process(node):
        yield node.broadcast(Wrong(api.Encoded([1, 2], packed_bits=8)))

    with pytest.raises(ProtocolError, match=r"Encoded holds a Ref, and Opaque\(value, bits\)"):
        play(build(), process)
