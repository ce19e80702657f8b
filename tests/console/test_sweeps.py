"""`netsim sweep` again in the same folder, in parts, and interrupted."""

import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from netsim.campaign import final_views, grid, sweep_folder, sweeping
from netsim.campaign.pool import SweepProgress
from netsim.campaign.sweeping import Session
from netsim.engine.interruption import USUAL
from netsim.errors import FolderError
from netsim.recording import checksums, folder_lock, status
from netsim.scenario import kinds

GRID = ("--over", "algorithm.local_steps=1,2", "--seeds", "0:2", "--jobs", "1", "--timing-only")


@pytest.fixture
def ok(netsim):
    def call(*arguments, **options):
        result = netsim(*arguments, **options)
        assert result.exit_code == 0, result.output
        return result

    return call


def without_wall_times(path):
    return [line for line in path.read_text().splitlines() if ",wall_s," not in line]


@pytest.mark.slow
def test_the_same_command_again_plays_what_is_missing(ok, here):
    out = here / "out"
    ok("sweep", "s.toml", *GRID, "--out", "out")
    whole = without_wall_times(out / "sweep.csv")
    kept = out / "local_steps=1" / "seed-0" / "alone" / "summary.json"
    before = kept.stat().st_mtime_ns
    half_done = out / "local_steps=2" / "seed-1"
    (half_done / "alone" / "summary.json").unlink()
    (out / "sweep.csv").unlink()
    result = ok("sweep", "s.toml", *GRID, "--out", "out")
    assert "4 runs, of which 3 are done, 1 at a time, into out" in result.stderr
    assert "4 of 4  local_steps=2, seed 1  done" in result.stderr
    assert without_wall_times(out / "sweep.csv") == whole
    assert kept.stat().st_mtime_ns == before
    aside = half_done.with_name("seed-1.unfinished-1") / "alone"
    assert (aside / "status.json").is_file()
    assert not (aside / "summary.json").exists()
    assert json.loads((out / "status.json").read_text())["done"] == 4


@pytest.mark.slow
def test_a_sweep_that_grew_is_the_sweep_asked_for_at_once(ok, here):
    few = ("--over", "algorithm.local_steps=2", "--seeds", "1:2", "--jobs", "1", "--timing-only")
    ok("sweep", "s.toml", *few, "--out", "grown", "-q")
    result = ok("sweep", "s.toml", *GRID, "--out", "grown")
    assert "4 runs, of which 1 is done" in result.stderr
    ok("sweep", "s.toml", *GRID, "--out", "whole", "-q")
    for name in ("sweep.csv", "scenario.toml"):
        grown, whole = (without_wall_times(here / out / name) for out in ("grown", "whole"))
        assert grown == whole
    assert "same" in ok("verify", "grown", "--no-rerun", algorithms=False).stdout


def test_a_run_that_was_taken_away_is_to_be_played(netsim, here, monkeypatch):
    """The sweep has ended, and yet there is something to go on with."""
    goes_on, out = [], here / "out"
    monkeypatch.setattr(sweeping, "go_on", lambda folder, *_: goes_on.append(folder))
    runs = [out / f"base/seed-{seed}/local" for seed in (0, 1)]
    for folder in (*runs, out):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "status.json").write_text('{"state": "done"}')
        (folder / "summary.json").write_text("{}")
        checksums.write(folder)
    tables = "[algorithm]\nname = 'local'\n[sweep]\nseeds = [0, 1]\n"
    (out / "scenario.toml").write_text(tables)
    checksums.write(out)
    assert "there is nothing to go on with" in netsim("resume", "out").stdout
    assert not goes_on
    shutil.rmtree(runs[1])
    assert netsim("resume", "out").exit_code == 0
    assert goes_on == [Path("out")]


@pytest.mark.slow
def test_other_arguments_in_the_same_folder_are_refused_by_what_differs(ok, netsim):
    ok("sweep", "s.toml", *GRID, "--out", "out", "-q")
    result = netsim("sweep", "s.toml", *GRID, "--set", "nodes.count=5", "--out", "out")
    assert result.exit_code == 2
    assert "--out out: holds another sweep: nodes.count = 4 there, 5 here" in result.stderr


def test_the_whole_sweep_is_in_its_folder_from_the_beginning(netsim, here, monkeypatch):
    seen = []
    from netsim.campaign import pool

    def play(job, *_):
        seen.append((here / "out" / "scenario.toml").read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "play_job", play)
    result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    assert result.exit_code == 130
    assert 'over = { "algorithm.local_steps" = ' in seen[0] or "[sweep.over]" in seen[0]
    assert "0 of 4 runs had ended" in result.stderr
    assert "to go on: the same command with --out out" in result.stderr
    assert json.loads((here / "out" / "status.json").read_text())["state"] == "interrupted"


@pytest.mark.slow
def test_a_part_begins_beside_another_that_makes_the_folder_first(ok, here, monkeypatch):
    """The other part defines the sweep while this one still reads its algorithms."""
    part = ("sweep", "s.toml", *GRID, "--out", "parts", "-q", "--only")
    others, load = [], kinds.kinds_of

    def load_beside_another(folders=()):
        if not others:
            others.append("1/2")
            ok(*part, "1/2")
        return load(folders)

    monkeypatch.setattr(kinds, "kinds_of", load_beside_another)
    ok(*part, "2/2")
    assert others
    assert (here / "parts" / "sweep.csv").exists()


@pytest.mark.slow
def test_parts_of_a_sweep_are_one_sweep(ok, netsim, here):
    ok("sweep", "s.toml", *GRID, "--out", "whole", "-q")
    first = ok("sweep", "s.toml", *GRID, "--out", "parts", "--only", "1/3")
    assert "2 of 4 runs of the whole sweep are done; netsim compare parts" in first.stdout
    compared = netsim("compare", "parts", algorithms=False)
    assert "1 of 2" in compared.stdout
    assert "not there: local_steps=1, seed 1, alone: not begun" in compared.stderr
    assert not (here / "parts" / "sweep.csv").exists()
    ok("sweep", "s.toml", *GRID, "--out", "parts", "--only", "3/3", "-q")
    ok("sweep", "s.toml", *GRID, "--out", "parts", "--only", "2/3", "-q")
    tables = [without_wall_times(here / name / "sweep.csv") for name in ("whole", "parts")]
    assert tables[0] == tables[1]
    assert json.loads((here / "parts" / "status-3-of-3.json").read_text())["done"] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--only", "0/3", "--out", "x"), "--only 0/3: is not of the form I/N with I from 1 to N"),
        (("--only", "1/2"), "--only: needs --out DIR, the folder that all parts share"),
    ],
)
def test_a_part_that_makes_no_sense(netsim, written, arguments, expected):
    result = netsim("sweep", "s.toml", *GRID, *arguments)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert written() == set()


@pytest.mark.slow
def test_a_folder_that_another_sweep_plays_into_is_refused(ok, netsim, here, monkeypatch):
    ok("sweep", "s.toml", *GRID, "--out", "out", "-q")
    part = here / "out" / sweep_folder.PARTS / "1-of-2"
    part.mkdir(parents=True)
    folder_lock.acquire(part)
    try:
        result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    finally:
        folder_lock.release(part)
    assert result.exit_code == 2
    assert "plays part 1-of-2 of this sweep; wait for its end" in result.stderr


def test_sigterm_ends_a_sweep_as_ctrl_c_does(netsim, here):
    def strike():
        while not list((here / "out").glob("*/seed-0/alone/status.json")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=strike, daemon=True).start()
    result = netsim("sweep", "s.toml", *GRID, "--set", "horizon_s=2000", "--out", "out")
    assert result.exit_code == 143
    assert "to go on: the same command with --out out" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_a_sweep_is_planned_says_that_nothing_was_written(
    netsim, written, monkeypatch, number
):
    monkeypatch.setattr(grid, "points_of", lambda over: signal.raise_signal(number))
    result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    assert result.exit_code == 128 + number
    assert "interrupted: nothing was written" in result.stderr
    assert not written()
    assert signal.getsignal(number) is USUAL[number]


def test_a_signal_before_the_first_run_says_what_is_there(netsim, here, monkeypatch):
    """The folder says what the sweep plays by then, so something was written."""
    monkeypatch.setattr(Session, "play", lambda self: signal.raise_signal(signal.SIGTERM))
    result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    assert result.exit_code == 143
    assert "0 of 4 runs had ended" in result.stderr
    assert "to go on: the same command with --out out" in result.stderr
    assert (here / "out" / "scenario.toml").is_file()


def test_a_second_signal_while_tables_are_written_does_not_hide_what_is_there(
    netsim, here, monkeypatch
):
    monkeypatch.setattr(Session, "play", lambda self: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(Session, "sum_up", lambda *_: signal.raise_signal(signal.SIGTERM))
    result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    assert result.exit_code == 143
    assert "0 of 4 runs had ended" in result.stderr


@pytest.mark.parametrize("when", ["while it plays", "while tables are written"])
def test_what_ends_a_sweep_is_in_its_status_on_a_full_disk(netsim, here, monkeypatch, when):
    """`status.json` is long enough while a sweep plays to be written over."""

    def is_full(*_, **__):
        monkeypatch.setattr(status, "write_text", is_full)
        raise FolderError("out/that: can't be written: No space left on device")

    def ends(session):
        session._told = SweepProgress(None, here / "out" / "status.json", 4, 0)
        if when == "while it plays":
            is_full()

    monkeypatch.setattr(Session, "play", ends)
    monkeypatch.setattr(final_views, "conclude_sweep", is_full)
    monkeypatch.setattr(sweeping, "has_results", lambda *_: True)
    result = netsim("sweep", "s.toml", *GRID, "--out", "out")
    assert result.exit_code == 1
    said = status.read(here / "out")
    assert (said["state"], said["running"]) == ("failed", {})
    assert said["error"] == "out/that: can't be written: No space left on device"


@pytest.mark.slow
def test_a_search_is_kept_and_gone_on_with(ok, netsim, here):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    draw = ("--draw", "training.learning_rate=0.001:1:log", "--trials", "3", "--seeds", "0:1")
    how = ("--search", "optuna", "--select", "accuracy_validation", "--jobs", "1")
    ok("sweep", "s.toml", *draw, *how, "--out", "out", "-q")
    trials = pd.read_csv(here / "out" / "trials.csv")
    assert list(trials.point) == ["trial-000", "trial-001", "trial-002"]
    (here / "out" / "trials.csv").unlink()
    result = ok("sweep", "s.toml", *draw, *how, "--out", "out")
    assert "3 runs, of which 3 are done, into out" in result.stderr
    assert pd.read_csv(here / "out" / "trials.csv").equals(trials)
    compared = netsim("compare", "out", algorithms=False)
    assert compared.exit_code == 0, compared.output
    assert "trials: 3 done; trials.json lists them" in compared.stderr
    more = [*draw[:3], "5", *draw[4:], *how]
    assert "5 runs, of which 3 are done" in ok("sweep", "s.toml", *more, "--out", "out").stderr
    ok("sweep", "s.toml", *more, "--out", "at_once", "-q")
    grown, whole = (pd.read_csv(here / out / "trials.csv") for out in ("out", "at_once"))
    assert grown.equals(whole)


@pytest.mark.slow
def test_trials_over_two_keys_are_no_grid(ok, netsim, here):
    draw = ("--draw", "training.learning_rate=0.1:1", "--draw", "compute.step_s=0.1:0.2")
    how = ("--search", "random", "--trials", "2", "--select", "accuracy", "--jobs", "1")
    ok("sweep", "s.toml", *draw, *how, "--out", "out", "-q")
    refused = netsim("plot", "out", "--as", "response_map", algorithms=False)
    assert refused.exit_code == 2
    assert "trials of a search, which have no grid" in " ".join(refused.stderr.split())
    assert not list(here.glob("out-*"))


@pytest.mark.slow
def test_a_search_ends_bad_trials_at_their_evaluations(ok, here):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    draw = ("--draw", "training.learning_rate=0.5,0.4,0.3,0.00001", "--trials", "12")
    how = ("--search", "random", "--prune", "--jobs", "1", "--set", "metrics.every_s=1")
    ok("sweep", "s.toml", *draw, *how, "--out", "out")
    trials = json.loads((here / "out" / "trials.json").read_text())
    words = [trial["state"] for trial in trials]
    assert words[:5] == ["done"] * 5
    assert words.count("pruned") >= 1
    for trial in trials:
        run = here / "out" / trial["point"] / "seed-0" / "alone"
        assert json.loads((run / "status.json").read_text())["state"] == trial["state"]
        assert (trial["score"] is None) == (trial["state"] == "pruned")
    assert len(pd.read_csv(here / "out" / "trials.csv")) == words.count("done")
