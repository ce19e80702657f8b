"""Clients in processes of their own: the same run, whatever a client does to its process."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from netsim.errors import ProtocolError, UnsuitableError
from netsim.protocols.flower import client_pool
from tests.protocols.flower.small_apps import (
    CLIENTS,
    asking_server,
    instruction,
    played,
    recorded,
    strategic_server,
)

KNOWN = {"train_steps": 2, "evaluate_steps": 3}
pytest.importorskip("cloudpickle")


def drawing_client():
    """A client that draws, reads the clock, sleeps, keeps a count and has a time of its own."""
    app = ClientApp()

    @app.train()
    def on_train(message, context):
        import random
        import time as clock

        import torch

        before = context.state["n"]["n"] if "n" in context.state else 0
        context.state["n"] = MetricRecord({"n": before + 1})
        clock.sleep(0.25 * (context.node_id % 2))
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        draws = [random.random(), float(np.random.rand()), float(torch.rand(1))]  # noqa: NPY002
        numbers = {"n": before + 1, "at": clock.time(), "num-examples": 20}
        arrays = ArrayRecord([w + np.array([*draws, before])])
        content = RecordDict({"arrays": arrays, "metrics": MetricRecord(numbers)})
        return Message(content, reply_to=message)

    @app.evaluate()
    def on_evaluate(message, context):
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        numbers = {"first": float(w[0]), "num-examples": 10}
        return Message(RecordDict({"metrics": MetricRecord(numbers)}), reply_to=message)

    return app


@pytest.mark.slow
@pytest.mark.parametrize("known", [{}, KNOWN], ids=["replies tell", "known before"])
def test_any_number_of_processes_gives_the_same_run(known):
    """Also with clients that come and go; the numbers of the strategies, too, to the last bit."""
    results = []
    for workers in (0, 1, 2):
        found = []
        summary, _ = played(
            strategic_server(rounds=4, timeout=9.0, seen=found),
            drawing_client(),
            params={**known, "workers": workers},
            link={"latency_s": 0.1, "uplink_bps": 1e4, "downlink_bps": 1e5, "loss": 0.1},
            churn={"kind": "exponential", "mean_on_s": 30.0, "mean_off_s": 3.0},
        )
        numbers = [
            {k: dict(v) for k, v in part.items()}
            for part in (found[0].train_metrics_clientapp, found[0].evaluate_metrics_clientapp)
        ]
        arrays = found[0].arrays.to_numpy_ndarrays()[0].tobytes()
        results.append((summary["event_log_sha256"], summary["recorded"], numbers, arrays))
    assert results[0] == results[1] == results[2]


@pytest.mark.slow
def test_calls_of_known_time_are_made_beside_each_other(tmp_path):
    """Each client waits until all have been called, which one after the other would never be."""
    app, folder = ClientApp(), str(tmp_path)

    @app.train()
    def on_train(message, context):
        (Path(folder) / str(context.node_id)).touch()
        while len(list(Path(folder).iterdir())) < CLIENTS:
            threading.Event().wait(0.01)
        return Message(RecordDict({"metrics": MetricRecord({"k": 1.0})}), reply_to=message)

    def talk(grid):
        grid.send_and_receive([instruction(n) for n in grid.get_node_ids()])

    keys = {"train_steps": 1, "workers": CLIENTS, "call_limit_s": 60.0}
    found, _ = played(asking_server(talk), app, params=keys)
    assert recorded(found, "replies") == CLIENTS


def _waits_for_a_lock():
    lock = threading.Lock()
    with lock:
        lock.acquire()


def _waits_for_the_network():
    import socket

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    listening.accept()


def _computes_without_end():
    while True:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "told"),
    [
        (_waits_for_a_lock, "broken off after call_limit_s = 2 of wall time"),
        (_waits_for_the_network, "broken off after call_limit_s = 2 of wall time"),
        (_computes_without_end, "broken off after call_limit_s = 2 of wall time"),
        (lambda: os._exit(3), "the process that ran it ended with exit code 3"),
        (os.abort, "the process that ran it was killed by SIGABRT"),
    ],
    ids=["lock", "network", "loop", "exit", "abort"],
)
def test_a_client_that_never_answers_or_dies_is_an_error_reply(does, told):
    """The others' replies come, the run goes on, and the next call of the client does, too."""
    app, rounds = ClientApp(), []

    @app.train()
    def on_train(message, context):
        count = message.content["config"]["round"]
        if context.node_id == 1001 and count == 0:
            does()
        metrics = MetricRecord({"num-examples": 10})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    def talk(grid):
        from flwr.app import ConfigRecord

        for k in range(2):
            config = RecordDict({"config": ConfigRecord({"round": k})})
            got = grid.send_and_receive([Message(config, 1000 + i, "train") for i in range(3)])
            rounds.append([r.error.code if r.has_error() else 0 for r in got])

    found, _ = played(asking_server(talk), app, params={"call_limit_s": 2.0})
    assert rounds == [[0, 8, 0], [0, 0, 0]]
    assert any(told in w for w in found["warnings"]), found["warnings"]


def test_a_server_that_never_comes_back_ends_the_run_in_words(monkeypatch):
    from netsim.protocols.flower import app_thread

    monkeypatch.setattr(app_thread, "PATIENCE_S", 0.1)
    release = threading.Lock()
    release.acquire()
    monkeypatch.setattr(client_pool, "_Worker", _NoProcess)
    with pytest.raises(ProtocolError, match=r"for 0\.2 s of wall time; lengthen call_limit_s"):
        played(asking_server(lambda grid: release.acquire()), ClientApp(), params=LIMIT)
    release.release()


LIMIT = {"call_limit_s": 0.2}


class _NoProcess:
    """In place of a process that nothing is asked of."""

    def __init__(self, begin):
        pass

    def kill(self):
        pass

    discard = kill


def test_objects_that_no_other_process_can_have_are_refused():
    app, lock = ClientApp(), threading.Lock()

    @app.query()
    def on_query(message, context):
        return lock

    with pytest.raises(UnsuitableError, match=r"put the app into a folder .*, or leave both keys"):
        played(asking_server(lambda grid: None), app, params={"workers": 1})


PARENT = """
import threading, time
from flwr.clientapp import ClientApp
from netsim.protocols.flower.apps import FlowerApp
from netsim.protocols.flower.client_pool import ClientPool

pool = ClientPool(FlowerApp(None, (None, ClientApp()), {}), 0, 2, None)
for worker in pool._workers:
    worker.until_ready()
print(*(worker._process.pid for worker in pool._workers), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_no_process_outlives_its_run_by_ten_seconds():
    """By a signal that the run can't answer."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    assert len(children) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until_s = time.monotonic() + 10.0
    while any(is_alive(child) for child in children) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert not any(is_alive(child) for child in children)


def is_alive(process: int) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


FOLDER_APP = {
    "pyproject.toml": """
        [project]
        name = "counted"
        [tool.flwr.app.components]
        serverapp = "counted.parts:server"
        clientapp = "counted.parts:client"
        """,
    "counted/__init__.py": "",
    "counted/parts.py": """
        import random
        from flwr.app import Message, MetricRecord, RecordDict
        from flwr.clientapp import ClientApp
        from flwr.serverapp import ServerApp
        server, client, DRAWN = ServerApp(), ClientApp(), random.random()

        @server.main()
        def main(grid, context):
            got = grid.send_and_receive([Message(RecordDict(), 1001, "query")])
            assert got[0].content["m"]["lazy"] == 7
            assert got[0].content["m"]["drawn"] == DRAWN

        @client.query()
        def on_query(message, context):
            from counted.lazy import seven
            metrics = MetricRecord({"lazy": seven(), "drawn": DRAWN})
            return Message(RecordDict({"m": metrics}), reply_to=message)
        """,
    "counted/lazy.py": "def seven():\n    return 7\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_an_app_in_a_folder_is_imported_alike(tmp_path, monkeypatch, workers):
    """With the same draws at import, and modules that are imported late."""
    from netsim.protocols.flower import apps

    monkeypatch.setattr(apps, "_folders", {})
    for name, text in FOLDER_APP.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    apps.add_folder(tmp_path)
    keys = {"app": "counted", "workers": workers}
    found, _ = played(None, None, params=keys)
    assert recorded(found, "replies") == 1
