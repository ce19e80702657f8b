"""Arguments of verbs: what can't be played as it is written is refused where it is written."""

import copy
import math
import types

import numpy as np
import pytest
import torch

from netsim import api
from netsim.errors import ProtocolError

NAN = math.nan


class Settings:
    """Anything whose attributes may change."""

    factor = 1.0


def times(value, settings):
    return value * settings.factor


def own_loss(model, batch, learned, settings):
    return settings.factor * batch.loss(model(batch.x))


def row(node):
    return node.initial().part("parameters")


def model(node):
    return api.Model(node.initial())


REFUSED = {
    "epochs with a fraction": (lambda n: n.train(n.initial(), epochs=1.5), "epochs = 1.5"),
    "steps with a fraction": (lambda n: n.train(n.initial(), steps=2.5), "steps = 2.5"),
    "steps that are a truth value": (lambda n: n.train(n.initial(), steps=True), "steps = True"),
    "a learning rate that is none": (
        lambda n: n.train(n.initial(), steps=1, learning_rate=NAN),
        "learning_rate = nan",
    ),
    "a learning rate in quotes": (
        lambda n: n.train(n.initial(), steps=1, learning_rate="0.1"),
        "learning_rate = '0.1'",
    ),
    "an anchor without end": (
        lambda n: n.train(n.initial(), steps=1, anchor=(n.initial(), math.inf)),
        "the anchor's strength = inf",
    ),
    "given without a loss": (lambda n: n.train(n.initial(), steps=1, given=[2.0]), "given is read"),
    "learn without a loss": (
        lambda n: n.train(n.initial(), steps=1, learn={"mask": row(n)}),
        "learn is read",
    ),
    "a model as the state of an optimizer": (
        lambda n: n.train(n.initial(), steps=1, optimizer=row(n)),
        "optimizer is a model or a part",
    ),
    "a split that there is not": (lambda n: n.loss(n.initial(), "Test"), "split is 'Test'"),
    "sleeping nan": (lambda n: n.sleep(NAN), "duration_s = nan"),
    "sleeping back": (lambda n: n.sleep(-1.0), "duration_s = -1.0"),
    "receiving until before": (lambda n: n.receive(api.Model, timeout_s=-1.0), "timeout_s = -1.0"),
    "gathering until nan": (lambda n: n.gather(api.Model, [1], timeout_s=NAN), "timeout_s = nan"),
    "asking until before": (
        lambda n: n.ask(1, model(n), api.Model, timeout_s=-2.0),
        "timeout_s = -2.0",
    ),
    "asking no times": (
        lambda n: n.ask(1, model(n), api.Model, timeout_s=1.0, tries=0),
        "tries = 0",
    ),
    "ages below 0": (lambda n: n.exchange(model(n), max_age_s=-1.0), "max_age_s = -1.0"),
    "computing backwards": (
        lambda n: n.compute(torch.abs, row(n), like=row(n), duration_s=-3.0),
        "duration_s = -3.0",
    ),
    "a value before now": (lambda n: n.value(row(n), duration_s=-1.0), "duration_s = -1.0"),
    "gathering from oneself": (lambda n: n.gather(api.Model, [0], timeout_s=1.0), "the node's own"),
    "gathering from nobody": (lambda n: n.gather(api.Model, [7], timeout_s=1.0), "has 7, which is"),
    "expecting oneself": (lambda n: n.exchange(model(n), expect=[0]), "expect has 0"),
    "expecting nobody": (lambda n: n.exchange(model(n), expect=[7]), "expect has 7"),
    "receivers given twice": (lambda n: n.exchange({1: model(n)}, to=[2]), r"to = \(2,\)"),
    "a stage of what is recorded": (
        lambda n: n.publish(n.initial(), "recorded"),
        "is the stage of numbers",
    ),
    "a stage of what is reported": (
        lambda n: n.publish(n.initial(), "reported"),
        "is the stage of numbers",
    ),
    "a stage without a name": (lambda n: n.publish(n.initial(), ""), "'' is no name"),
    "a stage of two lines": (lambda n: n.publish(n.initial(), "a\nb"), "is no name"),
    "an array that may change, for a prediction": (
        lambda n: n.publish(n.initial(), "x", predict=by_a_factor, given=[np.ones(1)]),
        "not raw tensors",
    ),
    "a file outside of the run": (lambda n: n.keep("../../x", row(n)), "no name for a file"),
    "a file in a folder": (lambda n: n.keep("a/b", row(n)), "no name for a file"),
    "a hidden file": (lambda n: n.keep("", row(n)), "no name for a file"),
    "draws below 0": (lambda n: n.uniform("u", -1), "n = -1"),
    "weights on nobody": (lambda n: n.log_weights([7], [1.0]), "ids has 7"),
    "weights of nobody": (lambda n: n.log_weights([1], [1.0], node=7), "node has 7"),
    "two weights on one": (lambda n: n.log_weights([1, 1], [0.5, 0.5]), "once"),
    "an object that may change": (
        lambda n: n.compute(times, row(n), Settings(), like=row(n)),
        "is a Settings",
    ),
    "an object that may change, for a loss": (
        lambda n: n.train(n.initial(), steps=1, loss=own_loss, given=[Settings()]),
        "is a Settings",
    ),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_that_cannot_be_played_as_written_is_refused(name, learn):
    verb, message = REFUSED[name]

    def process(node, found):
        verb(node)
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match=message):
        learn(process)


def test_what_is_whole_or_no_time_at_all_is_played(learn):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=np.int64(2))).theta
        found.nothing = yield node.receive(api.Model, timeout_s=0.0)
        found.draws = node.uniform("u", 0)

    found = learn(process)
    assert not torch.equal(found.theta, found.world.initial[0])
    assert found.nothing is None
    assert found.draws == []


@pytest.mark.parametrize("given", [list, np.array])
def test_logged_weights_are_those_of_the_call(learn, given):
    """A method may well keep one array of weights and change it in place."""

    def process(node, found):
        weights = given([0.25, 0.75])
        node.log_weights([0, 1], weights)
        found.due = node._publishing._weights_due[-1]
        weights[0] = 9.0
        yield node.sleep(0.0)

    assert learn(process).due.weights == (0.25, 0.75)


def by_a_factor(model, x, factors):
    return model(x) * factors[0]


def test_what_a_prediction_is_given_is_that_of_the_call(learn):
    """An evaluation calls `predict` later, when a method may have changed its list."""

    def process(node, found):
        factors = [1.0]
        node.publish(node.initial(), "mixed", predict=by_a_factor, given=[factors])
        factors[0] = -1.0
        found.given = node._publishing.last_published().given
        yield node.sleep(0.0)

    assert learn(process).given == ([1.0],)


FACTOR = 1.0
CALLS = 0


def scaled(value):
    global CALLS
    CALLS += 1  # its own: nobody else is told by it
    return by_the_factor(value)


def by_the_factor(value):
    return value * FACTOR


def scaled_loss(model, batch, learned):
    return FACTOR * batch.loss(model(batch.x))


VERBS = {
    "compute": lambda n: n.compute(scaled, n.initial(), like=n.initial()),
    "a loss": lambda n: n.train(n.initial(), steps=1, loss=scaled_loss),
    "a private loss": lambda n: n.train(
        n.initial(), steps=1, loss=scaled_loss, privacy=api.Privacy(1.0, 0.0)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before it is computed", "before the next call"])
@pytest.mark.parametrize("name", VERBS)
def test_a_name_that_a_function_reads_may_not_change_in_a_run(name, when, learn, monkeypatch):
    def process(node, found):
        found.first = VERBS[name](node)
        if when == "before the next call":
            yield node.value(node.loss(node.initial()))  # all that is pending is computed
        monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
        if when == "before the next call":
            VERBS[name](node)
        yield node.value(node.loss(node.initial()))

    with pytest.raises(ProtocolError, match=r"reads FACTOR of its module, which was 1.0 and is"):
        learn(process, model={"kind": "mlp", "hidden": [4]})


SETTINGS = types.ModuleType("settings")
SETTINGS.factor = 1.0
OBJECT = types.SimpleNamespace(row=types.SimpleNamespace(factor=1.0))
LIST, DEEP, SET = [1.0, 2.0], {"a": [1.0, {"b": 2.0}]}, {1.0}
ARRAY, TENSOR, LARGE = np.ones(3), torch.ones(3), torch.ones(5000)


class Box:
    factor = 1.0


READS = {  # what a function reads, and a change of it
    "of_a_module": (lambda v: v * SETTINGS.factor, lambda: setattr(SETTINGS, "factor", 2.0)),
    "of_an_object": (lambda v: v * OBJECT.row.factor, lambda: setattr(OBJECT.row, "factor", 2.0)),
    "of_a_class": (lambda v: v * Box.factor, lambda: setattr(Box, "factor", 2.0)),
    "a_list": (lambda v: v * LIST[0], lambda: LIST.append(3.0)),
    "a_whole_number": (lambda v: v * LIST[0], lambda: LIST.__setitem__(0, 1)),
    "a_dict": (lambda v: v * DEEP["a"][0], lambda: DEEP["a"][1].update(b=3.0)),
    "a_set": (lambda v: v * len(SET), lambda: SET.add(2.0)),
    "an_array": (lambda v: v * float(ARRAY[0]), lambda: ARRAY.fill(2.0)),
    "a_tensor": (lambda v: v * TENSOR[0], lambda: TENSOR.fill_(2.0)),
    "a_large_tensor": (lambda v: v * LARGE[0], lambda: LARGE.fill_(2.0)),
}
for _name, (_reads, _) in READS.items():  # functions of a module, as methods have them
    _reads.__name__ = _reads.__qualname__ = _name


@pytest.fixture
def values_come_back():
    """Leave the values of this module as they were."""
    held = copy.deepcopy((LIST, DEEP, SET))
    yield
    SETTINGS.factor = OBJECT.row.factor = Box.factor = 1.0
    LIST[:], DEEP["a"] = held[0], held[1]["a"]
    SET.intersection_update(held[2])
    for one in (ARRAY, TENSOR, LARGE):
        one[:] = 1.0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", READS)
@pytest.mark.usefixtures("values_come_back")
def test_whatever_a_function_reads_of_its_module_may_not_change_in_a_run(kind, learn):
    reads, change = READS[kind]

    def process(node, found):
        node.compute(reads, node.initial(), like=node.initial())
        change()
        yield node.value(node.loss(node.initial()))

    with pytest.raises(ProtocolError, match=f"{kind} reads .* of its module, which was"):
        learn(process, model={"kind": "mlp", "hidden": [4]})


def by_the_setting(model, x):
    return model(x) * SETTINGS.factor


@pytest.mark.usefixtures("values_come_back")
def test_what_predicts_is_watched_too(learn):
    def process(node, found):
        node.publish(node.initial(), "mixed", predict=by_the_setting)
        SETTINGS.factor = 2.0
        yield node.value(node.loss(node.initial()))

    with pytest.raises(ProtocolError, match=r"by_the_setting reads SETTINGS\.factor of its module"):
        learn(process)


MEMO: dict[str, float] = {}


def filled_once():
    MEMO.setdefault("factor", 1.0)
    return MEMO


def by_the_memo(value):
    return value * MEMO["factor"] if filled_once() else value


def test_a_table_that_functions_fill_themselves_is_theirs(learn):
    def process(node, found):
        first = node.compute(by_the_memo, node.initial(), like=node.initial())
        yield node.value(node.loss(node.initial()))
        node.compute(by_the_memo, first, like=first)
        yield node.value(node.loss(node.initial()))

    MEMO.clear()
    learn(process)


def test_names_that_stay_and_a_functions_own_count_are_read(learn):
    def process(node, found):
        found.first = VERBS["compute"](node)
        yield node.value(node.loss(node.initial()))
        found.second = VERBS["compute"](node)

    found = learn(process)
    assert torch.equal(found.first, found.second)
    assert CALLS > 0


@pytest.mark.parametrize(
    ("keep", "name"), [("theta", "theta"), ("features", "labels"), ("head", "head.weight")]
)
def test_what_the_scenario_keeps_is_not_overwritten_by_a_method(learn, keep, name):
    def process(node, found):
        node.keep("mine", row(node))
        node.keep(name, row(node))
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match=rf"kept/{name}.npz is what \[metrics\] keep"):
        learn(process, metrics={"every_s": 100.0, "keep": [keep]})


def test_a_metric_that_is_measured_is_not_recorded_before_its_first_evaluation(learn):
    def process(node, found):
        node.record("macro_f1", 7.0)
        node.publish(node.initial(), "mixed")
        yield node.sleep(0.0)

    task = {"kind": "classification", "also": ["macro_f1"]}
    with pytest.raises(ProtocolError, match="macro_f1 is a metric that is measured"):
        learn(process, task=task)


@pytest.mark.parametrize(
    ("who", "missing"), [({0}, None), ({0, 1}, "1 of 3 nodes"), ({0, 1, 2}, None)]
)
def test_a_main_metric_that_some_nodes_record_is_warned_of(build, play, who, missing):
    """One node's number is the run's, as a server's; of several it is a mean."""

    def process(node):
        if node.id in who:
            node.record("reached", 1.0)
        node.publish(node.initial(), "mixed")
        yield node.sleep(1.0)

    built = build(metrics={"every_s": 50.0, "main": "reached"})
    told = play(built, process).evaluator.without_main()
    if missing is None:
        assert told == []
    else:
        (one,) = told
        assert f'main = "reached": {missing} have recorded none, node 2 first' in one
