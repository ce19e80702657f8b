"""One process at a time: what a lock refuses, what may replace it, and races of real processes."""

import errno
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netsim.errors import FolderBusyError, FolderLostError
from netsim.recording import folder_lock, status

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
    assert len(list(tmp_path.iterdir())) == 2
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def taken_by_another(folder):
    """Put the lock of another process in the place of this one's; give back its open file."""
    (folder / ".lock-held").unlink()
    (folder / ".lock-by").write_text(json.dumps({"pid": 7, "host": "far"}))
    file = (folder / ".lock-held").open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def test_a_lock_may_be_nested_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with folder_lock.held(Path()), folder_lock.held(tmp_path):
        assert folder_lock.holder(tmp_path).pid == os.getpid()
    assert names(tmp_path) == []
    assert folder_lock.holder(tmp_path) is None


def test_another_thread_of_the_process_is_no_holder(tmp_path):
    """It would write into the same files, as another process would."""

    def tried() -> str:
        try:
            with folder_lock.held(tmp_path):
                return "held"
        except FolderBusyError as error:
            return str(error)

    with ThreadPoolExecutor(1) as other:
        with folder_lock.held(tmp_path):
            assert (
                "another thread of this process is writing into it" in other.submit(tried).result()
            )
            assert tried() == "held"
        assert other.submit(tried).result() == "held"


@pytest.mark.slow
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
    assert before.pid
    with folder_lock.held(dead, take_over=True) as replaced:
        assert replaced == before
        assert folder_lock.holder(dead).pid == os.getpid()
        assert folder_lock.left_by(dead) is None
    assert names(dead) == []


@pytest.mark.parametrize(
    ("told", "as_living", "as_dead"), [("running", "running", "cut off"), ("failed",) * 3]
)
def test_a_run_whose_process_is_gone_is_not_running(dead, told, as_living, as_dead):
    """The state of a run that plays stands there after it was killed, too."""
    status.write(dead, {"state": told})
    assert status.state(dead) == as_dead
    with folder_lock.held(dead, take_over=True):
        assert status.state(dead) == as_living


@pytest.mark.parametrize("text", ["", '{"pid"', '{"pid": 1e999, "host": []}', "[" * 4000])
def test_a_damaged_name_is_an_unknown_process(tmp_path, text):
    (tmp_path / ".lock-by").write_text(text)
    with pytest.raises(FolderBusyError, match="left by an unknown process"):
        folder_lock.acquire(tmp_path)
    with folder_lock.held(tmp_path, take_over=True):
        pass
    assert names(tmp_path) == []


def test_a_process_that_was_killed_before_it_wrote_its_name_left_nothing(tmp_path):
    (tmp_path / ".lock-held").write_text("")
    with folder_lock.held(tmp_path):
        pass
    assert names(tmp_path) == []


def test_looking_takes_the_lock_from_nobody(tmp_path):
    """Whoever comes while others look gets the folder, and they are told of nobody else."""
    (tmp_path / ".lock-held").write_text("")
    looking, seen = threading.Event(), set()

    def look():
        while not looking.is_set():
            seen.add(folder_lock.holder(tmp_path))
            time.sleep(0.001)  # else three threads in a loop keep the fourth from its turn

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            with folder_lock.held(tmp_path):
                pass
            (tmp_path / ".lock-held").touch()
    finally:
        looking.set()
        for thread in threads:
            thread.join()
    assert {found.pid for found in seen if found} <= {0, os.getpid()}


def test_where_there_is_no_flock_the_process_that_is_named_decides(tmp_path, monkeypatch):
    def flock(file, operation):
        raise OSError(errno.ENOSYS, "not there")

    (tmp_path / ".lock-held").write_text("")
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    monkeypatch.setattr(fcntl, "flock", flock)
    for pid, host, is_alive in (
        (os.getpid(), socket.gethostname(), True),
        (child.pid, socket.gethostname(), False),
        (child.pid, "far", True),
    ):
        (tmp_path / ".lock-by").write_text(json.dumps({"pid": pid, "host": host}))
        assert (folder_lock.holder(tmp_path) is not None) == is_alive


def test_without_fcntl_filelock_tells_whether_a_process_holds_the_folder(tmp_path, monkeypatch):
    """On Windows there is no `fcntl`."""
    (tmp_path / ".lock-held").write_text("")
    monkeypatch.setattr(folder_lock, "fcntl", None)
    assert folder_lock.holder(tmp_path) is None
    with folder_lock.held(tmp_path):
        assert folder_lock.holder(tmp_path).pid == os.getpid()
    assert folder_lock.holder(tmp_path) is None


def test_a_folder_that_was_removed_or_taken_over_is_no_longer_written_into(tmp_path):
    gone, taken = tmp_path / "gone", tmp_path / "taken"
    for folder in (gone, taken):
        folder.mkdir()
        folder_lock.acquire(folder)
        folder_lock.require_held(folder / "x")
    shutil.rmtree(gone)
    with taken_by_another(taken):
        with pytest.raises(FolderLostError, match="gone: was removed"):
            folder_lock.require_held(gone / "messages" / "part")
        with pytest.raises(FolderLostError, match="taken over by process 7 on far"):
            folder_lock.require_held(taken / "x")
        folder_lock.require_held(tmp_path / "x")
        for folder in (gone, taken):
            folder_lock.release(folder)
        assert names(taken) == [".lock-by", ".lock-held"]


@pytest.mark.slow
@pytest.mark.parametrize("take_over", [False, True])
def test_of_processes_that_come_at_once_one_gets_the_folder(tmp_path, request, take_over):
    if take_over:
        assert request.getfixturevalue("dead") == tmp_path
    processes = [start(tmp_path, take_over) for _ in range(8)]
    said = race(processes)
    end(processes)
    assert sorted(line[:4] for line in said) == ["busy"] * 7 + ["mine"]
    assert list(tmp_path.iterdir()) == []
