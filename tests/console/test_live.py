"""`netsim run --watch`: the page while a run goes on."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from netsim.console import live

RUN = ("run", "s.toml", "-q", "--no-figures")
LONG = ("--set", "horizon_s=1e6", "--set", "metrics.every_s=10.0", "--algorithms", "algorithms")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]+/")


def got(address: str, what: str = "") -> bytes:
    """Return the answer of a live page's server."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.netloc, timeout=60)
    connection.request("GET", place.path + what)
    answer = connection.getresponse()
    assert answer.status == 200
    found = answer.read()
    connection.close()
    return found


def until(condition, wait_s: float = 60.0):
    """Wait until a condition gives something, and return it."""
    end_s = time.monotonic() + wait_s
    while not (found := condition()):
        assert time.monotonic() < end_s, "never"
        time.sleep(0.1)
    return found


@pytest.mark.slow
def test_a_watched_run_is_the_same_run_and_its_end_is_seen(netsim, here, monkeypatch):
    addresses, states, contents = [], [], []
    begin = live.LivePage.begin

    def begun(page, folder):
        begin(page, folder)
        addresses.append(page.address)
        looker.start()

    def look():
        while not (states and states[-1]["over"]):
            states.append(json.loads(got(addresses[0], "state")))
            if states[-1]["new"] or states[-1]["over"]:
                contents.append(json.loads(got(addresses[0], "content")))
            time.sleep(0.02)

    looker = threading.Thread(target=look, daemon=True)
    monkeypatch.setattr(live.LivePage, "begin", begun)
    watched = netsim(*RUN, "--out", "watched", "--watch")
    assert watched.exit_code == 0, watched.output
    looker.join(timeout=10)
    assert ADDRESS.search(watched.output)[0] == addresses[0]
    assert states[-1]["ended"] == "The run has ended."
    assert states[-1]["virtual_s"] == states[-1]["horizon_s"] == 4.0
    assert contents[-1]["outline"]["runs"] == [{"label": "alone", "notices": []}]
    assert contents[-1]["data"][0]
    alone = netsim(*RUN, "--out", "alone")
    assert alone.exit_code == 0, alone.output
    sums = [json.loads((here / f / "summary.json").read_text()) for f in ("watched", "alone")]
    assert sums[0]["event_log_sha256"] == sums[1]["event_log_sha256"]
    assert sums[0]["accuracy"] == sums[1]["accuracy"]
    assert netsim("verify", "watched", "--no-rerun").exit_code == 0


def test_a_failed_run_says_so_to_who_watches(netsim, here, monkeypatch):
    ended = []
    monkeypatch.setattr(live.Pages, "end", lambda page, wait_s: ended.append(page._told()))
    assert netsim(*RUN, "--watch", "--set", "algorithm.trouble='error'").exit_code == 1
    assert ended[0]["failed"]
    assert "on purpose" in ended[0]["ended"]


@pytest.mark.parametrize("option", [("--watch",), ("--watch-port", "0"), ("--log", "tensorboard")])
def test_a_sweep_is_not_watched(netsim, here, option):
    (here / "s.toml").write_text((here / "s.toml").read_text() + "[sweep]\nseeds = [0, 1]\n")
    result = netsim(*RUN, "--out", "out", *option)
    assert result.exit_code == 2
    assert "is about single runs" in result.output
    assert not (here / "out").exists()


def workers_of(pid: int) -> list[int]:
    """Processes that make the pages of a run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid and b"live_worker" in command:
            found.append(int(entry.name))
    return found


@pytest.fixture
def begun(here):
    """Begin runs in processes of their own; they are gone at the end."""
    runs = []

    def begin(out: str) -> tuple[subprocess.Popen, str]:
        command = [sys.executable, "-m", "netsim", *RUN, *LONG, "--watch", "--out", out]
        searched = os.pathsep.join(path or "." for path in sys.path)
        run = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": searched},
        )  # fmt: skip
        runs.append(run)
        line = next(filter(ADDRESS.search, run.stderr), "")
        assert line, "it gave no address"
        return run, ADDRESS.search(line)[0]

    yield begin
    for run in runs:
        run.kill()
        run.wait()
        run.stderr.close()


@pytest.mark.slow
def test_two_runs_are_watched_at_once_and_leave_nothing_behind(begun, here):
    first, second = begun("a"), begun("b")
    assert first[1] != second[1]
    for run, address in (first, second):
        until(lambda address=address: json.loads(got(address, "state")).get("new"))
        found = json.loads(got(address, "content"))
        assert found["outline"]["runs"] == [{"label": "alone", "notices": []}]
        state = json.loads(got(address, "state"))
        assert 0 < state["virtual_s"] < state["horizon_s"]
        assert not state["over"]
        assert len(workers_of(run.pid)) == 1
    for (run, _), number in ((first, signal.SIGKILL), (second, signal.SIGINT)):
        (worker,) = workers_of(run.pid)
        run.send_signal(number)
        assert run.wait(timeout=60) == (-number if number == signal.SIGKILL else 130)
        until(lambda worker=worker: not Path(f"/proc/{worker}").exists())
    assert json.loads((here / "b" / "status.json").read_text())["state"] == "interrupted"
    resumed = subprocess.Popen(
        [sys.executable, "-m", "netsim", "resume", "b", "-q", "--watch"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
    )  # fmt: skip
    try:
        address = ADDRESS.search(next(filter(ADDRESS.search, resumed.stderr)))[0]
        until(lambda: json.loads(got(address, "state")).get("virtual_s", 0) > 0)
        assert b"<main" in got(address)
    finally:
        resumed.kill()
        resumed.wait()
        resumed.stderr.close()
