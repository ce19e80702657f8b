"""A small table is played, collected and written by the command."""

import errno
import json
import shutil
import subprocess
import sys

import pytest

from .little import SCENARIO, command, numbers, records, table_files


@pytest.mark.slow
def test_a_table_is_played_collected_and_written(little, tmp_path, capsys):
    assert little("play", "little", "--seeds", "0", "--groups", "table") == (0, "")
    assert capsys.readouterr().out.count(" s\n") == 4
    code, page = little("page", "little")
    assert code == 0
    assert "(one seed, not judged)" in page
    assert "4 runs are played of 10 planned" in page
    assert "Not to be played (no files): on the moon." in page
    assert "**In the paper, not to be played (no files)** [%]\n\n|  | on the moon |" in page
    assert "| Local | 50.0 ± 1.0 | " in page
    assert "on the moon, " not in page
    assert "[1]" in page
    assert little("play", "little")[0] == 0
    assert capsys.readouterr().out.count(": is kept\n") == 4
    code, page = little("page", "little")
    assert "10 runs are played of 10 planned" in page
    assert "| Local | 50.0 ± 1.0 |" in page
    assert "### Ablation" in page
    assert "| one step | batches of 50 | FedAvg |" in page
    assert "### Fig. 1" in page
    found = json.loads((tmp_path / "runs/little/played.jsonl").read_text().splitlines()[0])
    assert found["problem"] == ""
    assert found["commit"].rstrip("+") in page


def test_what_is_not_played_has_a_page_and_no_numbers(little, tmp_path):
    code, page = little("page", "little")
    assert (code, "**Verdict.** Not played yet." in page) == (0, True)
    assert not list((tmp_path / "results/numbers").glob("*.csv"))


def test_a_run_of_other_settings_is_named_and_left_out(little, tmp_path, capsys):
    little("play", "little", "--seeds", "0", "--rows", "Local", "--columns", "batches of 50")
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace("learning_rate = 0.1", "learning_rate = 0.2"))
    _, page = little("page", "little")
    assert "other training.learning_rate: not counted" in capsys.readouterr().err
    assert "0 runs are played" in page


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('entry = "local"', 'entrry = "local"', 'rows 1 ("Local").entrry: no such key; did you'),
        ('role = "ours"', 'role = "our"', "rows 2 (\"FedAvg\").role = 'our': input should be"),
        ('columns = ["batches of 50"]', 'columns = ["b"]', 'columns: there is no "b" (there are'),
        ('"56.0"', '"56,0"', 'rows ("FedAvg").printed: "56,0": must be as'),
        ("seeds = [0, 1]", "seeds = [0, 1", "is not TOML"),
    ],
)
def test_a_typo_in_a_table_is_told_with_its_place(little, tmp_path, capsys, before, after, told):
    path = tmp_path / "results/tables/little.toml"
    path.write_text(path.read_text().replace(before, after))
    assert little("page", "little") == (2, "")
    assert capsys.readouterr().err.startswith(f"{path}: ")
    assert little("list")[0] == 2
    assert told in capsys.readouterr().err


def test_names_that_there_are_not_are_refused(little, capsys):
    assert little("play", "little", "--columns", "batches of 5")[0] == 2
    assert 'there is no "batches of 5"; did you mean "batches of 50"?' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["play", "little"])
    assert "--runs" in capsys.readouterr().err


def kept_line(seed):
    """A line of numbers as they are kept."""
    return f"batches_of_50,local,table,,{seed},0.5,0.1,0.5,1.0,,abc,def"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("batches_of_50,local,table,,0", "line 3: has 5 cells, the first line 12; restore"),
        (kept_line("zero"), "line 3: invalid literal for int()"),
        (kept_line(0).replace("0.5", "\0"), "line 3: could not convert string to float"),
    ],
)
def test_a_damaged_line_of_numbers_is_named_and_nothing_is_written(
    little, tmp_path, capsys, line, told
):
    head = "column,row,reading,rounds,seed,accuracy,'accuracy, nodes',choose,cpu_s,estimated_s"
    path = tmp_path / "results/numbers/little.csv"
    path.parent.mkdir()
    text = f"{head},commit,settings\n".replace("'", '"') + f"{kept_line(1)}\n{line}\n"
    path.write_text(text)
    (tmp_path / "runs/little").mkdir(parents=True)
    assert little("page", "little") == (2, "")
    assert f"{path}: {told}" in capsys.readouterr().err
    assert path.read_text() == text


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_the_numbers_as_they_were(little, tmp_path, capsys, monkeypatch):
    little("play", "little", "--seeds", "0", "--rows", "Local", "--columns", "batches of 50")
    little("page", "little")
    path = tmp_path / "results/numbers/little.csv"
    before, page = path.read_text(), tmp_path / "results/little.md"
    page.write_text("as it was")

    def full(*_):
        raise OSError(errno.ENOSPC, "")

    monkeypatch.setattr("os.fsync", full)
    assert little("page", "little") == (1, "as it was")
    assert "can't be written: No space left on device" in capsys.readouterr().err
    assert path.read_text() == before


HOLDER = """
import sys
from pathlib import Path
from netsim.recording import folder_lock
with folder_lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_what_another_process_plays_is_passed_over(little, tmp_path, capsys):
    own = tmp_path / "runs/little/batches_of_50/local/table/seed-0/local"
    own.mkdir(parents=True)
    few = ("--seeds", "0", "--rows", "Local", "--columns", "batches of 50")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, own], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        assert little("play", "little", *few)[0] == 0
        assert capsys.readouterr().out.endswith(": is being played\n")
        other.stdin.close()
    assert little("play", "little", *few)[0] == 0
    assert capsys.readouterr().out.endswith(" s\n")


@pytest.mark.slow
def test_a_line_of_the_ledger_that_was_broken_off_is_left_out(little, tmp_path):
    few = ("--seeds", "0", "--rows", "Local")
    little("play", "little", *few, "--columns", "batches of 50")
    path = tmp_path / "runs/little/played.jsonl"
    path.write_text(path.read_text() + '{"run": "batches_of')
    little("play", "little", *few, "--columns", "batches of 100")
    table = table_files.load("little")
    assert len(records.ledger(table, tmp_path / "runs")) == 2
    assert "2 runs are played" in little("page", "little")[1]


@pytest.mark.slow
def test_what_is_kept_outlives_its_folders(little, tmp_path, capsys):
    """Seed 1 is played on another machine; a second play of seed 0 is compared with the first."""
    little("play", "little", "--seeds", "0", "--groups", "table")
    little("page", "little")
    (tmp_path / "runs").rename(tmp_path / "gone")
    little("play", "little", "--groups", "table")
    told = capsys.readouterr().out
    assert told.count("seed-0: is kept\n") == 4
    _, page = little("page", "little")
    assert "8 runs are played of 10 planned" in page
    assert len(numbers.kept_curves(table_files.load("little"))) == 4
    little("play", "little", "--again", "--seeds", "0", "--groups", "table")
    assert ": is kept" not in capsys.readouterr().out
    little("page", "little")
    assert capsys.readouterr().err == ""
    path = tmp_path / "results/numbers/little.csv"
    first, line, *rest = path.read_text().splitlines()
    cells = line.split(",")
    cells[5] = "0.5"
    path.write_text("\n".join([first, ",".join(cells), *rest]))
    little("page", "little")
    assert capsys.readouterr().err.endswith(", was 0.5\n")


@pytest.mark.slow
def test_a_kept_line_of_other_settings_is_named_and_left_out(little, tmp_path, capsys):
    little("play", "little", "--seeds", "0", "--groups", "table", "--rows", "Local")
    little("page", "little")
    (tmp_path / "runs/little").rename(tmp_path / "gone")
    (tmp_path / "runs/little").mkdir()
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace("learning_rate = 0.1", "learning_rate = 0.2"))
    _, page = little("page", "little")
    assert capsys.readouterr().err.count("as kept: other settings: not counted") == 2
    assert "0 runs are played" in page


@pytest.mark.slow
def test_cut_rounds_have_folders_and_tables_of_their_own(little, tmp_path):
    little("play", "little", "--seeds", "0", "--rows", "Local", "--rounds", "2")
    assert list((tmp_path / "runs/little").glob("*/local/table/rounds-2/seed-0/local"))
    _, page = little("page", "little")
    assert "### 2 of 3 rounds" in page


@pytest.mark.slow
def test_estimates_stand_beside_what_runs_took(little, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert little("estimate", "little", "--rows", "Local")[0] == 0
    assert "CPU hours" in capsys.readouterr().out
    little("play", "little", "--seeds", "0", "--rows", "Local")
    assert ", estimated " in little("page", "little")[1]


@pytest.mark.slow
def test_an_estimate_counts_for_runs_whose_folders_are_gone(little, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    little("play", "little", "--seeds", "0", "--rows", "Local")
    assert ", estimated " not in little("page", "little")[1]
    shutil.rmtree(tmp_path / "runs")
    little("estimate", "little", "--rows", "Local")
    assert ", estimated " in little("page", "little")[1]


def test_a_failed_run_is_told_and_the_others_go_on(little, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NETSIM_DATA", "")  # --data sets it: undone at the end
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace('kind = "digits"', 'kind = "mnist"'))
    code, _ = little("play", "little", "--seeds", "0", "--rows", "Local", "--data", str(tmp_path))
    assert code == 1
    assert capsys.readouterr().out.count("mnist") >= 2


@pytest.mark.slow
def test_every_accuracy_has_a_verdict_of_its_own(little, tmp_path):
    path = tmp_path / "results/tables/little.toml"
    other = '[[measures]]\nname = "on validation samples"\npath = "accuracy_validation.mean"\n'
    path.write_text(path.read_text().replace("[[columns]]", f"{other}\n[[columns]]", 1))
    little("play", "little", "--groups", "table")
    _, page = little("page", "little")
    assert page.count("**Verdict.**") == 1
    assert page.count("*By on validation samples:*") == 1
    assert page.count("**Lead over the best baseline** by") == 2
    assert page.count("**FedAvg less every row** by accuracy [points]") == 1
