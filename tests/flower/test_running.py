"""A notebook plays a ServerApp and a ClientApp over a scenario."""

import random
import threading
import time

import pytest

pytest.importorskip("flwr")

from flwr.app import Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

import netsim
import netsim.flower
from netsim.recording import run_folder

server_app, client_app = ServerApp(), ClientApp()
SEEN = []


@server_app.main()
def main(grid, context):
    SEEN.append(dict(context.run_config))
    grid.send_and_receive([Message(RecordDict(), node, "query") for node in grid.get_node_ids()])


@client_app.query()
def on_query(message, context):
    return Message(RecordDict(), reply_to=message)


def test_objects_play_over_a_scenario(tmp_path):
    scenario = netsim.Scenario(
        horizon_s=10.0,
        nodes={"count": 3, "groups": [{"name": "s", "count": 1, "role": "server"}]},
        exchange={"schedule": "periodic", "period_s": 10.0},
        algorithm=[{"kind": "flower", "run_config": {"a": 1}}],
    )
    keys = {"run_config": {"b": 2.0}, "out": tmp_path / "run"}
    netsim.flower.run(server_app, client_app, scenario, **keys)
    assert SEEN[-1] == {"a": 1, "b": 2.0}
    assert run_folder.summary(tmp_path / "run")["recorded"]["flower_replies"]["mean"] == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([("a", 1)], r"run_config: .*must be a mapping"),
        ({"a": None}, r"run_config: 'a' = None: .*true or false, a finite number or a text"),
        ({"a": [1]}, r"run_config: 'a' = \[1\]"),
        ({"a": float("nan")}, "run_config: 'a' = nan"),
        ({1: 2}, "run_config: 1 = 2: the name must be a text"),
    ],
)
def test_a_run_config_of_no_type_of_flowers_is_refused(tmp_path, wrong, said):
    scenario = netsim.Scenario(horizon_s=1.0, nodes={"count": 2}, algorithm={"kind": "flower"})
    with pytest.raises(netsim.ScenarioError, match=said):
        netsim.flower.run(server_app, client_app, scenario, run_config=wrong, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((client_app, server_app), r"server_app: .* is no ServerApp of Flower"),
        ((server_app, "a:app"), "client_app: 'a:app' is no ClientApp of Flower"),
    ],
)
def test_what_is_no_app_is_refused(parts, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        netsim.flower.run(*parts, "quickstart")
    with pytest.raises(netsim.ScenarioError, match=said):
        netsim.flower.resume("runs/one", *parts)


BROKEN_OFF = []


@client_app.train()
def on_train(message, context):
    n = context.state["n"]["n"] + 1 if "n" in context.state else 1
    if BROKEN_OFF and context.node_id == 1001 and n == 4:
        raise BROKEN_OFF.pop()
    context.state["n"] = MetricRecord({"n": n})
    numbers = MetricRecord({"num-examples": 32, "n": n, "u": random.random()})
    return Message(RecordDict({"m": numbers}), reply_to=message)


rounds_app = ServerApp()


@rounds_app.main()
def play_rounds(grid, context):
    for _ in range(6):
        for node in grid.get_node_ids():
            grid.send_and_receive([Message(RecordDict(), node, "train")])
        random.random()


def recorded_of(folder):
    found = run_folder.summary(folder)
    return found["event_log_sha256"], found["recorded"]


THREE = {
    "horizon_s": 60.0,
    "nodes": {"count": 3, "groups": [{"name": "s", "count": 1, "role": "server"}]},
    "link": {"latency_s": 0.3},
    "exchange": {"schedule": "periodic", "period_s": 10.0},
    "compute": {"kind": "fixed", "step_s": 1.0},
    "algorithm": [{"kind": "flower"}],
}  # fmt: skip
"""Two clients and a server."""


@pytest.mark.slow
def test_a_run_of_objects_goes_on_where_it_was_broken_off(tmp_path):
    """With the state of its clients, to the last bit; what is done already is not resumed."""
    scenario = netsim.Scenario(**THREE)
    netsim.flower.run(rounds_app, client_app, scenario, out=tmp_path / "whole")
    BROKEN_OFF.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        netsim.flower.run(rounds_app, client_app, scenario, out=tmp_path / "parts")
    assert not BROKEN_OFF
    netsim.flower.resume(tmp_path / "parts", rounds_app, client_app)
    assert recorded_of(tmp_path / "parts") == recorded_of(tmp_path / "whole")
    assert recorded_of(tmp_path / "whole")[1]["flower_client_train_n"]["mean"] == 6


ASIDE = []


def test_an_app_in_a_second_thread_is_refused_and_the_first_keeps_its_clock(tmp_path):
    """The first to end would give the other one the machine's clock in the midst of its run."""

    def play_aside():
        try:
            netsim.flower.run(rounds_app, client_app, aside, out=tmp_path / "aside")
        except netsim.NetsimError as error:
            ASIDE.append(str(error))

    def once(event):
        if not ASIDE:
            thread = threading.Thread(target=play_aside)
            thread.start()
            thread.join()

    scenario = netsim.Scenario(**THREE)
    aside = scenario.replace(seed=1)
    before = time.time
    netsim.flower.run(rounds_app, client_app, scenario, out=tmp_path / "run", on_message=once)
    assert "another thread plays a Flower app" in ASIDE[0]
    assert time.time is before
    netsim.flower.run(rounds_app, client_app, aside, out=tmp_path / "again")
