"""Killed at any change of the file system, or a disk full from it on: one command completes it.

`crash_points.py` beside this file tries one point after the other and says what it takes for
complete: the files and rows of an undisturbed run, `verify` without a difference, nothing left
behind, and nothing for another `resume` to do.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("crash_points.py")
ROOT = str(Path(__file__).parents[2])


def tried(folder, what, how, every, first):
    environment = {**os.environ, "PYTHONPATH": ROOT, "OMP_NUM_THREADS": "1"}
    environment.pop("NETSIM_DATA", None)
    command = [sys.executable, str(SCRIPT), str(folder), what, how, str(every), str(first)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def require_complete(found, least):
    assert found["points"] >= least, "fewer changes are seen than a run makes"
    assert found["unseen"] == [], "files that were written past those who watch"
    assert found["tried"] > 0
    assert found["killed"] > 0 or not found["copies"], "no process was killed in earnest"
    assert found["wrong"] == {}


@pytest.mark.slow
def test_a_run_that_is_killed_before_a_change_is_completed(tmp_path):
    """Of all that can lie on the disk every other one, some sixty."""
    found = tried(tmp_path, "run", "killed", 2, 1)
    require_complete(found, 120)
    assert found["tried"] >= 50


@pytest.mark.slow
def test_a_run_whose_disk_is_full_from_a_change_on_is_completed(tmp_path):
    require_complete(tried(tmp_path, "run", "full", 2, 1), 60)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "least"), [("killed", 30), ("full", 15)])
def test_the_end_of_a_sweep_is_completed(tmp_path, how, least):
    require_complete(tried(tmp_path, "sweep", how, 1, 1), least)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "full"])
def test_several_algorithms_are_completed_from_some_points(tmp_path, how):
    require_complete(tried(tmp_path, "several", how, 16, 3), 100)
