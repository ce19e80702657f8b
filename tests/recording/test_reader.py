"""The one reader of a run folder."""

import json
import shutil

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.recording.reader import RunFolder, begun_folders
from netsim.recording.recorder import Recorder
from netsim.recording.schema import TABLES
from netsim.units import NS_PER_S


@pytest.fixture
def folder(tmp_path):
    """A run that has not ended, of which messages and wake-ups have been written."""
    recorder = Recorder(tmp_path)
    recorder.nodes({"node": [0, 1]})
    recorder.message(NS_PER_S, 3 * NS_PER_S, 0, 1, "Model", 64, 1, 0, None, "delivered", 0, 2.0, 64)
    recorder.close()
    (tmp_path / "status.json").write_text('{"state": "running", "virtual_s": 2.0}')
    return tmp_path


def break_table(folder):
    (part,) = (folder / "messages").glob("*.parquet")
    part.write_bytes(b"PAR1 no table PAR1")


def test_a_run_that_goes_on_has_come_as_far_as_its_last_record(folder):
    run = RunFolder.begun(folder)
    assert (run.state, run.end_s, run.end_ns, run.count) == ("running", 3.0, 3 * NS_PER_S, 2)
    assert run.messages["kind"].names == ("Model",)
    assert np.flatnonzero(run.messages["outcome"].isin(("delivered",))).tolist() == [0]
    with pytest.raises(ScenarioError, match=r'state = "running": only a run that has ended'):
        RunFolder.ended(folder)


def test_a_figure_can_ask_for_any_column_of_a_table(folder):
    run = RunFolder.begun(folder)
    assert {column.name for column in TABLES["messages"]} > set(run.messages)
    (part,) = (folder / "messages").glob("*.parquet")
    shutil.copy(part, part.with_name("part-00001.parquet"))  # the run goes on
    for column in TABLES["messages"]:
        cells = run.messages[column.name]
        assert len(cells.codes if column.kind == "word" else cells) == 1, column.name
    assert run.messages["attempts"].tolist() == [1]
    assert np.isnan(run.messages["snr_db"]).all()
    with pytest.raises(ScenarioError, match="no_column"):
        run.messages["no_column"]


def test_the_summary_says_how_far_a_run_came_and_what_it_is_called(folder):
    told = {"name": "field", "algorithm": "dpsgd", "seed": 3, "nodes": 2, "virtual_s": 9.5}
    (folder / "summary.json").write_text(json.dumps(told))
    run = RunFolder.ended(folder, {"seed": 3})
    assert (run.label, run.seed, run.state, run.end_s) == ("field, dpsgd", 3, "done", 9.5)
    assert begun_folders(folder) == [folder]


def test_what_is_broken_raises_unless_faults_are_collected(folder):
    break_table(folder)
    with pytest.raises(ScenarioError, match=r"part-00000\.parquet"):
        _ = RunFolder(folder).messages
    run = RunFolder(folder, faults=[])
    assert run.messages == {}
    (fault,) = run.faults
    assert "what follows is left out" in fault


@pytest.mark.parametrize("table", ["wakes", "graph", "uses", "metrics"])
def test_a_table_that_was_not_written_is_empty_and_can_be_required(folder, table):
    shutil.rmtree(folder / table)
    run = RunFolder(folder)
    assert getattr(run, table) == {}
    with pytest.raises(ScenarioError, match=f"has no table {table}"):
        run.require(table)


def test_a_folder_of_no_run_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="not the folder of a run that has begun"):
        RunFolder.begun(tmp_path)
    with pytest.raises(ScenarioError, match="no run here or one folder below"):
        begun_folders(tmp_path)
