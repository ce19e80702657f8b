"""A verb that nothing waits for is refused before anything is played, with line and remedy."""

import pytest

import netsim
from netsim.errors import ScenarioError
from netsim.scenario import forgotten_yields
from netsim.scenario.kinds import kinds_of

SOURCE = '''"""Waits."""
from netsim import api


class Params(api.Params):
    """None."""


def processes(node, params):
    return [on_wakeup(node)]


def pause(node):
    yield node.sleep(1.0)


def on_wakeup(node):
    while True:
        yield node.wakeup()
        {line}
'''
LINE = SOURCE[: SOURCE.index("{line}")].count("\n") + 1
CALLS = {
    "sleep": "node.sleep(0.5)",
    "wakeup": "node.wakeup()",
    "tick": "node.tick()",
    "receive": "node.receive(api.Model, timeout_s=1.0)",
    "gather": "node.gather(api.Model, [1], timeout_s=1.0)",
    "ask": "node.ask(1, None, api.Model, timeout_s=1.0)",
    "reachable": "node.reachable()",
    "exchange": "node.exchange(None)",
    "train": "node.train(node.initial(), steps=1)",
    "work": "node.work(steps=1)",
    "decide": "node.decide({})",
    "value": "node.value(1.0)",
}


def written(tmp_path, line):
    """A folder with an algorithm that has a line."""
    path = tmp_path / "own" / "waits.py"
    path.parent.mkdir()
    path.write_text(SOURCE.replace("{line}", line))
    return path.parent


def test_every_verb_that_gives_an_event_is_looked_at():
    assert forgotten_yields._verbs() == CALLS.keys()


@pytest.mark.parametrize("call", [*CALLS.values(), "pause(node)"])
def test_a_call_that_nothing_waits_for_is_refused(tmp_path, call):
    with pytest.raises(ScenarioError) as found:
        kinds_of((written(tmp_path, call),))
    [line] = str(found.value).splitlines()
    word = "yield from" if call == "pause(node)" else "yield"
    assert f"waits.py: line {LINE}: nothing waits for {call}" in line
    assert f"write {word} {call}" in line


HELPER = """
from netsim import api

def pause(node):
    yield node.sleep(1.0)

class Pauses:
    def pause(self, node):
        yield node.sleep(1.0)

    @staticmethod
    def other(node):
        yield node.sleep(1.0)

    def both(self, node):
        {line}
        yield from self.pause(node)
"""
ALGORITHM = """
from netsim import api
from . import _helper
from ._helper import pause, Pauses

class Params(api.Params):
    pass

def processes(me, params):
    return [on_wakeup(me)]

def on_wakeup(me):
    while True:
        yield me.wakeup()
        {line}
"""


@pytest.mark.parametrize(
    ("file", "line", "word"),
    [
        ("own", "pause(me)", "yield from"),
        ("own", "_helper.pause(me)", "yield from"),
        ("own", "Pauses.other(me)", "yield from"),
        ("own", "_helper.Pauses.other(me)", "yield from"),
        ("own", "api.drop_late(me, [])", "yield from"),
        ("own", "me.sleep(1.0)", "yield"),  # as `processes` calls the node
        ("_helper", "node.sleep(1.0)", "yield"),
        ("_helper", "self.pause(node)", "yield from"),
    ],
)
def test_helpers_are_looked_at_and_known(tmp_path, file, line, word):
    for name, source in (("own", ALGORITHM), ("_helper", HELPER)):
        text = source.replace("{line}", line if name == file else "pass")
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(ScenarioError) as found:
        kinds_of((tmp_path,))
    [told] = str(found.value).splitlines()
    assert f"{file}.py: line " in told
    assert f"nothing waits for {line}, so no time passes: write {word} {line}" in told


@pytest.mark.parametrize("line", ["list(pause(me))", "len([])", "[].sort()", "print(me.now_s)"])
def test_other_calls_are_not(tmp_path, line):
    (tmp_path / "_helper.py").write_text(HELPER.replace("{line}", "pass"))
    (tmp_path / "own.py").write_text(ALGORITHM.replace("{line}", line))
    assert "own" in kinds_of((tmp_path,))


@pytest.mark.parametrize(
    "line",
    [
        "yield node.sleep(0.5)",
        "yield from pause(node)",
        "due = node.sleep(0.5); yield due",
        "node.broadcast(None)",
        "node.send(1, None)",
        "node.publish(node.initial(), 'trained')",
    ],
)
def test_what_is_waited_for_or_kept_is_not(tmp_path, line):
    assert "waits" in kinds_of((written(tmp_path, line),))


def test_a_class_of_a_session_is_looked_at_too():
    class Waits:
        Params = netsim.api.Params

        @staticmethod
        def processes(node, params):
            return [Waits.on_wakeup(node)]

        @staticmethod
        def on_wakeup(node):
            while True:
                yield node.wakeup()
                node.sleep(0.5)

    with pytest.raises(ScenarioError, match=r"line \d+: nothing waits for node.sleep\(0.5\)"):
        netsim.Scenario(algorithm=Waits)
