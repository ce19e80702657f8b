"""One process at a time: what a lock refuses, what may replace it, and races of real processes."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from netsim.errors import FolderBusyError, FolderLostError
from netsim.recording import folder_lock, lock_holder

ROOT = str(Path(__file__).parents[2])
RACE = """
import sys, time
from pathlib import Path
from netsim.errors import FolderBusyError
from netsim.recording import folder_lock
folder, take_over = Path(sys.argv[1]), sys.argv[2] == "True"
sys.stdin.readline()
try:
    folder_lock.acquire(folder, take_over)
except FolderBusyError as error:
    print("busy", error, flush=True)
else:
    print("mine", flush=True)
sys.stdin.readline()
"""


def start(folder, take_over=False):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    code = [sys.executable, "-c", RACE, str(folder), str(take_over)]
    return subprocess.Popen(code, env={**os.environ, "PYTHONPATH": ROOT}, **pipes)


def race(processes):
    """Return the answers of several processes that go at once."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.stdout.readline() for process in processes]


def end(processes):
    for process in processes:
        process.communicate("\n")


@pytest.fixture
def dead(tmp_path):
    """A folder whose holder was killed."""
    process = start(tmp_path)
    assert race([process]) == ["mine\n"]
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert len(list(tmp_path.iterdir())) == 1
    return tmp_path


@pytest.fixture
def elsewhere(tmp_path):
    """A folder that another machine's process holds."""
    other = dataclasses.asdict(lock_holder.Holder(7, "far", "its boot", "1", "abc"))
    (tmp_path / ".lock-0").write_text(json.dumps(other))
    return tmp_path


def aged(folder, seconds):
    then = time.time() - seconds
    os.utime(folder / ".lock-0", (then, then))


def test_a_lock_may_be_nested_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with folder_lock.held(Path()), folder_lock.held(tmp_path):
        assert folder_lock.holder(tmp_path).pid == os.getpid()
    assert list(tmp_path.iterdir()) == []
    assert folder_lock.holder(tmp_path) is None


def test_a_second_process_is_told_who_holds_the_folder(tmp_path):
    with folder_lock.held(tmp_path):
        process = start(tmp_path, take_over=True)
        [said] = race([process])
        end([process])
        assert said.startswith(f"busy {tmp_path}: process {os.getpid()} on ")


def test_a_dead_process_lock_is_replaced_only_by_what_may(dead):
    with pytest.raises(FolderBusyError, match="no longer runs"):
        folder_lock.acquire(dead)
    before = folder_lock.left_by(dead)
    with folder_lock.held(dead, take_over=True) as replaced:
        assert replaced == before
        assert folder_lock.holder(dead).pid == os.getpid()
    assert list(dead.iterdir()) == []


def test_another_process_of_the_same_number_is_not_taken_for_the_holder(tmp_path):
    now = lock_holder.this_process()
    old = dataclasses.replace(now, started="1")
    (tmp_path / ".lock-0").write_text(json.dumps(dataclasses.asdict(old)))
    assert folder_lock.left_by(tmp_path) == old


def test_another_machines_lock_is_stale_without_a_heartbeat(elsewhere):
    with pytest.raises(FolderBusyError, match="process 7 on far is writing"):
        folder_lock.acquire(elsewhere, take_over=True)
    aged(elsewhere, lock_holder.STALE_AFTER_S + 5)
    with pytest.raises(FolderBusyError, match="no longer runs"):
        folder_lock.acquire(elsewhere)
    with folder_lock.held(elsewhere, take_over=True) as replaced:
        assert replaced.host == "far"


@pytest.mark.parametrize("ahead_s", [30, 3600, 1e9])
def test_a_lock_of_a_clock_that_is_ahead_is_stale_unless_it_beats(elsewhere, monkeypatch, ahead_s):
    monkeypatch.setattr(lock_holder, "HEARTBEAT_S", 0.05)
    aged(elsewhere, -ahead_s)
    beating = threading.Event()

    def beat():
        while not beating.wait(0.01):
            aged(elsewhere, -ahead_s - time.monotonic() % 1)

    heart = threading.Thread(target=beat)
    heart.start()
    with pytest.raises(FolderBusyError, match="process 7 on far is writing"):
        folder_lock.acquire(elsewhere, take_over=True)
    beating.set()
    heart.join()
    began_s = time.monotonic()
    assert folder_lock.left_by(elsewhere).host == "far"
    with folder_lock.held(elsewhere, take_over=True) as replaced:
        assert replaced.host == "far"
    assert time.monotonic() - began_s < 2 * 2.5 * 0.05 + 0.5
    assert list(elsewhere.iterdir()) == []


def test_a_draft_of_a_lock_that_a_killed_process_left_goes(tmp_path):
    (tmp_path / ".lock-new-abc").write_text('{"pid')
    with folder_lock.held(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_lock_is_somebodys(tmp_path):
    (tmp_path / ".lock-0").write_text('{"pid"')
    with pytest.raises(FolderBusyError, match="an unknown process"):
        folder_lock.acquire(tmp_path, take_over=True)


def test_the_heart_beats(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_holder, "HEARTBEAT_S", 0.01)
    with folder_lock.held(tmp_path):
        aged(tmp_path, 100)
        until = time.monotonic() + 5
        while time.time() - (tmp_path / ".lock-0").stat().st_mtime > 50:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_folder_that_was_removed_or_taken_over_is_no_longer_written_into(tmp_path):
    gone, taken = tmp_path / "gone", tmp_path / "taken"
    for folder in (gone, taken):
        folder.mkdir()
        folder_lock.acquire(folder)
        folder_lock.require_held(folder / "x")
    (gone / ".lock-0").unlink()
    gone.rmdir()
    other = dataclasses.replace(lock_holder.this_process(), host="far", token="other")
    (taken / ".lock-1").write_text(json.dumps(dataclasses.asdict(other)))
    with pytest.raises(FolderLostError, match="gone: was removed"):
        folder_lock.require_held(gone / "messages" / "part")
    with pytest.raises(FolderLostError, match="taken over by process"):
        folder_lock.require_held(taken / "x")
    folder_lock.require_held(tmp_path / "x")
    for folder in (gone, taken):
        folder_lock.release(folder)
    assert (taken / ".lock-1").exists()


@pytest.mark.parametrize("take_over", [False, True])
def test_of_processes_that_come_at_once_one_gets_the_folder(tmp_path, request, take_over):
    if take_over:
        assert request.getfixturevalue("dead") == tmp_path
    processes = [start(tmp_path, take_over) for _ in range(4)]
    said = race(processes)
    end(processes)
    assert sorted(line[:4] for line in said) == ["busy"] * 3 + ["mine"]
    assert list(tmp_path.iterdir()) == []
