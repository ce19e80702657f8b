"""Flower apps play in virtual time; every number here is Flower's own, or of pencil and paper."""

import hashlib
import random
import threading
import time
from time import sleep

import numpy as np
import pytest

flwr = pytest.importorskip("flwr")

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict  # noqa: E402 - after the skip
from flwr.client import NumPyClient  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.common.serde import message_to_proto  # noqa: E402
from flwr.server import ServerAppComponents, ServerConfig  # noqa: E402
from flwr.server.strategy import FedAvg as LegacyFedAvg  # noqa: E402
from flwr.serverapp import Grid, ServerApp, strategy  # noqa: E402

from netsim.errors import ProtocolError  # noqa: E402
from netsim.protocols.flower import apps  # noqa: E402
from netsim.scenario.kinds import kinds_of  # noqa: E402
from netsim.testing import AlgorithmCase, algorithms  # noqa: E402
from tests.protocols.flower.small_apps import (  # noqa: E402
    CLIENTS,
    SERVER,
    STEP_S,
    asking_server,
    instruction,
    played,
    quadratic_client,
    recorded,
    strategic_server,
)


class DirectGrid(Grid):
    """A Grid that calls the clients at once."""

    def __init__(self, client):
        self._client, self._count = client, 0
        self._contexts = {}

    def set_run(self, run):
        pass

    @property
    def run(self):
        return None

    def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self):
        return [1000 + i for i in range(CLIENTS)]

    def push_messages(self, messages):
        raise NotImplementedError

    def pull_messages(self, message_ids):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        return [self._client(m, self._context(m.metadata.dst_node_id)) for m in messages]

    def _context(self, node):
        from flwr.app import Context

        where = {"partition-id": node - 1000, "num-partitions": CLIENTS}
        return self._contexts.setdefault(node, Context(1, node, where, RecordDict(), {}))


@pytest.fixture
def identity():
    from flwr.supercore.task_identity import TaskIdentity

    before = dict(vars(TaskIdentity))
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    yield
    for key in ("_run_id", "_node_id", "_task_id"):
        setattr(TaskIdentity, key, before[key])


@pytest.mark.parametrize("kind", ["FedAvg", "FedProx", "FedAdam", "FedMedian", "FedYogi"])
def test_an_ideal_network_gives_the_numbers_of_calls_without_a_network(kind, identity):
    """Against a loop that hands Flower's messages to the clients directly."""
    keys = {"proximal_mu": 0.1} if kind == "FedProx" else {}
    found, alone = [], []
    server = strategic_server(getattr(strategy, kind), seen=found, **keys)
    client = quadratic_client(lambda partition: 10 * (partition + 1))
    played(server, client)
    from flwr.app import Context

    strategic_server(getattr(strategy, kind), seen=alone, **keys)(
        DirectGrid(client), Context(1, 1, {}, RecordDict(), {})
    )
    for part in ("train_metrics_clientapp", "evaluate_metrics_clientapp"):
        got, wanted = getattr(found[0], part), getattr(alone[0], part)
        assert len(got) == len(wanted) == 2
        for number in wanted:  # of replies in another order a sum has another last bit
            assert dict(got[number]) == pytest.approx(dict(wanted[number]), rel=1e-12)
    ours, theirs = (r[0].arrays.to_numpy_ndarrays()[0] for r in (found, alone))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_round_takes_what_links_and_processors_take():
    """Down, two steps of training, up: bytes of Flower's encoding over the rates."""
    times, sizes = [], []

    def talk(grid):
        (node, *_) = grid.get_node_ids()
        before_s = time.time()
        (reply,) = grid.send_and_receive([instruction(node)])
        times.append(time.time() - before_s)
        sizes.append(8 * message_to_proto(reply).ByteSize())

    link = {"latency_s": 0.25, "uplink_bps": 1e4, "downlink_bps": 1e5}
    found, messages = played(asking_server(talk), quadratic_client(), link=link)
    assert found["messages"]["delivered"] == 2
    down = next(m for m in messages if m.src == CLIENTS)
    up = next(m for m in messages if m.src != CLIENTS)
    assert up.bits == sizes[0]
    wanted_s = 2 * 0.25 + 2 * STEP_S + down.bits / 1e4 + up.bits / 1e4
    assert times[0] == pytest.approx(wanted_s, abs=1e-6)  # float dates hold a quarter of it


def test_twice_the_same_and_nothing_is_left_behind():
    """Two runs in one process; then `time`, flwr and the global generators are as before."""
    import flwr.app.message.message as messages

    client = quadratic_client()
    before = time.sleep, time.time, messages.now, flwr.server.server.concurrent, random.getstate()
    hashes = [played(strategic_server(), client)[0]["event_log_sha256"] for _ in range(2)]
    after = time.sleep, time.time, messages.now, flwr.server.server.concurrent, random.getstate()
    assert hashes[0] == hashes[1]
    assert before == after
    assert [t.name for t in threading.enumerate() if "ServerApp" in t.name] == []


def test_a_client_that_raises_is_an_error_reply_and_a_warning():
    app, replies = ClientApp(), []

    @app.train()
    def on_train(message, context):
        raise ValueError("no data today")

    def talk(grid):
        replies.extend(grid.send_and_receive([instruction(n) for n in grid.get_node_ids()]))

    found, *_ = played(asking_server(talk), app)
    assert [r.error.code for r in replies] == [2] * CLIENTS
    assert "no data today" in replies[0].error.reason
    assert any("ValueError: no data today (test_play.py:" in w for w in found["warnings"])
    assert recorded(found, "errors") == CLIENTS


def test_a_server_that_raises_ends_the_run_with_its_line():
    def talk(grid):
        raise KeyError("weights")

    with pytest.raises(ProtocolError, match=r"ServerApp raised KeyError: 'weights' \(test_play"):
        played(asking_server(talk), quadratic_client())


@pytest.mark.parametrize("rest", [lambda: sleep(8.0), lambda: time.sleep(8.0)])
def test_a_client_that_sleeps_works_so_long(rest):
    """By either way to call it, and on a device of half the speed twice as long."""
    app, times = ClientApp(), []

    @app.query()
    def on_query(message, context):
        began_s = time.monotonic()
        rest()
        assert time.monotonic() - began_s == pytest.approx(8.0)
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        for node in sorted(grid.get_node_ids()):
            began_s = time.perf_counter()
            grid.send_and_receive([instruction(node, "query")])
            times.append(time.perf_counter() - began_s)

    groups = [{"name": "slow", "count": 1, "speed": 0.5}, {"name": "c", "count": 2}, SERVER]
    played(asking_server(talk), app, nodes={"count": CLIENTS + 1, "groups": groups})
    assert times == pytest.approx([16.0, 8.0, 8.0])


def test_a_client_that_does_not_answer_is_missing_or_expired():
    """By the timeout of the call, and by the time to live of the message."""
    app, found = ClientApp(), []

    @app.query()
    def on_query(message, context):
        if context.node_config["partition-id"] == 1:
            time.sleep(1e6)
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        began_s = time.time()
        first = grid.send_and_receive(
            [instruction(n, "query") for n in sorted(grid.get_node_ids())], timeout=5.0
        )
        found.append((time.time() - began_s, [r.metadata.src_node_id for r in first]))
        began_s = time.time()
        late = grid.send_and_receive([instruction(1001, "query", ttl=7.0)])
        found.append((time.time() - began_s, [r.has_error() and r.error.code for r in late]))

    played(asking_server(talk), app)
    assert found[0] == (pytest.approx(5.0, abs=1e-6), [1000, 1002])
    assert found[1] == (pytest.approx(7.0, abs=1e-6), [4])


def test_push_and_pull_need_no_barrier():
    """A reply comes when it is there; a poll without a sleep takes time, too."""
    came = []

    def talk(grid):
        nodes = sorted(grid.get_node_ids())
        ids = set(grid.push_messages([instruction(n) for n in nodes]))
        while ids:
            for reply in grid.pull_messages(ids):
                came.append((round(time.time() % 1e6, 3), reply.metadata.src_node_id))
                ids.discard(reply.metadata.reply_to_message_id)

    examples = {0: 30, 1: 10, 2: 20}
    played(asking_server(talk), quadratic_client(examples.__getitem__))
    assert [node for _, node in came] == [1001, 1002, 1000]
    steps = np.diff([t for t, _ in came])
    np.testing.assert_allclose(steps, STEP_S, atol=2e-3)


def test_an_app_that_has_not_ended_is_told_of():
    short = {"horizon_s": 20.0, "metrics": {"every_s": 20.0}}
    exchange = {"schedule": "periodic", "period_s": 9.0}
    endless = strategic_server(rounds=10**6)
    found, *_ = played(endless, quadratic_client(), exchange=exchange, **short)
    assert any("the ServerApp had not ended" in w for w in found["warnings"])


def test_replies_that_name_no_examples_are_told_of():
    app = ClientApp()

    @app.train()
    def on_train(message, context):
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        grid.send_and_receive([instruction(1000)])

    found, *_ = played(asking_server(talk), app)
    assert any("no metric num-examples" in w for w in found["warnings"])
    assert found["local_steps"] == 0


def test_a_thread_of_the_apps_own_is_refused_in_words():
    def talk(grid):
        def ask():
            with pytest.raises(ProtocolError, match="virtual time has one course"):
                grid.send_and_receive([instruction(1000)])

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    with pytest.raises(ProtocolError, match="virtual time has one course"):
        played(asking_server(talk), quadratic_client())


class Legacy(NumPyClient):
    """A client of Flower's legacy form."""

    def __init__(self, partition):
        self._partition = partition

    def get_parameters(self, config):
        return [np.zeros(4)]

    def fit(self, parameters, config):
        return [(parameters[0] + 10.0 * self._partition) / 2], 10 * (self._partition + 1), {}

    def evaluate(self, parameters, config):
        return float(parameters[0][0]), 10, {"own": 1.0}


def test_the_legacy_server_waits_for_all_at_once():
    """A round lasts as long as its slowest client, not as all of them together."""

    def server_fn(context):
        chosen = LegacyFedAvg(min_available_clients=CLIENTS)
        return ServerAppComponents(strategy=chosen, config=ServerConfig(num_rounds=2))

    server = ServerApp(server_fn=server_fn)
    client = ClientApp(client_fn=lambda c: Legacy(int(c.node_config["partition-id"])).to_client())
    found, *_ = played(server, client)
    rounds_s = 2 * (3 * STEP_S + 1 * STEP_S)  # training of 1, 2 and 3 steps; evaluation of 1
    assert recorded(found, "done_s") == pytest.approx(rounds_s)
    means = [10.0 * sum(p * (p + 1) for p in range(3)) / 6 / 2]
    means.append((means[0] + 10.0 * sum(p * (p + 1) for p in range(3)) / 6) / 2)
    assert recorded(found, "evaluate_loss") == pytest.approx(means[1])


def test_context_state_and_mods_go_on_from_message_to_message():
    counts = []

    def mod(message, context, call):
        reply = call(message, context)
        counts.append((context.node_id, context.state["n"]["n"]))
        return reply

    app = ClientApp(mods=[mod])

    @app.query()
    def on_query(message, context):
        before = context.state["n"]["n"] if "n" in context.state else 0
        context.state["n"] = MetricRecord({"n": before + 1})
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        for _ in range(2):
            grid.send_and_receive([instruction(n, "query") for n in (1000, 1001)])

    played(asking_server(talk), app)
    assert sorted(counts) == [(1000, 1), (1000, 2), (1001, 1), (1001, 2)]


def test_draws_follow_the_seed_and_go_on_where_the_app_has_seeded():
    """An app that seeds draws after a message what it would have drawn without one."""
    drawn = []

    def talk(grid):
        drawn.append(random.random())
        random.seed(7)
        grid.send_and_receive([instruction(1000)])
        drawn.append(random.random())

    for seed in (0, 0, 1):
        played(asking_server(talk), quadratic_client(), seed=seed)
    assert drawn[0] == drawn[2] != drawn[4]
    assert drawn[1::2] == [random.Random(7).random()] * 3


def test_lost_messages_are_sent_again():
    """With so many tries that hardly any is lost for good."""
    found, *_ = played(
        strategic_server(timeout=50.0),
        quadratic_client(),
        params={"tries": 12},
        link={"latency_s": 0.01, "loss": 0.5},
    )
    assert recorded(found, "replies") == CLIENTS
    assert found["messages"]["sent"] > 4 * CLIENTS * 2


def test_names_of_the_app_become_names_of_metrics():
    app = ClientApp()

    @app.query()
    def on_query(message, context):
        metrics = MetricRecord({"a-b": 1.0, "a b": 2.0})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    with pytest.raises(ProtocolError, match="both become flower_client_query_a_b"):
        played(asking_server(lambda g: g.send_and_receive([instruction(1000, "query")])), app)


def test_a_message_is_as_it_was_when_it_was_sent():
    """A change that the server makes while a message is on its way stays with the server."""
    got = []
    app = ClientApp()

    @app.query()
    def on_query(message, context):
        got.append(hashlib.sha256(message.content["arrays"].to_numpy_ndarrays()[0]).hexdigest())
        return Message(RecordDict(), reply_to=message)

    def talk(grid):
        message = instruction(1000, "query")
        ids = grid.push_messages([message])
        message.content["arrays"] = ArrayRecord([np.ones(4)])
        time.sleep(3.0)
        assert len(grid.pull_messages(ids)) == 1

    played(asking_server(talk), app, link={"latency_s": 1.0})
    assert got == [hashlib.sha256(np.zeros(4)).hexdigest()]


def test_clients_go_off_and_come_back():
    """With batteries, too: who is off is not in reach, and the app plays on with the others."""
    found, *_ = played(
        strategic_server(rounds=8, timeout=5.0, min_train_nodes=1, min_evaluate_nodes=1),
        quadratic_client(),
        churn={"kind": "exponential", "mean_on_s": 20.0, "mean_off_s": 10.0},
        energy={"battery_j": 2.0, "compute": {"kind": "per_step", "joules": 0.1}},
        link={"latency_s": 0.1},
    )
    assert found["local_steps"] > 0
    assert recorded(found, "sent") >= 1


@pytest.mark.slow
def test_it_goes_on_after_an_interrupt():
    """The ServerApp and the clients are called again, and come to the same events."""
    nodes = {"count": CLIENTS + 1, "groups": [{"name": "c", "count": CLIENTS}, SERVER]}
    link = {"latency_s": 0.1, "uplink_bps": 1e4, "downlink_bps": 1e5}
    tables = {"nodes": nodes, "topology": {"kind": "hub"}, "link": link}
    case = AlgorithmCase(kinds_of(), "flower", {"batch_size": 10}, tables)
    with apps.given_app(strategic_server(rounds=9, timeout=3.0), quadratic_client()):
        algorithms.goes_on_after_an_interrupt(case)
