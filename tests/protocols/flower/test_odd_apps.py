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


@pytest.mark.parametrize("examples", [float("nan"), float("inf"), -5, 2**62, 10.5, -float("inf")])
def test_a_number_of_examples_that_is_no_count_takes_no_time_and_is_told_of(examples):
    numbers = {"num-examples": examples}
    replies, found = asked_once(answering(lambda message: plain(message, **numbers)))
    assert not any(reply.has_error() for reply in replies.values())
    assert found["local_steps"] == CLIENTS - 1
    assert any("no metric num-examples that is a whole number" in w for w in found["warnings"])


def of_records(message, **records):
    content = RecordDict({name: MetricRecord(record) for name, record in records.items()})
    return Message(content, reply_to=message)


def test_metrics_of_one_key_in_several_records_are_all_recorded():
    """A key that one record has keeps its name; the record's stands before one of several."""
    first, second = {"loss": 1.0, "num-examples": 20}, {"loss": 3.0, "extra": 5.0}
    _, found = asked_once(answering(lambda m: of_records(m, a=first, b=second)))
    named = {
        key.removeprefix("flower_client_train_"): one["mean"]
        for key, one in found["recorded"].items()
        if key.startswith("flower_client_train_") and "examples" not in key
    }
    assert named == {"a_loss": 1.0, "b_loss": 3.0, "extra": 5.0}


@pytest.mark.parametrize("key", ["num-examples", "b.num-examples"])
def test_records_that_contradict_each_other_about_the_work_are_refused(key):
    def answer(message):
        return of_records(message, a={"num-examples": 20}, b={"num-examples": 40})

    client = answering(answer)
    if key == "num-examples":
        with pytest.raises(
            ProtocolError, match=r"a\.num-examples = 20\.0 and b\.num-examples = 40"
        ):
            asked_once(client)
        return
    _, found = asked_once(client, params={"examples_key": key})
    assert found["local_steps"] == 4  # the others name none


def test_lists_of_metrics_are_recorded_number_by_number():
    """Those that are too long are told of."""
    lists = {"per": [0.25, 0.75], "long": [0.0] * 300}
    _, found = asked_once(answering(lambda message: plain(message, **lists)))
    assert found["recorded"]["flower_client_train_per[1]"]["mean"] == 0.75
    assert not any("long" in name for name in found["recorded"])
    (told,) = [w for w in found["warnings"] if "client_train_long" in w]
    assert "which is not recorded" in told


@pytest.mark.parametrize("params", [{}, {"workers": 1}, {"train_steps": 6}], ids=str)
def test_a_client_that_raises_has_taken_the_time_that_is_known(params):
    """The time is that of its sleep, and of its steps where they are known. Its state comes back.

    The processes of `workers` get copies of the state, and so does Flower's own simulation.
    """
    if params.get("workers"):
        pytest.importorskip("cloudpickle")
    client, times, states = ClientApp(), [], []

    @client.train()
    def on_train(message, context):
        states.append(len(context.state))
        context.state["n"] = MetricRecord({"n": 1})
        time.sleep(5.0)
        raise ValueError(f"no data today, {len(context.state)} there")

    def talk(grid):
        for _ in range(2):
            began_s = time.time()
            (reply,) = grid.send_and_receive([instruction(1000)])
            times.append(time.time() - began_s)
            assert "1 there" in reply.error.reason

    found, _ = played(asking_server(talk), client, params=params)
    steps = params.get("train_steps", 0)
    assert times == pytest.approx([5.0 + 0.5 * steps] * 2)
    assert states in ([], [0, 0])
    (told,) = [w for w in found["warnings"] if "no data today" in w]
    assert ("its work took no time" in told) == (not steps)


def test_a_pull_of_what_is_not_there_is_flowers_error():
    """An app that waits for an answer that it has pulled already would wait for ever."""
    again = []

    def talk(grid):
        ids = grid.push_messages([instruction(1000)])
        time.sleep(50.0)
        assert len(grid.pull_messages(ids)) == 1
        again.extend(grid.pull_messages([*ids, "f" * 64]))

    played(asking_server(talk), quadratic_client())
    assert [one.has_error() for one in again] == [True, True]
    assert {one.metadata.reply_to_message_id for one in again} >= {"f" * 64}


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
    monkeypatch.setattr(step_watchdog, "LOOKED_AT_EVERY_S", 0.05)
    monkeypatch.setattr(step_watchdog, "LOOKS", 3)

    def compute():
        end_s = time.process_time_ns() + 400_000_000
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


def test_no_messages_have_no_replies_and_unknown_ones_an_error():
    found = {}

    def talk(grid):
        found["none"] = list(grid.send_and_receive([]))
        found["no ids"] = list(grid.pull_messages([]))
        found["unknown"] = list(grid.pull_messages(["f" * 64]))

    played(asking_server(talk), quadratic_client())
    (reply,) = found.pop("unknown")
    assert "there is no message fff" in reply.error.reason
    assert found == {"none": [], "no ids": []}


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
