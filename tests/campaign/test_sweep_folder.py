"""The folder of a sweep: what it plays, what is done, what is put aside."""

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest

import netsim
from netsim.campaign import grid, sweep_folder, sweep_results
from netsim.campaign.sweep_folder import arguments, define, definition
from netsim.campaign.sweep_points import Point, points_of
from netsim.errors import FolderBusyError, RunWarning, ScenarioError
from netsim.recording import checksums, folder_lock, run_mismatches
from netsim.scenario import check, draft_of, from_dict, to_toml
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of
from netsim.views.render.page import sweep_page

SMALL = {
    "name": "s",
    "horizon_s": 10.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
    "sweep": {"over": {"training.batch_size": [4, 8]}, "seeds": [0, 1]},
}


def said(**changes):
    scenario = from_dict(SMALL | changes)
    return scenario, arguments(scenario, kinds_of(), timing_only=False)


def test_a_sweep_says_what_it_plays_and_knows_itself_again(tmp_path):
    assert define(tmp_path, *said())
    assert definition(tmp_path)["sweep"]["over"] == {"training.batch_size": [4, 8]}
    assert not define(tmp_path, *said())


def test_how_many_runs_at_a_time_may_change(tmp_path):
    define(tmp_path, *said())
    assert not define(tmp_path, *said(sweep={**SMALL["sweep"], "jobs": 2}))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"horizon_s": 20.0}, "horizon_s = 10.0 there, 20.0 here"),
        (
            {"sweep": {**SMALL["sweep"], "seeds": [1, 2]}},
            "sweep.seeds = [0, 1] there, [1, 2] here",
        ),
        ({"model": {"kind": "mlp", "hidden": [7]}}, "model.hidden = "),
    ],
)
def test_another_sweep_is_refused_by_what_differs(tmp_path, changes, expected):
    define(tmp_path, *said())
    with pytest.raises(ScenarioError, match="holds another sweep") as found:
        define(tmp_path, *said(**changes))
    assert expected in str(found.value)


BATCHES, RATES = "training.batch_size", "training.learning_rate"
SEARCH = {"draw": {RATES: {"low": 0.1, "high": 1.0}}, "seeds": [0, 1], "trials": 3}


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ({"seeds": [0, 1]}, {"seeds": [1, 2, 0]}),
        ({}, {"seeds": [0, 1]}),
        ({"over": {BATCHES: [4, 8]}}, {"over": {BATCHES: [2, 4, 8]}}),
        ({"over": {BATCHES: [4], RATES: [0.1]}}, {"over": {BATCHES: [4], RATES: [0.1, 1.0]}}),
        ({"over": {BATCHES: [4]}}, {"over": {BATCHES: [4, 8]}, "seeds": [0, 5]}),
        (SEARCH, {**SEARCH, "trials": 5}),
        ({"seeds": [0, 1]}, {"seeds": [0, 1, 2], "show": ["accuracy"], "target": 0.5}),
    ],
)
def test_a_sweep_grows_by_seeds_values_and_trials(tmp_path, there, here):
    """It is the larger sweep after that, and the smaller one no longer."""
    define(tmp_path, *said(sweep=there))
    checksums.write(tmp_path)
    assert not define(tmp_path, *said(sweep=here))
    assert definition(tmp_path) == tomllib.loads(to_toml(said(sweep=here)[0]))
    assert not (tmp_path / checksums.NAME).exists()
    assert sweep_folder.definition_as_begun(tmp_path) == definition(tmp_path)
    assert not define(tmp_path, *said(sweep=here))
    with pytest.raises(ScenarioError, match="or more seeds, values, algorithms or trials"):
        define(tmp_path, *said(sweep=there))


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ({"seeds": [0, 1]}, {"seeds": [1, 2, 3]}),
        ({}, {"seeds": [1, 2]}),
        ({"over": {BATCHES: [4, 8]}}, {"over": {BATCHES: [4, 16, 32]}}),
        ({"over": {BATCHES: [4]}}, {"over": {BATCHES: [4], RATES: [0.1]}}),
        ({"over": {BATCHES: [4]}, "seeds": [0, 1]}, {"over": {BATCHES: [4, 8]}, "seeds": [0]}),
        ({"over": {RATES: [0.1]}}, {"over": {RATES: [0.1, 0.10000001]}}),  # folders by other names
        (SEARCH, {**SEARCH, "seeds": [0, 1, 2]}),
        (SEARCH, {**SEARCH, "trials": 5, "draw": {RATES: {"low": 0.1, "high": 2.0}}}),
        (SEARCH, {"seeds": [0, 1, 2]}),
        ({"seeds": [0, 1]}, SEARCH),
    ],
)
def test_a_sweep_that_lacks_a_run_of_the_folder_is_another(tmp_path, there, here):
    define(tmp_path, *said(sweep=there))
    before = (tmp_path / "scenario.toml").read_bytes(), (tmp_path / "sweep.json").read_bytes()
    with pytest.raises(ScenarioError, match="holds another sweep"):
        define(tmp_path, *said(sweep=here))
    assert before == tuple(
        (tmp_path / name).read_bytes() for name in ("scenario.toml", "sweep.json")
    )


@pytest.mark.parametrize("sweep", [SMALL["sweep"], SEARCH], ids=["grid", "search"])
def test_what_its_tables_show_may_change(tmp_path, sweep):
    define(tmp_path, *said(sweep=sweep))
    assert not define(tmp_path, *said(sweep={**sweep, "show": ["accuracy"], "target": 0.5}))
    assert definition(tmp_path)["sweep"]["target"] == 0.5
    assert not define(tmp_path, *said(sweep=sweep))
    assert "target" not in definition(tmp_path)["sweep"]


LOCAL, GOSSIP = {"kind": "local"}, {"kind": "dpsgd"}


def with_methods(*entries, **sweep):
    return said(algorithm=list(entries), sweep={"seeds": [0, 1], **sweep})


def test_a_sweep_grows_by_algorithms(tmp_path):
    """An algorithm's runs do not depend on which others the scenario has."""
    define(tmp_path, *with_methods(LOCAL))
    assert not define(tmp_path, *with_methods(GOSSIP, LOCAL, seeds=[0, 1, 2]))
    assert not define(tmp_path, *with_methods(GOSSIP, LOCAL, seeds=[0, 1, 2]))
    with pytest.raises(ScenarioError, match=": algorithm dpsgd is there alone; sweep"):
        define(tmp_path, *with_methods(LOCAL))


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([GOSSIP], "algorithm local is there alone; algorithm dpsgd is here alone"),
        (
            [{**LOCAL, "local_steps": 7}, GOSSIP],
            "algorithm dpsgd is here alone; algorithm.local.local_steps = nothing there, 7 here",
        ),
    ],
)
def test_another_algorithm_in_the_place_of_one_is_another_sweep(tmp_path, entries, expected):
    define(tmp_path, *with_methods(LOCAL))
    with pytest.raises(ScenarioError, match="holds another sweep") as found:
        define(tmp_path, *with_methods(*entries))
    assert expected in str(found.value)


TWIN = {"kind": "local", "name": "alone"}


@pytest.mark.parametrize(
    ("there", "here", "key", "of"),
    [
        ([LOCAL, GOSSIP], [GOSSIP, LOCAL], "algorithm.0.local_steps", "of local there, of dpsgd"),
        ([TWIN, GOSSIP], [TWIN, GOSSIP, LOCAL], "algorithm.local.local_steps", "of alone there"),
    ],
)
def test_a_swept_key_means_the_same_algorithm_after_growth(tmp_path, there, here, key, of):
    """Else the runs that are there would stand in the tables with values that they did not have."""
    define(tmp_path, *with_methods(*there, over={key: [2, 3]}))
    with pytest.raises(ScenarioError, match="holds another sweep") as found:
        define(tmp_path, *with_methods(*here, over={key: [2, 3, 4]}))
    assert f"sweep.over.{key} is {of}" in str(found.value)


def test_a_swept_key_of_a_named_algorithm_may_stay_where_the_order_changes(tmp_path):
    over = {"algorithm.local.local_steps": [2, 3]}
    define(tmp_path, *with_methods(LOCAL, GOSSIP, over=over))
    assert not define(tmp_path, *with_methods(TWIN, GOSSIP, LOCAL, over=over))


def test_a_value_that_would_rename_a_folder_is_named_with_it(tmp_path):
    define(tmp_path, *said(sweep={"over": {RATES: [0.1]}}))
    with pytest.raises(ScenarioError, match="holds another sweep") as found:
        define(tmp_path, *said(sweep={"over": {RATES: [0.1, 0.10000001]}}))
    assert "the folder learning_rate=0.1 there would be learning_rate=0.1-0 here" in str(
        found.value
    )


@pytest.mark.parametrize("again", [{}, {"seeds": [0, 1, 2]}])
def test_a_sweep_killed_while_it_begins_to_grow_goes_on(tmp_path, again):
    """Its `sweep.json` knows the algorithm that its scenario does not have yet."""
    define(tmp_path, *with_methods(LOCAL))
    before = (tmp_path / "scenario.toml").read_bytes()
    define(tmp_path, *with_methods(LOCAL, GOSSIP))
    (tmp_path / "scenario.toml").write_bytes(before)
    assert not define(tmp_path, *with_methods(LOCAL, **again))


def test_a_search_does_not_grow_by_algorithms(tmp_path):
    """Names of its trials depend on whether there are several."""
    define(tmp_path, *with_methods(LOCAL, **SEARCH))
    with pytest.raises(ScenarioError, match="algorithm dpsgd is here alone"):
        define(tmp_path, *with_methods(LOCAL, GOSSIP, **SEARCH))


@pytest.mark.parametrize("edit", ["[sweep]\nover = 3", "[sweep]\nseeds = 'x'", "[sweep]"])
def test_a_sweep_does_not_grow_from_what_somebody_wrote(tmp_path, edit):
    define(tmp_path, *said())
    (tmp_path / "scenario.toml").write_text(edit)
    with pytest.raises(ScenarioError, match="holds another sweep"):
        define(tmp_path, *said(sweep={**SMALL["sweep"], "seeds": [0, 1, 2]}))
    assert (tmp_path / "scenario.toml").read_text() == edit


def test_a_sweep_does_not_grow_while_a_part_of_it_is_played(tmp_path):
    """The part would sum up the smaller sweep at its end."""
    define(tmp_path, *said())
    with (
        folder_lock.held(tmp_path / ".parts" / "1-of-2", take_over=True),
        pytest.raises(FolderBusyError, match="plays part 1-of-2 of this sweep"),
    ):
        define(tmp_path, *said(sweep={**SMALL["sweep"], "seeds": [0, 1, 2]}))


@pytest.mark.parametrize("table", ["over", "draw"])
def test_the_same_keys_in_another_order_are_another_sweep(tmp_path, table):
    """Their folders have other names, so one of both orders would never be found again."""
    keys = {"training.batch_size": [4, 8], "training.learning_rate": [0.1, 0.2]}
    others = {**({"trials": 2} if table == "draw" else {}), "seeds": [0]}
    define(tmp_path, *said(sweep={table: keys, **others}))
    with pytest.raises(ScenarioError, match=f"sweep.{table} has training.batch_size, training.lea"):
        define(tmp_path, *said(sweep={table: dict(reversed(keys.items())), **others}))
    assert not define(tmp_path, *said(sweep={table: keys, **others}))


def test_other_options_and_files_are_refused_too(tmp_path):
    scenario, options = said()
    define(tmp_path, scenario, options)
    with pytest.raises(ScenarioError, match="--timing-only no there, yes here"):
        define(tmp_path, scenario, {**options, "timing_only": True})
    with pytest.raises(ScenarioError, match="the algorithm file local has changed"):
        define(tmp_path, scenario, {**options, "algorithms": {"local": "0" * 16}})
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(ScenarioError, match=r"sweep\.json is missing"):
        define(tmp_path, scenario, options)


def test_tables_are_not_of_a_definition_that_was_edited(tmp_path):
    """Its points and seeds would be fewer, or others, than those that were played."""
    define(tmp_path, *said())
    path = tmp_path / "scenario.toml"
    text = path.read_text()
    path.write_text(f"# a remark\n{text}".replace("jobs = 1", "jobs = 2"))
    assert sweep_results.design_of(tmp_path).seeds == (0, 1)
    path.write_text(text.replace("        8,", "        8, 16,"))
    with pytest.raises(ScenarioError, match="has been edited since the sweep began"):
        sweep_results.design_of(tmp_path)
    (tmp_path / "sweep.json").unlink()
    assert len(sweep_results.design_of(tmp_path).points) == 3


@pytest.mark.parametrize(
    "name", ["small_presets", "paper_l2c_search", "whatif_mac", "whatif_latency", "whatif_doppler"]
)
def test_no_run_of_a_shipped_sweep_is_taken_for_one_of_another(tmp_path, write_run, name):
    draft = draft_of(name, (), kinds_of())
    scenario = check(draft, kinds_of())
    assert scenario.sweep is not None
    (tmp_path / "scenario.toml").write_text(to_toml(scenario))
    points = {point.label: point.values for point in points_of(scenario.sweep.over)}
    for label, values in points.items():
        own = check(grid.at_point(draft, Point(label, values)), kinds_of())
        for entry in own.algorithm:
            alone, run = own.of(entry), tmp_path / label / f"seed-{own.seed}" / entry.name
            write_run(run, seed=own.seed)
            (run / "scenario.toml").write_text(to_toml(alone, alone.entry(entry.name)))
            digest = checksums.sha256(run / "scenario.toml")
            known = {"sha256": {"scenario.toml": digest}}
            (run / "checksums.json").write_text(json.dumps(known))
    runs = sweep_folder.runs_with(tmp_path, "scenario.toml")
    assert runs
    assert run_mismatches.misplaced_in(tmp_path, runs, points) == []


@pytest.mark.parametrize("is_said", [True, False])
def test_a_definition_that_was_edited_is_refused(tmp_path, is_said):
    """Also where `netsim resume` reads it and so says the same: other runs are of the first."""
    define(tmp_path, *said())
    path = tmp_path / sweep_folder.DEFINITION
    first = path.read_text()
    path.write_text(first.replace("horizon_s = 10.0", "horizon_s = 20.0"))
    with pytest.raises(
        ScenarioError, match="has been edited since" if is_said else "another sweep"
    ):
        define(tmp_path, *said(**{"horizon_s": 20.0} if is_said else {}))
    path.write_text(first.replace("[sweep]", "# A remark.\n[sweep]\njobs = 3"))
    assert not define(tmp_path, *said())


OWN = """from netsim import api
from ._shared import STEPS


class Params(api.Params):
    pass


def processes(node, params):
    return []
"""


def test_a_helper_of_ones_own_belongs_to_its_algorithm(tmp_path):
    own, top = tmp_path / "own", tmp_path / "sweep"
    own.mkdir()
    top.mkdir()
    (own / "mine.py").write_text(OWN)
    (own / "_shared.py").write_text("STEPS = 1\n")
    kinds = kinds_of((own,))
    scenario = check(Draft("s", {**SMALL, "algorithm": {"kind": "mine"}}), kinds)
    define(top, scenario, arguments(scenario, kinds, timing_only=False))
    assert not define(top, scenario, arguments(scenario, kinds, timing_only=False))
    (own / "_shared.py").write_text("STEPS = 2\n")
    with pytest.raises(ScenarioError, match="the algorithm file mine has changed"):
        define(top, scenario, arguments(scenario, kinds, timing_only=False))


def test_a_run_is_done_if_all_of_each_algorithm_is_there(tmp_path, write_run):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", "running")
    write_run(tmp_path / "c")
    (tmp_path / "c" / "checksums.json").unlink()
    assert sweep_folder.missing(tmp_path, ("a", "b", "c", "d")) == ("b", "c", "d")
    states = [sweep_folder.state(tmp_path / name) for name in "abcd"]
    assert states == ["done", "running", "unfinished", "missing"]


def test_what_is_put_aside_is_whole_and_beside_its_run(tmp_path, write_run):
    run = tmp_path / "seed-0"
    for _ in range(2):
        write_run(run / "a")
        write_run(run / "b", "running")
        sweep_folder.put_aside(run, ("b", "c"))
    assert sorted(p.name for p in run.iterdir()) == ["a"]
    for k in (1, 2):
        aside = tmp_path / f"seed-0.unfinished-{k}" / "b" / "status.json"
        assert json.loads(aside.read_text()) == {"state": "running"}


def test_what_is_not_done_is_named_with_its_state(tmp_path, write_run):
    write_run(tmp_path / "p" / "seed-0" / "a")
    write_run(tmp_path / "p" / "seed-1" / "a", "failed")
    write_run(tmp_path / "q" / "seed-0" / "a", "running")
    assert sweep_folder.undone(tmp_path, ("p", "q"), (0, 1), ("a",)) == [
        "p, seed 1, a: failed",
        "q, seed 0, a: unfinished",
        "q, seed 1, a: not begun",
    ]


def test_a_whole_sweep_waits_for_no_part_and_no_other_sweep(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with sweep_folder.open_sweep(out, *said(), (1, 2)) as (top, new):
        assert (top, new) == (out, True)
        other = dataclasses.replace(folder_lock.holder(out / ".parts" / "1-of-2"), pid=1)
        monkeypatch.setattr(folder_lock, "holder", lambda folder: other)
        with (
            pytest.raises(FolderBusyError, match="plays part 1-of-2 of this sweep"),
            sweep_folder.open_sweep(out, *said(), None),
        ):
            pass
    monkeypatch.undo()
    with sweep_folder.open_sweep(out, *said(), None) as (_, new):
        assert not new


def test_parts_share_a_folder(tmp_path):
    out = tmp_path / "out"
    with (
        sweep_folder.open_sweep(out, *said(), (1, 2)) as (_, first),
        sweep_folder.open_sweep(out, *said(), (2, 2)) as (_, second),
    ):
        assert first
        assert not second


def test_a_part_is_held_before_another_process_may_define_a_larger_sweep(tmp_path, monkeypatch):
    held, release = [], folder_lock.release

    def seen(folder):
        if folder == tmp_path:
            held.append(folder_lock.holder(tmp_path / ".parts" / "1-of-2") is not None)
        release(folder)

    monkeypatch.setattr(folder_lock, "release", seen)
    with sweep_folder.open_sweep(tmp_path, *said(), (1, 2)):
        assert held == [True]
    assert folder_lock.holder(tmp_path / ".parts" / "1-of-2") is None


def test_a_sweep_that_another_part_defines_between_two_looks_is_one(tmp_path, monkeypatch):
    (tmp_path / ".parts").mkdir()
    looked = Path.iterdir

    def defined_meanwhile(self):
        if self == tmp_path and not (tmp_path / "scenario.toml").exists():
            define(tmp_path, *said())
        return looked(self)

    monkeypatch.setattr(Path, "iterdir", defined_meanwhile)
    assert sweep_folder.takes_sweep(tmp_path)


def test_a_folder_of_something_else_takes_no_sweep(tmp_path):
    (tmp_path / "notes.txt").touch()
    for only in (None, (1, 2)):
        with (
            pytest.raises(ScenarioError, match="is not empty"),
            sweep_folder.open_sweep(tmp_path, *said(), only),
        ):
            pass


@pytest.mark.slow
def test_a_lock_is_waited_for_while_its_process_ends(tmp_path, monkeypatch):
    tries = []

    def acquire(folder, take_over):
        tries.append(folder)
        if len(tries) < 3:
            raise FolderBusyError("in use")

    monkeypatch.setattr(folder_lock, "acquire", acquire)
    with sweep_folder.locked(tmp_path):
        assert len(tries) == 3


def test_a_lock_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    def acquire(folder, take_over):
        raise FolderBusyError("in use")

    monkeypatch.setattr(sweep_folder, "PATIENCE_S", 0.0)
    monkeypatch.setattr(folder_lock, "acquire", acquire)
    with pytest.raises(FolderBusyError), sweep_folder.locked(tmp_path):
        pass


@pytest.mark.parametrize("sources", ["aaaa", "aaab", "aabb", "abcd"])
def test_runs_of_different_sources_are_told_where_a_sweep_is_read(tmp_path, sources):
    define(tmp_path, *said())
    places = [f"batch_size={size}/seed-{seed}/local" for size in (4, 8) for seed in (0, 1)]
    for place, digest in zip(places, sources, strict=True):
        (tmp_path / place).mkdir(parents=True)
        for name, content in (
            ("environment.json", {"netsim_sources_sha256": digest}),
            ("status.json", {"state": "done"}),
            ("summary.json", {"local_steps": len(places) - places.index(place)}),
            ("checksums.json", {"sha256": {}}),
        ):
            (tmp_path / place / name).write_text(json.dumps(content))
    told = sweep_results.left_out(tmp_path)
    many = len(set(sources))
    assert len(told) == (many > 1)
    if told:
        assert f"played by {many} different sources of netsim" in told[0]
        assert all(places[sources.index(digest)] in told[0] for digest in set(sources))


def test_warnings_of_runs_are_told_where_a_sweep_is_read(tmp_path):
    """Once each, with how many runs have them; numbers alone do not make them others."""
    define(tmp_path, *said(algorithm=[{"kind": "local"}, {"kind": "dpsgd"}]))
    places = [f"batch_size={size}/seed-{seed}" for size in (4, 8) for seed in (0, 1)]
    for k, place in enumerate(places):
        for method, steps in (("local", 400 + k), ("dpsgd", 80 + k)):
            folder = tmp_path / place / method
            folder.mkdir(parents=True)
            of_run = [f"of {k + 3} messages not one arrived"] if k and method == "dpsgd" else []
            for name, content in (
                ("environment.json", {"assumptions": ["links are ideal"]}),
                ("status.json", {"state": "done"}),
                (
                    "summary.json",
                    {"algorithm": method, "local_steps": steps, "seed": k % 2, "warnings": of_run},
                ),
                ("checksums.json", {"sha256": {}}),
            ):
                (folder / name).write_text(json.dumps(content))
    told = [
        "in 4 of 4 runs: links are ideal",
        "in 4 of 4 runs, such as batch_size=4/seed-0: local takes 5 times as many local steps as "
        "dpsgd (400 and 80): differences between them are of training as well",
        "in 3 of 4 runs, such as batch_size=4/seed-1: dpsgd: of 4 messages not one arrived",
    ]
    assert sweep_results.left_out(tmp_path) == told
    notices = sweep_page.content(sweep_results.tables_of(tmp_path))["runs"][0]["notices"]
    assert notices == [f"{line[:1].upper()}{line[1:]}." for line in told]
    assert netsim.open(tmp_path).warnings == told
    (tmp_path / places[0] / "local" / "summary.json").unlink()
    with pytest.warns(RunWarning, match="not there: batch_size=4, seed 0, local"):
        assert netsim.open(tmp_path).warnings != told
