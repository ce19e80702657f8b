"""Faults in a file or an argument are named, and no kept result is lost."""

import json
import threading

import pytest

from .little import SCENARIO, command, files, numbers, over_radio, records, table_files, tables

ONE = ("--seeds", "0", "--rows", "Local", "--columns", "batches of 50")


@pytest.fixture
def played(little, tmp_path):
    """One run of the little table is played and kept."""
    assert little("play", "little", *ONE)[0] == 0
    assert little("page", "little")[0] == 0
    return tmp_path / "results/numbers/little.csv"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('page = "little"', 'page = "readme"', 'page = "readme": must be of a-z'),
        ('page = "little"', 'page = "../up"', 'page = "../up": must be of a-z'),
        ("seeds = [0, 1]", "seeds = []", "seeds: must have one at least"),
        ("seeds = [0, 1]", "seeds = [1, 1]", "seeds: 1 is there twice"),
        ("seeds = [0, 1]", "seeds = [true]", "seeds 1 = True"),
        ("seeds = [0, 1]", "seeds = [-1]", "seeds 1 = -1"),
        ('name = "accuracy"', 'name = "seed"', "have a column of that name already"),
        ('name = "accuracy"', 'name = ""', 'measures ("").name: must not be empty'),
        ('name = "on the moon"', 'name = ".."', 'columns ("..").name: needs letters'),
        ('name = "Local"', 'name = "Lo|cal"', "nor have | or line breaks"),
        ('group = "Ablation"', 'group = "table"', '"table" is the table itself'),
        ('= "rounds" }', '= "rounds / 0" }', '"rounds / 0" divides by 0'),
        ("rounds = 3\n", "", "rounds: is required where [by_rounds]"),
        ('columns = ["batches of 50"]', 'columns = ["on the moon"]', "is not to be played"),
    ],
)
def test_a_table_that_does_not_agree_with_itself_is_refused(
    little, tmp_path, capsys, before, after, told
):
    path = tmp_path / "results/tables/little.toml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    assert little("page", "little") == (2, "")
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: ")
    assert told in error


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda head, line: f"{head}\n{set_cell(line, 5, 'nan')}", "'nan' is not a finite number"),
        (lambda head, line: f"{head}\n{set_cell(line, 5, '22.08')}", "a share is from 0 to 1"),
        (lambda head, line: f"{head}\n{set_cell(line, 8, 'inf')}", "'inf' is not a finite number"),
        (lambda head, line: f"{head}\n{line}\n{line}", "line 3: is of the same run as line 2"),
        (lambda head, line: f"{head.replace('accuracy', 'acuracy', 1)}\n{line}", "no column 'acc"),
        (lambda head, line: "", "is empty"),
    ],
)
def test_numbers_that_can_not_be_are_named_and_stay(little, played, capsys, change, told):
    text = change(*played.read_text().splitlines())
    played.write_text(text)
    assert little("page", "little")[0] == 2
    error = capsys.readouterr().err
    assert str(played) in error
    assert told in error
    assert played.read_text() == text


def set_cell(line, number, text):
    """A line of CSV with another cell."""
    cells = line.split(",")
    cells[number] = text
    return ",".join(cells)


@pytest.mark.slow
def test_what_is_of_other_settings_stays_and_counts_again_with_them(
    little, played, tmp_path, capsys
):
    text = played.read_text()
    (tmp_path / "runs").rename(tmp_path / "gone")
    (tmp_path / "runs/little").mkdir(parents=True)
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace("learning_rate = 0.1", "learning_rate = 0.2"))
    code, page = little("page", "little")
    assert (code, "0 runs are played" in page) == (0, True)
    assert "seed 0, as kept: other settings: not counted" in capsys.readouterr().err
    assert played.read_text() == text
    scenario.write_text(SCENARIO)
    assert "1 run is played" in little("page", "little")[1]


@pytest.mark.slow
def test_a_row_of_another_name_leaves_its_numbers_in_the_file(little, played, tmp_path, capsys):
    text = played.read_text()
    path = tmp_path / "results/tables/little.toml"
    path.write_text(path.read_text().replace('name = "Local"', 'name = "Alone"'))
    assert "0 runs are played" in little("page", "little")[1]
    assert "the table has no such cell: not counted" in capsys.readouterr().err
    assert played.read_text() == text


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("before", "after"),
    [('path = "accuracy.mean"', 'path = "acuracy.mean"'), ('nodes = "acc', 'nodes = "ac')],
)
def test_a_path_that_no_summary_has_erases_nothing(little, played, tmp_path, capsys, before, after):
    text = played.read_text()
    path = tmp_path / "results/tables/little.toml"
    path.write_text(path.read_text().replace(before, after))
    assert little("page", "little")[0] == 1
    assert 'its summary has no finite number "' in capsys.readouterr().err
    assert played.read_text() == text


@pytest.mark.slow
def test_a_choice_that_no_summary_has_erases_nothing(little, played, tmp_path, capsys):
    text = played.read_text()
    path = tmp_path / "results/tables/little.toml"
    path.write_text(path.read_text().replace('"accuracy_validation.mean"', '"acuracy.mean"'))
    assert little("page", "little")[0] == 0
    assert "the run has none of the numbers that choose" in capsys.readouterr().err
    assert played.read_text() == text


@pytest.mark.slow
def test_a_damaged_run_is_named_and_the_others_count(little, played, tmp_path, capsys):
    little("play", "little", "--seeds", "1", *ONE[2:])
    own = tmp_path / "runs/little/batches_of_50/local/table/seed-0/local"
    (own / "scenario.toml").write_text("horizon_s = ")
    code, page = little("page", "little")
    assert (code, "2 runs are played" in page) == (1, True)
    assert f"{own}" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_of_other_settings_are_refused_before_any_is_played(little, played, tmp_path, capsys):
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace("learning_rate = 0.1", "learning_rate = 0.2"))
    before = (tmp_path / "runs/little/played.jsonl").read_text()
    assert little("play", "little")[0] == 2
    error = capsys.readouterr().err
    assert "seed-0/local: a run with other training.learning_rate\n" in error
    assert "move these away, or play into another folder" in error
    assert (tmp_path / "runs/little/played.jsonl").read_text() == before


def test_a_cell_that_is_wrong_stops_the_others_before_they_are_played(little, tmp_path, capsys):
    path = tmp_path / "results/tables/little.toml"
    path.write_text(path.read_text().replace('entry = "fedavg"', 'entry = "fedavgg"'))
    assert little("play", "little", "--seeds", "0")[0] == 2
    told = 'tables/little.toml: column "batches of 50", row "FedAvg": there is no "fedavgg"; did'
    assert told in capsys.readouterr().err
    assert not (tmp_path / "runs/little").exists()


@pytest.mark.parametrize(
    "text", ["# Results\n", f"{command.END}\n{command.BEGIN}\n", f"{command.BEGIN}\n## To play\n"]
)
def test_a_list_of_verdicts_without_its_marks_stays_as_it_is(little, tmp_path, capsys, text):
    index = tmp_path / "results/README.md"
    index.write_text(text)
    assert little("page", "little") == (2, "")
    assert f"{index}: must have the lines" in capsys.readouterr().err
    assert index.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--rounds", "5"), "--rounds 5: must be from 1 to 3, the table's own"),
        (("--columns", "on the moon"), "no cell is of these columns, rows and groups together"),
        (("--seeds", "0", "--runs", str(tables.ROOT / "runs")), "lies inside the repository"),
        (("--seeds", "0", "--runs", "/dev/null/runs"), "can't be made"),
    ],
)
def test_arguments_that_fit_nothing_are_refused(little, tmp_path, capsys, arguments, told):
    runs = () if "--runs" in arguments else ("--runs", str(tmp_path / "runs"))
    assert command.main(["play", "little", *arguments, *runs]) == 2
    assert told in capsys.readouterr().err
    assert not list((tmp_path / "runs").iterdir())


def test_no_threads_and_no_folder_are_refused(little, tmp_path, capsys):
    with pytest.raises(SystemExit):
        little("play", "little", "--threads", "0")
    assert "'0' is no number of threads" in capsys.readouterr().err
    assert command.main(["page", "little", "--runs", str(tmp_path / "rusn")]) == 2
    assert "rusn: there is no such folder" in capsys.readouterr().err


@pytest.mark.slow
def test_lines_that_are_none_of_the_ledger_are_left_out(little, played, tmp_path):
    path = tmp_path / "runs/little/played.jsonl"
    path.write_text('[1]\n{}\n{"run": "x", "cpu_s": "long"}\n' + path.read_text())
    [lines] = records.ledger(table_files.load("little"), tmp_path / "runs").values()
    assert len(lines) == 1


@pytest.mark.parametrize("text", ["[]", '{"a": "x"}', '{"a": NaN}', '{"a'])
@pytest.mark.slow
def test_estimates_that_are_none_are_named(little, played, tmp_path, capsys, text):
    before = played.read_text()
    (tmp_path / "runs/little/estimates.json").write_text(text)
    assert little("page", "little")[0] == 2
    assert "estimates.json: is no list of estimates; delete it" in capsys.readouterr().err
    assert played.read_text() == before


@pytest.mark.slow
def test_two_that_add_numbers_wait_for_each_other(little, played, tmp_path):
    with files.alone(tmp_path / "results"):
        other = threading.Thread(target=little, args=("page", "little"))
        before = played.read_text()
        played.unlink()
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert not played.exists()
    other.join(60.0)
    assert played.read_text() == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"kd', "is not JSON"),
        ("[]", "does not have the best values of each entry"),
        ('{"kd_pdfl": 3}', "does not have the best values of each entry"),
        ('{"kd_pdfll": {"values": {}}}', 'there is no "kd_pdfll"; did you mean "kd_pdfl"?'),
        ('{"kd_pdfl": {"values": {"learning_rate": 1}}}', "learning_rate is no key of training"),
    ],
)
def test_a_search_that_is_none_is_named(tmp_path, capsys, text, told):
    (tmp_path / "best.json").write_text(text)
    assert command.main(["tuned", "kd_pdfl_iot", str(tmp_path)]) == 2
    assert told in capsys.readouterr().err


def radio_lines(*seeds):
    """Numbers over radio as they are kept."""
    lines = [f"local,radio,{seed},0.5,360,1,2,3,4" for seed in seeds]
    return "\n".join([",".join(over_radio.COLUMNS), *lines]) + "\n"


def test_a_folder_without_runs_leaves_the_numbers_over_radio(tmp_path, monkeypatch):
    path = tmp_path / "radio.csv"
    path.write_text(radio_lines(0, 1))
    monkeypatch.setattr(over_radio, "CSV", path)
    before = over_radio.kept()
    over_radio.collect(tmp_path / "nothing")
    assert over_radio.kept() == before


def test_a_run_over_radio_is_added_to_those_that_are_kept(tmp_path, monkeypatch):
    path = tmp_path / "radio.csv"
    path.write_text(radio_lines(0))
    monkeypatch.setattr(over_radio, "CSV", path)
    (tmp_path / "runs/radio/local/rate-0.1/seed-4").mkdir(parents=True)
    (tmp_path / "runs/radio/local/rate-0.1/seed-4/row.json").write_text(json.dumps({}))
    keys = ("steps", "megabytes", "transmitted_megabytes", "airtime_s", "cpu_s")
    choice = type("Choice", (), {"rate": 0.1, "stage": "trained"})
    monkeypatch.setattr(over_radio, "choices", lambda _: {"local": choice})
    monkeypatch.setattr(over_radio.methods_table, "played", lambda _: dict.fromkeys(keys, 1.0))
    monkeypatch.setattr(over_radio.methods_table, "at", lambda *_: 0.75)
    over_radio.collect(tmp_path / "runs")
    kept = over_radio.kept()["local", "radio"]
    assert {seed: result.values["accuracy"] for seed, result in kept.items()} == {0: 0.5, 4: 0.75}


@pytest.mark.parametrize("option", [("--rows", "Local"), ("--rounds", "2"), ("--threads", "2")])
def test_options_that_over_radio_has_none_of_are_refused(tmp_path, capsys, option):
    assert command.main(["play", "over_radio", "--runs", str(tmp_path), *option]) == 2
    assert f"{option[0]}: over_radio has none" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_numbers_of_a_measure_that_is_new_are_played_again(little, played, tmp_path):
    table = table_files.load("little")
    kept = numbers.kept(table)
    [(key, seeds)] = kept.items()
    assert key[1] == "local"
    run = numbers.cell_runs.run_of(table, next(tables.cells(table)), 0, None, tmp_path)
    assert numbers.has(table, kept, run)
    seeds[0].values.pop("accuracy, nodes")
    assert not numbers.has(table, kept, run)
