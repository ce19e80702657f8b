"""Common mistakes in the code of an algorithm are told with what to write instead."""

import re

import pytest

from netsim.errors import ComputeError, NetsimError, ProtocolError

START = """
class Params(Params):
    local_steps: int = 3

def processes(node, params):
    return [on_start(node, params)]

def on_start(node, params):
    yield node.sleep(0.25)
    theta = node.initial()
    if node.id == 3:
"""
YIELD = "did you forget yield"
VALUE = r"its numbers come by yield node\.value\(ref\)"


def test_processes_that_is_a_process_itself(play_source):
    source = "def processes(node, params):\n    while True:\n        yield node.wakeup()\n"
    with pytest.raises(ProtocolError) as caught:
        play_source(source)
    assert str(caught.value) == (
        "node 0 at 0 s in processes: processes is a process itself, for there is a yield in it; "
        "move its body to a function of its own and return a list: return [on_round(node, params)]"
    )


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (
            "on_start(node)",
            "processes returned the process on_start alone; return a list: return [on_start(...)]",
        ),
        (
            "None",
            "processes returned nothing; it returns a list: return [on_round(node, params)]",
        ),
        ("3", "processes returned 3; it returns a list of processes"),
        (
            "[on_start]",
            "process 1 of those returned is the function on_start itself; call it: on_start(node)",
        ),
        (
            "[on_start(node), print()]",
            "process 2 of those returned is None, no generator: a process is a function with "
            "`yield`, and every verb that takes time is waited for with yield; "
            "did you forget yield?",
        ),
    ],
)
def test_processes_that_returns_no_list_of_processes(play_source, returned, problem):
    source = (
        f"def processes(node, params):\n    return {returned}\n\n"
        "def on_start(node):\n    yield node.wakeup()\n"
    )
    with pytest.raises(ProtocolError) as caught:
        play_source(source)
    assert str(caught.value) == f"node 0 at 0 s in processes: {problem}"


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "line",
    [
        "theta = node.train(theta, steps=1).theta",
        "got = node.exchange(Model(theta)); got.values()",
        "[j for j in node.reachable()]",
        "a, b = node.value([theta.part('head')])",
        "len(node.reachable())",
        "if node.send(1, Note()): pass",
        "if node.value(node.loss(theta, 'train'), default=0.0) > 1: pass",
        "float(node.value(node.loss(theta, 'train'), default=0.0))",
        "node.send(1, Model(node.train(theta, steps=1)))",
        "node.compute(torch.relu, node.train(theta, steps=1))",
        "node.publish(node.train(theta, steps=1), 'trained')",
        "node.mix([node.train(theta, steps=1)], [1.0])",
    ],
)
def test_a_forgotten_yield(play_source, line):
    with pytest.raises(NetsimError) as caught:
        play_source(START + f"        {line}\n")
    assert re.match(r"node 3 at 0\.25 s in on_start: ", str(caught.value))
    assert YIELD in str(caught.value)


def test_a_forgotten_yield_from(play_source):
    inbox = "inbox = api.Inbox(node, Model, api.AbsenceParams())"
    source = START + f"        {inbox}\n        models = inbox.exchange(Model(theta))\n"
    with pytest.raises(NetsimError, match="did you forget yield from"):
        play_source(source + "        models.values()\n")
    with pytest.raises(ProtocolError, match="a process of its own is run by yield from"):
        play_source(source + "        yield models\n")


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "line",
    [
        "if node.loss(theta, 'train') > 1: pass",
        "if node.loss(theta, 'train'): pass",
        "float(node.loss(theta, 'train'))",
        "theta[0]",
        "sum(x for x in theta)",
        "theta.item()",
        "theta.mean()",
        "theta.tensor()",
        "node.compute(torch.relu, theta).tensor()",
        "abs(theta)",
        "theta ** 2",
        "max(node.loss(theta, 'train'), 0.0)",
    ],
)
def test_a_ref_taken_for_its_numbers(play_source, line):
    with pytest.raises(NetsimError, match=VALUE) as caught:
        play_source(START + f"        {line}\n")
    assert str(caught.value).startswith("node 3 at 0.25 s in on_start: ")


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "line",
    [
        "yield node.train(node.compute(torch.relu, theta), steps=1)",
        "node.loss(node.compute(torch.relu, theta), 'train')",
        "node.gradient(theta.part('head'), 'train')",
        "node.publish(node.compute(torch.relu, theta), 'mixed')",
        "node.compute(torch.relu, theta).part('head')",
        "node.hold(theta).replace(node.compute(torch.relu, theta))",
    ],
)
def test_a_value_where_a_model_is_needed(play_source, line):
    with pytest.raises(
        ProtocolError,
        match=r"a whole model is needed here, not a part or another value; node.compute "
        r"gives a model if you pass like=theta",
    ):
        play_source(START + f"        {line}\n")
    play_source(START + "        node.publish(node.compute(torch.relu, theta, like=theta), 'x')\n")


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("params.local_step", 'did you mean "local_steps"?'),
        ("params.zeta", "; it has local_steps"),
        ("node.brodcast(Note())", 'did you mean "broadcast"?'),
        ("api.Modell", 'did you mean "Model"?'),
        ("theta.parts", 'did you mean "part"?'),
        ("yield node.train(theta, steps=1, part='heads')", "has no part 'heads'"),
    ],
)
def test_a_misspelled_name(play_source, line, told):
    with pytest.raises(NetsimError) as caught:
        play_source(START + f"        {line}\n")
    assert told in str(caught.value)


@pytest.mark.thinned(9)
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("node.mix([theta, theta.part('head')], [0.5, 0.5])", "mix: shapes differ: .*"),
        ("theta + theta.part('head')", r"shapes differ: \(\d+,\) and \(\d+,\)"),
        ("theta.with_part('head', theta.part('backbone'))", "part head has shape .*"),
        ("theta + 1", "a Ref plus a int: both must be Refs; .*"),
        ("theta * theta", "a Ref times a Ref: .*"),
        (
            "yield node.train(theta, steps=1, anchor=(theta.part('head'), 1.0))",
            "train: the anchor must be .*",
        ),
        (
            "node.compute(torch.add, theta, theta.part('head'))",
            r"compute: the shape of .* from shapes \(\d+,\), \(\d+,\) .*",
        ),
    ],
)
def test_a_wrong_shape_names_the_line_that_asked(play_source, line, problem):
    with pytest.raises(ProtocolError, match=rf"{problem} \(toy.py:\d+\)") as caught:
        play_source(START + f"        {line}\n")
    number = int(re.search(r"\(toy.py:(\d+)\)", str(caught.value))[1])
    assert _line_of(caught.value, number) == line


def test_a_wrong_shape_that_shows_later_names_the_line_that_asked(play_source):
    ask = "yield node.train(theta, steps=1, loss=bad_loss)"
    source = (
        START
        + f"        {ask}\n\n"
        + "def bad_loss(model, batch, learned):\n    return (model(batch.x) @ batch.x).sum()\n"
    )
    where = r"training of 1 steps with loss bad_loss failed: RuntimeError.*; asked for at toy.py:"
    with pytest.raises(ComputeError, match=where) as caught:
        play_source(source)
    number = int(re.search(r"toy.py:(\d+)$", str(caught.value))[1])
    assert _line_of(caught.value, number) == ask


def _line_of(error, number):
    """A line of the toy that led to an error."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            path = trace.tb_frame.f_code.co_filename
            if path.endswith("toy.py"):
                with open(path, encoding="utf-8") as file:
                    return file.read().splitlines()[number - 1].strip()
            trace = trace.tb_next
        error = error.__cause__
    raise AssertionError("no line of the toy")
