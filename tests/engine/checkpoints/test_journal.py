"""Checkpoints on disk: whole or not there, and what follows one is set aside."""

import json

import numpy as np
import pytest
import torch

from netsim.engine.checkpoints.checkpoint import Moment
from netsim.engine.checkpoints.journal import Journal
from netsim.errors import FolderError, ScenarioError
from netsim.learning.refs import Cell
from netsim.learning.scheduler import Counters
from netsim.recording import checksums
from netsim.recording.whole_files import sha256_of

CONTENTS = {
    "moment": Moment(
        events=3, evaluations=1, time_ns=5, accuracy=None, wall_s=1.0, evaluation_wall_s=0.0
    ),
    "event_log_sha256": "0",
    "extents": {},
    "written": {},
    "counters": Counters(1, 2, 3, {}, []),
    "submitted": 4,
    "pending": (1,),
    "again": (),
    "made_with": {"torch": "2"},
}


def cell(value):
    found = Cell(None, (2,), None, torch.tensor([value, value]))
    found.number = 7
    return found


def write(journal, k):
    """Checkpoint k, whose value is k, after k numbers more."""
    numbers = [np.arange(float(k))] if k else []
    journal.write([cell(float(k))], numbers, {**CONTENTS, "numbers": sum(range(k + 1))})


@pytest.fixture
def journal(tmp_path):
    found = Journal(tmp_path)
    for k in range(4):
        write(found, k)
    return found


def test_the_newest_is_read_with_all_numbers(journal, tmp_path):
    checkpoint, numbers, damaged = Journal(tmp_path).read()
    assert checkpoint.number == 3
    assert checkpoint.moment == CONTENTS["moment"]
    assert checkpoint.counters == CONTENTS["counters"]
    assert numbers.tolist() == [0, 0, 1, 0, 1, 2]
    assert damaged == []
    ((number, value),) = Journal(tmp_path).cells(checkpoint)
    assert (number, value.tolist()) == (7, [3, 3])


def test_two_are_kept(journal):
    names = {p.name for p in journal.folder.glob("checkpoint-*.json")}
    assert names == {"checkpoint-000002.json", "checkpoint-000003.json"}


@pytest.mark.parametrize("name", ["checkpoint-000003.json", "checkpoint-000003.cells",
                                  "values-000003.numbers"])  # fmt: skip
@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_damaged_one_gives_way_to_the_one_before(journal, tmp_path, name, harm):
    path = journal.folder / name
    content = bytearray(path.read_bytes())
    path.unlink()
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    checkpoint, numbers, damaged = Journal(tmp_path).read()
    assert checkpoint.number == 2
    assert len(numbers) == 3
    assert len(damaged) == (0 if harm == "remove" and name.endswith("json") else 1)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"sha256": 1, "checkpoint": {}}', "[" * 10**5, "\x00", '"' + "9" * 9999],
)
def test_what_is_no_checkpoint_is_named_and_passed_over(tmp_path, text):
    journal = Journal(tmp_path)
    journal.folder.mkdir()
    (journal.folder / "checkpoint-000000.json").write_text(text)
    checkpoint, _, (problem,) = journal.read()
    assert checkpoint is None
    assert "checkpoint-000000.json" in problem


def test_fields_of_the_wrong_sort_are_refused_even_under_a_right_checksum(journal, tmp_path):
    path = journal.folder / "checkpoint-000003.json"
    inside = json.loads(json.loads(path.read_text())["checkpoint"])
    for harm in (
        {"submitted": -1}, {"format": 1}, {"cells": {"name": "../x"}}, {"more": 1},
        {"extents": {"messages": [1, 1]}}, {"extents": {"elsewhere": [0, 0]}},
    ):  # fmt: skip
        text = json.dumps({**inside, **harm})
        path.write_text(json.dumps({"sha256": sha256_of(text), "checkpoint": text}))
        assert Journal(tmp_path).read().checkpoint.number == 2


def test_what_follows_is_set_aside_and_nothing_is_lost(journal, tmp_path):
    table = tmp_path / "metrics"
    table.mkdir()
    (table / "part-00000.parquet").write_text("later")
    (table / ".part-00001.parquet.partial").write_text("half of it")
    again = Journal(tmp_path)
    (again.folder / "checkpoint-000003.cells").write_text("damaged")
    (again.folder / ".checkpoint-000004.json.partial").write_text("half of it")
    checkpoint = again.read().checkpoint
    aside = again.go_on(checkpoint)
    assert aside == again.folder / "set_aside-1"
    assert {str(p.relative_to(aside)) for p in aside.rglob("*") if p.is_file()} == {
        "checkpoint-000003.cells",
        "checkpoint-000003.json",
        "values-000003.numbers",
        ".checkpoint-000004.json.partial",
        "metrics/part-00000.parquet",
        "metrics/.part-00001.parquet.partial",
    }
    assert again.go_on(checkpoint) is None
    write(again, 3)
    assert Journal(tmp_path).read().checkpoint.number == 3
    again.end()
    assert [p.name for p in again.folder.iterdir()] == ["set_aside-1"]


def test_a_list_of_checksums_that_is_set_aside_hides_nothing(journal, tmp_path):
    checksums.write(tmp_path)
    aside = journal.go_on(journal.read().checkpoint)
    assert {p.name for p in aside.iterdir()} == {"earlier_checksums.json"}
    assert list(checksums.inner_folders(tmp_path)) == []
    assert list(checksums.files(tmp_path)) == ["journal/set_aside-1/earlier_checksums.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scenario": 1, "instead_of": []}'])
def test_a_kept_scenario_that_is_something_else_is_named(journal, text):
    assert journal.scenario() is None
    journal.keep_scenario("seed = 1\n", ["0"])
    kept = journal.scenario()
    assert (kept.text, kept.instead_of, kept.tables) == ("seed = 1\n", ("0",), {"seed": 1})
    (journal.folder / "scenario.json").write_text(text)
    with pytest.raises(ScenarioError, match=r"scenario\.json: "):
        journal.scenario()


def test_nothing_remains_of_a_run_that_has_ended(journal):
    journal.end()
    assert not journal.folder.exists()


@pytest.mark.parametrize("what", ["file", "link to nothing"])
def test_what_has_the_place_of_the_journal_is_named(tmp_path, what):
    if what == "file":
        (tmp_path / "journal").write_text("")
    else:
        (tmp_path / "journal").symlink_to(tmp_path / "nothing")
    with pytest.raises(FolderError, match="journal: can't be made a folder"):
        Journal(tmp_path).keep_scenario("")
    with pytest.raises(FolderError, match="journal: can't be made a folder"):
        Journal(tmp_path).end_events(1.0)
