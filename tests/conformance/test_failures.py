"""An algorithm that goes wrong is told where: node, virtual time, process, line."""

import re

import pytest

from netsim.errors import ComputeError, DeadlockError, NetsimError, ProtocolError

START = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    yield node.sleep(0.25)
    theta = node.initial()
    if node.id == 3:
"""


def line(body: str) -> str:
    return START + f"        {body}\n"


def test_a_crash_names_node_time_and_process(play_source):
    with pytest.raises(
        NetsimError, match=r"^node 3 at 0.25 s in on_start: ZeroDivisionError: division by zero$"
    ):
        play_source(line("1 / 0"))


@pytest.mark.slow
def test_a_crash_of_a_handler_names_it(play_source):
    source = """
def processes(node, params):
    node.serve(Note, {handler})
    return [on_start(node)] if node.id == 0 else []

def plain(received):
    return received.msg.number + {{}}

def slow(node):
    def waits(received):
        yield node.sleep(0.5)
        return Note(received.msg.missing)
    return waits

def on_start(node):
    yield node.ask(1, Note(), Note, timeout_s=1.0)
"""
    where = r"^node 1 at 0.1 s in plain: TypeError"
    with pytest.raises(NetsimError, match=where):
        play_source(source.format(handler="plain"), link={"latency_s": 0.1})
    where = r"^node 1 at 0.6 s in waits: AttributeError"
    with pytest.raises(NetsimError, match=where):
        play_source(source.format(handler="slow(node)"), link={"latency_s": 0.1})
    where = r"^node 1 at 0.1 s in <lambda>: a reply is a Message or None, not int$"
    with pytest.raises(ProtocolError, match=where):
        play_source(source.format(handler="lambda _: 3"), link={"latency_s": 0.1})


def test_a_crash_before_the_first_event_names_the_node(play_source):
    source = "def processes(node, params):\n    node.peers[node.id]\n    return []\n"
    with pytest.raises(NetsimError, match=r"^node 4 at 0 s in processes: IndexError"):
        play_source(source)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mistake", ["node.mix([theta], [1.0])", "node.peers", "None"])
def test_a_yield_of_something_that_takes_no_time_is_refused_at_its_line(play_source, mistake):
    with pytest.raises(ProtocolError, match=r"^node 3 at 0.25 s in on_start: yield of") as caught:
        play_source(line(f"yield {mistake}"))
    frames = []
    error = caught.value
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        error = error.__cause__
    assert any(name.endswith("toy.py") for name in frames)


def test_a_failing_loss_names_node_time_and_job(play_source):
    source = line("yield node.train(theta, steps=2, loss=bad_loss)") + (
        "\ndef bad_loss(model, batch, learned):\n    return model(batch.x) @ model(batch.x)\n"
    )
    with pytest.raises(
        ComputeError, match=r"node 3 at 0.25 s: training of 2 steps with loss bad_loss failed"
    ):
        play_source(source)


@pytest.mark.parametrize(
    ("body", "waits_for"),
    [
        ("yield node.condition().wait()", "a condition"),
        ("yield node.wakeup(); yield node.exchange(Note(), to=[]); ", None),
    ],
)
def test_a_deadlock_names_who_waits_for_what(play_source, body, waits_for):
    source = f"""
def processes(node, params):
    return [on_start(node), on_note(node)]

def on_start(node):
    yield node.sleep(0.5)
    if node.id in (1, 3):
        {body}

def on_note(node):
    yield node.receive(Note, timeout_s=None)
"""
    if waits_for is None:
        play_source(source)  # nodes that have ended, or only listen, are not waited for
        return
    with pytest.raises(DeadlockError) as caught:
        play_source(source)
    waits = rf"in on_start \(toy.py:\d+\) \(waits for {waits_for}\)"
    assert re.fullmatch(
        "deadlock at 0.5 s: nothing is left to happen, but these wait: "
        f"node 1 {waits}; node 3 {waits}",
        str(caught.value),
    )


def test_a_deadlock_across_exchanges_is_named(play_source):
    source = """
@dataclass(frozen=True)
class Other(Message):
    \"\"\"Never comes together with Note.\"\"\"

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    yield node.exchange(Note() if node.id else Other())
"""
    with pytest.raises(DeadlockError, match=r"\(toy.py:\d+\) \(waits for exchange\(Other"):
        play_source(source, "rounds")


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("node.compute(lambda x: x, theta)", "a lambda"),
        ("node.compute(inner(), theta)", "a function defined inside another"),
        ("node.compute(Thing().method, theta)", "a bound method"),
        ("node.compute(functools.partial(torch.relu), theta)", "a partial"),
        ("yield node.train(theta, steps=1, loss=lambda m, b, l: 0)", "a lambda"),
        ("node.publish(theta, 'x', predict=lambda m, x: m(x))", "a lambda"),
    ],
)
def test_functions_that_could_see_more_than_their_arguments_are_refused(play_source, call, what):
    source = (
        line(call)
        + """
import functools

def inner():
    captured = 3
    def adds(x):
        return x + captured
    return adds

class Thing:
    def method(self, x):
        return x
"""
    )
    with pytest.raises(ProtocolError, match=rf"node 3 at 0.25 s .* is {what}") as caught:
        play_source(source)
    if what != "a partial":
        assert "toy.py, line " in str(caught.value)


@pytest.mark.parametrize("kind", ["'Note'", "Note()", "int", "Message"])
def test_what_is_no_message_class_is_refused_where_messages_of_it_are_asked_for(play_source, kind):
    """Nothing of it would ever come, and nobody would know why."""
    for call, key in (
        (f"receive({kind}, 1.0)", "receive: kind"),
        (f"gather({kind}, [1], 1.0)", "gather: kind"),
        (f"serve({kind}, print)", "serve: request"),
        (f"exchange({{}}, kind={kind})", "exchange: kind"),
        (f"withdraw({kind})", "withdraw: kind"),
    ):
        source = line(f"x = node.{call}\n        yield node.sleep(0.1)")
        if kind == "Message" and "withdraw" in key:
            play_source(source)  # all messages
            continue
        with pytest.raises(ProtocolError, match=rf"{key} = .* must be a message class.*toy\.py:"):
            play_source(source)


@pytest.mark.thinned(9)
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("node.value(theta)", None),
        ("node.value((theta, theta))", "more than 4096 numbers"),
        ("node.train(theta)", "give steps or epochs"),
        ("node.train(theta, steps=1, epochs=1)", "give steps or epochs"),
        ("node.compute(torch.add, theta, torch.ones(3))", "not raw tensors"),
        ("node.compute(torch.nonzero, theta)", "give like="),
        ("node.mix([theta], [0.5, 0.5])", "1 Refs but 2 weights"),
        ("node.mix([theta, theta.part('head')], [0.5, 0.5])", "shapes differ"),
        ("theta.part('tail')", "has no part 'tail'"),
        ("theta.with_part('head', theta.part('backbone'))", "part head has shape"),
        ("node.log_weights([0, 1], [1.0])", "2 ids but 1 weights"),
        ("node.publish(theta.part('head'), 'x')", "a whole model is needed"),
        ("node.train(theta.part('head'), steps=1)", "a whole model is needed"),
        ("[node.serve(Note, print) for _ in range(2)]", "serves Note already"),
        ("node.age(theta, 'version')", "must be seconds or versions"),
    ],
)
def test_misused_verbs_are_refused(play_source, call, problem):
    source = line(f"x = {call}\n        if isinstance(x, api.Ref): return\n        yield x")
    model = {"kind": "mlp", "hidden": [40]}  # 3,010 values
    if problem is None:
        play_source(source, model=model)
        return
    with pytest.raises(ProtocolError, match=f"node 3 at 0.25 s in on_start: .*{problem}"):
        play_source(source, model=model)


def test_an_unserved_request_is_refused(play_source):
    source = line("yield node.ask(1, Note(), Note, timeout_s=1.0)")
    with pytest.raises(
        ProtocolError, match=r"node 3 asked node 1 \(role node\) at 0.25 s for Note"
    ):
        play_source(source)


def test_a_reply_of_the_wrong_class_is_refused(play_source):
    source = line("yield node.ask(1, Note(), Model, timeout_s=1.0)").replace(
        "return [on_start", "node.serve(Note, lambda r: r.msg); return [on_start"
    )
    with pytest.raises(ProtocolError, match=r"node 1 answered with Note at 0.25 s, node 3 asked f"):
        play_source(source)


@pytest.mark.slow
def test_a_value_without_a_default_is_refused_under_timing_only(play_source):
    source = line("saw(node, 'number', (yield node.value(node.loss(theta){})))")
    with pytest.raises(ProtocolError, match="which --timing-only has not"):
        play_source(source.replace("{}", ""), timing_only=True)
    played = play_source(source.replace("(theta){}", "(theta), default=7.0"), timing_only=True)
    assert [s.value for s in played.saw("number")] == [7.0]


def test_a_server_has_no_data_to_train_on(play_source):
    groups = [{"name": "hubs", "count": 1, "role": "server"}]
    source = (
        line("pass")
        .replace("node.id == 3", "node.role == 'server'")
        .replace("pass", "yield node.train(theta, steps=1)")
    )
    with pytest.raises(ProtocolError, match="node 0 has no training data"):
        play_source(source, nodes={"count": 2, "groups": groups})
