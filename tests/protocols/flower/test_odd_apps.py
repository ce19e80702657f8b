"""Apps that do what none should: the user reads what it was, and the others play on."""

import os
import sys
import time

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import strategy

from netsim.engine import step_watchdog
from netsim.errors import ProtocolError
from netsim.protocols.flower import waiting
from tests.protocols.flower.small_apps import (
    CLIENTS,
    asking_server,
    instruction,
    played,
    quadratic_client,
    strategic_server,
)


def answering(answer):
    """A ClientApp whose second client gives `answer(message)`, the others a plain reply."""
    app = ClientApp()

    @app.train()
    def on_train(message, context):
        if context.node_id == 1001:
            return answer(message)
        return plain(message)

    return app


def plain(message, **metrics):
    numbers = MetricRecord({"num-examples": 10, **metrics})
    return Message(RecordDict({"metrics": numbers}), reply_to=message)


def asked_once(client, **keys):
    """The replies to one round, by node, and the summary."""
    replies = {}

    def talk(grid):
        got = grid.send_and_receive([instruction(n) for n in sorted(grid.get_node_ids())])
        replies.update({r.metadata.src_node_id: r for r in got})

    found, _ = played(asking_server(talk), client, **keys)
    return replies, found


class MuteError(Exception):
    def __str__(self):
        raise ValueError


def raising(error):
    def answer(message):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda message: None, "TypeError: it returned NoneType, which is no Message"),
        (lambda message: "done", "TypeError: it returned str, which is no Message"),
        (lambda message: message, "ValueError: the Message that it returned replies to no message"),
        (lambda message: instruction(1000), "ValueError: the Message that it returned replies to"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(StopIteration()), "StopIteration"),
        (raising(GeneratorExit()), "GeneratorExit"),
        (raising(MuteError()), "MuteError: (its text can't be had)"),
        (raising(MemoryError("no room")), "MemoryError: no room"),
        (raising(ValueError("two\nlines")), "ValueError: two\\nlines"),
        (lambda message: plain(message)(), "TypeError: 'Message' object is not callable"),
    ],
)
def test_what_is_no_reply_is_an_error_reply_and_a_warning(answer, told):
    replies, found = asked_once(answering(answer))
    assert [replies[1000 + i].has_error() for i in range(CLIENTS)] == [False, True, False]
    (warning,) = [w for w in found["warnings"] if "the ClientApp" in w]
    assert told in warning


@pytest.mark.parametrize("examples", [float("nan"), float("inf"), -5, 2**62, -float("inf")])
def test_a_number_of_examples_that_is_no_count_takes_no_time_and_is_told_of(examples):
    numbers = {"num-examples": examples}
    replies, found = asked_once(answering(lambda message: plain(message, **numbers)))
    assert not any(reply.has_error() for reply in replies.values())
    assert found["local_steps"] == CLIENTS - 1
    assert any("no metric num-examples that is a count" in w for w in found["warnings"])


@pytest.mark.parametrize(
    "arrays",
    [
        [np.full(4, np.nan)],
        [],
        [np.zeros(0)],
        [np.zeros((0, 3)), np.float32(2.0)],
        [np.zeros(10**6)],
    ],
    ids=["nan", "none", "empty", "scalar", "large"],
)
def test_any_arrays_go_over_the_network_as_they_are(arrays):
    def answer(message):
        content = RecordDict({"arrays": ArrayRecord([np.asarray(a) for a in arrays])})
        content["metrics"] = MetricRecord({"num-examples": 10, "loss": float("nan")})
        return Message(content, reply_to=message)

    replies, found = asked_once(answering(answer))
    got = replies[1001].content["arrays"].to_numpy_ndarrays()
    assert len(got) == len(arrays)
    for one, other in zip(got, arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found["messages"]["delivered"] == 2 * CLIENTS


def test_folder_environment_and_path_belong_to_the_app(tmp_path, monkeypatch):
    """Changes of a client last as long as its call, those of the server as long as it."""
    monkeypatch.setenv("NETSIM_KEPT", "before")
    before = os.getcwd(), dict(os.environ), list(sys.path)
    seen, app = [], ClientApp()

    def change(value):
        seen.append((os.getcwd(), os.environ.get("NETSIM_KEPT"), "nowhere" in sys.path))
        os.chdir(tmp_path)
        os.environ["NETSIM_KEPT"] = value
        sys.path.append("nowhere")

    @app.query()
    def on_query(message, context):
        change("client")
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        for _ in range(2):
            change("server")
            grid.send_and_receive([instruction(1000, "query")])

    played(asking_server(talk), app)
    own = (before[0], "before", False)
    assert seen == [own, own, (str(tmp_path), "server", True), own]
    assert (os.getcwd(), dict(os.environ), list(sys.path)) == before


def test_training_may_take_any_processor_time(monkeypatch):
    """Longer than a step of a method may without tensor work: by client and by server."""
    monkeypatch.setattr(step_watchdog, "LOOKED_AT_EVERY_S", 0.01)
    monkeypatch.setattr(step_watchdog, "LOOKS", 3)

    def compute():
        end_s = time.process_time_ns() + 200_000_000
        while time.process_time_ns() < end_s:
            pass

    app = ClientApp()

    @app.query()
    def on_query(message, context):
        compute()
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        compute()
        (reply,) = grid.send_and_receive([instruction(1000, "query")])
        assert not reply.has_error(), reply.error

    played(asking_server(talk), app)


def test_a_long_wait_is_told_of_while_it_lasts(monkeypatch, capsys):
    """On standard error, by node and call, at growing intervals."""
    import threading

    monkeypatch.setattr(waiting.Waiting.__init__, "__defaults__", (0.05,))
    app, heard = ClientApp(), []

    @app.query()
    def on_query(message, context):
        for _ in range(100):
            threading.Event().wait(0.05)  # in wall time, as a network is waited for
            heard.append(capsys.readouterr().err)
            if any("node 1" in text for text in heard):
                break
        return Message(RecordDict(), reply_to=message)

    played(asking_server(lambda g: g.send_and_receive([instruction(1001, "query")])), app)
    told = "".join(heard)
    assert 'the ClientApp of node 1, called with "query", has taken' in told
    assert "call_limit_s of [algorithm] would set it an end" in told


SHORT = {
    "horizon_s": 20.0,
    "exchange": {"schedule": "periodic", "period_s": 9.0},
    "metrics": {"every_s": 20.0},
}


@pytest.mark.parametrize("keys", [{"fraction_train": 7.0}, {"min_train_nodes": CLIENTS + 1}])
def test_a_server_that_waits_for_clients_that_there_are_not_is_told_of(keys):
    found, _ = played(strategic_server(**keys), quadratic_client(), **SHORT)
    (warning,) = [w for w in found["warnings"] if "the ServerApp had not ended" in w]
    assert "Since 0 s it only asked which clients are in reach" in warning


def test_no_messages_have_no_replies():
    empty = {}

    def talk(grid):
        empty["none"] = list(grid.send_and_receive([]))
        empty["no ids"] = list(grid.pull_messages([]))
        empty["unknown"] = list(grid.pull_messages(["f" * 64]))

    played(asking_server(talk), quadratic_client())
    assert empty == {"none": [], "no ids": [], "unknown": []}


def test_replies_of_nan_give_what_flower_gives():
    """FedAvg over a NaN is NaN, and nothing of the run falls over it."""
    app = ClientApp()

    @app.train()
    def on_train(message, context):
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        arrays = ArrayRecord([w + (np.nan if context.node_id == 1001 else 1.0)])
        metrics = MetricRecord({"num-examples": 10, "loss": float("nan")})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    results = []
    server = strategic_server(strategy.FedAvg, seen=results, fraction_evaluate=0.0)
    found, _ = played(server, app)
    assert np.isnan(results[0].arrays.to_numpy_ndarrays()[0]).all()
    assert found["recorded"]["flower_train_loss"]["mean"] is None or np.isnan(
        found["recorded"]["flower_train_loss"]["mean"]
    )


def test_a_server_that_exits_ends_the_run_in_words():
    def talk(grid):
        sys.exit("enough")

    with pytest.raises(ProtocolError, match="the ServerApp raised SystemExit: enough"):
        played(asking_server(talk), quadratic_client())
