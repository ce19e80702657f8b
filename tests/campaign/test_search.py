"""Trials as Optuna decides on them, kept over interruptions."""

import errno
import json
import math
import sys
from importlib import import_module

import pytest

from netsim.campaign import grid as sweep
from netsim.campaign import search, sweep_results
from netsim.campaign.grid import Outcome
from netsim.campaign.play_job import Evaluation
from netsim.campaign.sweep_results import best_trials
from netsim.engine.runner import RunFailedError
from netsim.errors import FolderError, ScenarioError
from netsim.scenario import check
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of
from netsim.scenario.sweep import Draw

pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'netsim-dfl[optuna]'")

SMALL = {
    "name": "s",
    "horizon_s": 10.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits", "validation": 0.2},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
}
RATE = "training.learning_rate"
DRAW = {RATE: {"low": 0.001, "high": 1.0, "log": True}, "training.batch_size": [4, 8, 16]}


@pytest.fixture
def begun(tmp_path):
    """(trials, changes) -> a search in the folder of this test, new or gone on with."""

    def begin(trials=6, scenario=SMALL, **changes):
        table = {"trials": trials, "draw": DRAW, "seeds": [0, 1], **changes}
        draft = Draft("s", {**scenario, "sweep": table})
        whole = check(draft, kinds_of())
        return search.Search(draft, whole, sweep.plan(draft, whole, tmp_path, ()), tmp_path)

    return begin


def goodness(job):
    """Best at a rate of 0.1, on whatever seed."""
    values = job.point.values
    rate = values.get(RATE, values.get(f"algorithm.local.{RATE}"))
    return 0.9 - 0.1 * abs(math.log10(rate) + 1.0) + 0.01 * job.seed


@pytest.fixture
def play(write_run):
    """(search, most) -> plays so many runs, without playing; returns them."""

    def go(found, most=1000):
        jobs = []
        while len(jobs) < most and (job := found.next_job()) is not None:
            score = {"accuracy_validation": {"mean": goodness(job)}}
            write_run(job.folder / job.names[0], **score)
            found.ended(Outcome(job))
            jobs.append(job)
        return jobs

    return go


def test_each_trial_plays_its_seeds_and_is_judged_by_their_mean(begun, play, tmp_path):
    found = begun(3)
    jobs = play(found)
    assert [(j.point.label, j.seed) for j in jobs] == [
        (f"trial-{k:03d}", seed) for k in range(3) for seed in (0, 1)
    ]
    assert all(j.folder == tmp_path / j.point.label / f"seed-{j.seed}" for j in jobs)
    assert all(j.draft.raw["training"]["learning_rate"] == j.point.values[RATE] for j in jobs)
    recorded = sweep_results.read_trials(tmp_path)
    assert [t["state"] for t in recorded] == ["done"] * 3
    assert recorded[0]["score"] == pytest.approx(goodness(jobs[0]) + 0.005)
    best = best_trials(
        sweep_results.played_points(tmp_path), (0, 1), ("local",), "accuracy_validation", tmp_path
    )
    assert best["local"]["score"] == pytest.approx(max(t["score"] for t in recorded))


def test_the_best_point_is_not_one_whose_lucky_seeds_were_good(write_run, tmp_path):
    """A run that diverged has no score: the mean over the other seeds tells nothing."""
    points = {"diverged": {RATE: 9.0}, "sound": {RATE: 0.1}}
    write_run(tmp_path / "diverged" / "seed-0" / "local", accuracy={"mean": 0.9})
    write_run(tmp_path / "diverged" / "seed-1" / "local", accuracy={"mean": None})
    for seed in (0, 1):
        write_run(tmp_path / "sound" / f"seed-{seed}" / "local", accuracy={"mean": 0.6})
    best = best_trials(points, (0, 1), ("local",), "accuracy", tmp_path)
    assert best["local"]["point"] == "sound"
    assert best["local"]["seeds"] == 2


@pytest.mark.parametrize("state", ["failed", "pruned", "running", None])
def test_the_best_point_has_a_score_of_every_seed(write_run, tmp_path, state):
    """Whatever kept a seed from ending: the one that did end may be the lucky one."""
    points = {"partly": {RATE: 9.0}, "whole": {RATE: 0.1}}
    write_run(tmp_path / "partly" / "seed-0" / "local", accuracy={"mean": 0.9})
    if state:
        write_run(tmp_path / "partly" / "seed-1" / "local", state)
    for seed in (0, 1):
        write_run(tmp_path / "whole" / f"seed-{seed}" / "local", accuracy={"mean": 0.6})
    best = best_trials(points, (0, 1), ("local",), "accuracy", tmp_path)
    assert best["local"]["point"] == "whole"
    assert (tmp_path / "trials.csv").read_text().count("\n") == 2  # the heading, and one point


@pytest.mark.parametrize(
    ("select", "lowest"),
    [
        ("delay.mean_s", True), ("accuracy.std", True), ("energy_j", True), ("loss", True),
        ("messages.bits_transmitted", True), ("messages.lost", True), ("models_sent", True),
        ("accuracy", False), ("accuracy.best.mean", False), ("accuracy.worst_10pct", False),
        ("messages.bits_delivered", False), ("accuracy_validation", False),
        ("graph.weight_on_malicious", True), ("graph.malicious_peers", True),
        ("graph.weight_on_same_task", False), ("delay.arrived", False),
    ],
)  # fmt: skip
def test_of_what_is_paid_the_least_is_the_best(begun, write_run, tmp_path, select, lowest):
    *tables, last = select.split(".")
    for label, value in {"little": 1.0, "much": 2.0}.items():
        summary = {last: value}
        for name in reversed(tables):
            summary = {name: summary}
        write_run(tmp_path / label / "seed-0" / "local", **summary)
    best = best_trials({"little": {}, "much": {}}, (0,), ("local",), select, tmp_path)
    assert best["local"]["point"] == ("little" if lowest else "much")
    [study] = begun(select=select)._studies
    assert (study.study.direction.name == "MINIMIZE") == lowest


def test_a_search_by_what_no_run_has_ends_at_its_first_run(begun, write_run):
    found = begun(9, select="acuracy_validation")
    job = found.next_job()
    write_run(job.folder / "local", accuracy_validation={"mean": 0.5})
    with pytest.raises(RunFailedError, match='did you mean "accuracy_validation"'):
        found.ended(Outcome(job))


def test_long_values_of_a_list_are_told_apart():
    tables = [{"kind": "x" * 50, "alpha": 1.0, "samples": k} for k in range(3)]
    choices = search._choices(Draw(values=tuple(tables)))
    assert list(choices.values()) == tables


@pytest.mark.slow
def test_a_search_learns_from_its_trials(begun, play):
    jobs = play(begun(30, seeds=[0]))
    distances = [abs(math.log10(j.point.values[RATE]) + 1.0) for j in jobs]
    assert sum(distances[20:]) / 10 < sum(distances[:10]) / 10


@pytest.mark.thinned(4)
@pytest.mark.parametrize("way", ["optuna", "random"])
def test_a_search_that_was_interrupted_goes_on_as_it_would_have(begun, play, tmp_path, way):
    whole = [(j.point, j.seed) for j in play(begun(14, search=way))]
    for path in tmp_path.iterdir():
        path.rename(tmp_path.with_name(f"{tmp_path.name}-{path.name}"))
    first = begun(14, search=way)
    before = play(first, 23)  # trial 11 has one seed of two
    first.next_job()  # and its second one is being played
    with (tmp_path / search.JOURNAL).open("a") as journal:
        journal.write('{"op_code": 5, "wor')  # killed while it wrote
    after = play(begun(14, search=way))
    assert [(j.point, j.seed) for j in (*before, *after)] == whole
    assert [t["state"] for t in sweep_results.read_trials(tmp_path)] == ["done"] * 14
    assert begun(14, search=way).next_job() is None


def test_a_trial_that_is_worse_than_half_before_it_is_ended(begun, write_run, tmp_path):
    found = begun(7, seeds=[0])
    for k in range(7):
        job = found.next_job()
        assert job.reports
        value = 0.5 if k < 6 else 0.1
        goes_on = found.goes_on(job, Evaluation(1.0, {"accuracy_validation": value}))
        assert goes_on == (k < 6)
        write_run(job.folder / "local", accuracy_validation={"mean": value})
        found.ended(Outcome(job, pruned=not goes_on))
    assert [t["state"] for t in sweep_results.read_trials(tmp_path)] == ["done"] * 6 + ["pruned"]


def test_a_trial_that_fails_or_measures_nothing_has_no_score(begun, write_run, tmp_path):
    found = begun(2, seeds=[0])
    found.ended(Outcome(found.next_job(), problem="crashed"))
    job = found.next_job()
    write_run(job.folder / "local", accuracy_validation={"mean": None})
    found.ended(Outcome(job))
    assert found.next_job() is None
    assert [(t["state"], t["score"]) for t in sweep_results.read_trials(tmp_path)] == [
        ("failed", None)
    ] * 2


def test_a_trial_whose_run_failed_is_played_again_with_its_values(begun, play, tmp_path):
    found = begun(3, seeds=[0])
    jobs = [found.next_job() for _ in range(3)]
    for job in jobs:
        found.ended(Outcome(job, problem="No space left on device"))
    assert found.next_job() is None  # not by the same process
    assert [t["state"] for t in sweep_results.read_trials(tmp_path)] == ["failed"] * 3
    again = play(begun(3, seeds=[0]))
    assert [(j.point, j.seed) for j in again] == [(j.point, j.seed) for j in jobs]
    assert [t["state"] for t in sweep_results.read_trials(tmp_path)] == ["done"] * 3
    assert begun(3, seeds=[0]).next_job() is None


def test_a_line_that_does_not_fit_on_the_disk_leaves_the_journal_readable(
    begun, play, tmp_path, monkeypatch
):
    found, journal = begun(3, seeds=[0]), tmp_path / search.JOURNAL
    play(found, 1)
    before = journal.read_bytes()

    def half(_, logs):
        with journal.open("ab") as file:
            file.write(b'{"op_code": 4, "wor')
        raise OSError(errno.ENOSPC, "No space left on device")

    backend = import_module("optuna.storages.journal").JournalFileBackend
    with monkeypatch.context() as full:
        full.setattr(backend, "append_logs", half)
        with pytest.raises(FolderError, match=r"search\.journal: can't be written: No space left"):
            found.next_job()
    assert journal.read_bytes() == before
    play(found)  # as reports that are heard while the search ends
    assert begun(3, seeds=[0]).next_job() is None


@pytest.mark.parametrize("lost", ["journal", "journal and list", "half of it", "values"])
def test_runs_of_trials_that_the_journal_does_not_have_are_refused(begun, play, tmp_path, lost):
    play(begun(3, seeds=[0]))
    journal, listed = tmp_path / search.JOURNAL, tmp_path / sweep_results.TRIALS
    if "journal" in lost:
        journal.unlink()
    if "list" in lost:
        listed.unlink()
    if lost == "half of it":
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    if lost == "values":
        trials = json.loads(listed.read_text())
        trials[1]["values"][RATE] *= 2
        listed.write_text(json.dumps(trials))
    there = sorted(tmp_path.iterdir())
    with pytest.raises(ScenarioError, match=r"search\.journal: .* put it back"):
        begun(3, seeds=[0])
    assert sorted(tmp_path.iterdir()) == there


def test_each_algorithm_at_each_point_of_a_grid_has_a_search_of_its_own(begun, play, tmp_path):
    several = {**SMALL, "algorithm": [{"kind": "local"}, {"kind": "ditto"}]}
    draw = {RATE: DRAW[RATE], "algorithm.ditto.strength": {"low": 0.1, "high": 1.0}}
    over = {"model.hidden": [[4], [8]]}
    jobs = play(begun(2, several, seeds=[0], draw=draw, over=over))
    assert {(j.point.label, j.names) for j in jobs} == {
        (f"{grid},{name},trial-{k:03d}", (name,))
        for grid in ("hidden=_4_", "hidden=_8_")
        for name in ("local", "ditto")
        for k in (0, 1)
    }
    assert len({j.point.values[RATE] for j in jobs if "trial-000" in j.point.label}) == 1
    for job in jobs:
        assert ("algorithm.ditto.strength" in job.point.values) == (job.names == ("ditto",))
        assert job.point.values["model.hidden"] == ([4] if "_4_" in job.point.label else [8])


def test_what_is_no_journal_is_refused(begun, tmp_path):
    begun()
    (tmp_path / search.JOURNAL).write_text("[]\n")
    with pytest.raises(ScenarioError, match="is no journal"):
        begun()


def test_a_search_needs_optuna(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ScenarioError, match=r"pip install 'netsim-dfl\[optuna\]'"):
        search.imported()
