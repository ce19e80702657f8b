"""The tables of the papers: their data, playing them, the rule for verdicts, the pages."""

import importlib
import json
import tomllib
from pathlib import Path

import pytest

from netsim.scenario import check

command = pytest.importorskip("tools.results.__main__", reason="an installed package has none")
numbers, over_radio, playing, tables, verdict = (
    importlib.import_module(f"tools.results.{name}")
    for name in ("numbers", "over_radio", "playing", "tables", "verdict")
)
Result, Verdict = numbers.Result, verdict.Verdict
paired, word = verdict.paired, verdict.word

ROOT = Path(__file__).resolve().parents[1]

SCENARIO = """
horizon_s = 3.0

[nodes]
count = 3

[exchange]
schedule = "rounds"
interval_s = 1.0

[data]
kind = "digits"
validation = 0.2

[data.partition]
kind = "iid"

[model]
kind = "mlp"
hidden = [8]

[training]
learning_rate = 0.1
batch_size = 50

[compute]
kind = "fixed"
step_s = 0.01

[[algorithm]]
kind = "local"
local_steps = 2

[[algorithm]]
kind = "fedavg"
local_steps = 2
"""

TABLE = """
page = "little"
paper = "Little (Nobody, 2026)"
title = "Table 1"
scenario = "{scenario}"
seeds = [0, 1]
rounds = 3
by_rounds = {{ horizon_s = "rounds" }}
choose = "accuracy_validation.mean"
about = "Three nodes."

[[measures]]
name = "accuracy"
path = "accuracy.mean"
nodes = "accuracy.std"

[[columns]]
name = "batches of 50"

[[columns]]
name = "batches of 100"
set = {{ "training.batch_size" = 100 }}

[[columns]]
name = "on the moon"
missing = "no files"

[[rows]]
name = "Local"
entry = "local"
role = "local"
printed = ["50.0 ± 1.0", "60.0", "-"]

[[rows]]
name = "FedAvg"
entry = "fedavg"
role = "ours"
printed = ["70.0", "56.0", "80.0"]

[[readings]]
name = "one step"
group = "Ablation"
set = {{ "algorithm.fedavg.local_steps" = 1 }}
columns = ["batches of 50"]
rows = ["FedAvg"]

[[curves]]
name = "Fig. 1"
column = "batches of 50"
metric = "accuracy"
"""


@pytest.fixture
def little(tmp_path, monkeypatch):
    """Tables, numbers and pages in a folder of their own; calls the command with arguments."""
    folder = tmp_path / "results"
    (folder / "tables").mkdir(parents=True)
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO)
    (folder / "tables" / "little.toml").write_text(TABLE.format(scenario=scenario))
    load = tables.load
    monkeypatch.setattr(tables, "names", lambda: ["little"])
    monkeypatch.setattr(tables, "load", lambda name: load(name, folder / "tables"))
    monkeypatch.setattr(numbers, "NUMBERS", folder / "numbers")
    monkeypatch.setattr(command, "RESULTS", folder)

    def call(*arguments):
        code = command.main([*arguments, "--runs", str(tmp_path / "runs")])
        page = folder / "little.md"
        return code, page.read_text() if page.is_file() else ""

    return call


def test_a_table_is_played_collected_and_written(little, tmp_path, capsys):
    assert little("play", "little", "--seeds", "0", "--groups", "table") == (0, "")
    assert capsys.readouterr().out.count(" s\n") == 4
    code, page = little("page", "little")
    assert code == 0
    assert "Not judged" in page
    assert "4 runs are played of 10 planned" in page
    assert "on the moon (no files)" in page
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


def test_a_run_of_other_settings_is_named_and_left_out(little, tmp_path, capsys):
    little("play", "little", "--seeds", "0", "--rows", "Local", "--columns", "batches of 50")
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace("learning_rate = 0.1", "learning_rate = 0.2"))
    _, page = little("page", "little")
    assert "other training.learning_rate: not counted" in capsys.readouterr().err
    assert "0 runs are played" in page


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
    assert len(numbers.kept_curves(tables.load("little"))) == 4
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


def test_cut_rounds_have_folders_and_tables_of_their_own(little, tmp_path):
    little("play", "little", "--seeds", "0", "--rows", "Local", "--rounds", "2")
    assert list((tmp_path / "runs/little").glob("*/local/table/rounds-2/seed-0/local"))
    _, page = little("page", "little")
    assert "### 2 of 3 rounds" in page


def test_estimates_stand_beside_what_runs_took(little, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert little("estimate", "little", "--rows", "Local")[0] == 0
    assert "CPU hours" in capsys.readouterr().out
    little("play", "little", "--seeds", "0", "--rows", "Local")
    assert ", estimated " in little("page", "little")[1]


def test_a_failed_run_is_told_and_the_others_go_on(little, tmp_path, capsys):
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO.replace('kind = "digits"', 'kind = "mnist"'))
    code, _ = little("play", "little", "--seeds", "0", "--rows", "Local", "--data", str(tmp_path))
    assert code == 1
    assert capsys.readouterr().out.count("mnist") >= 2


@pytest.mark.parametrize(
    ("rule", "rounds", "value"),
    [
        ("rounds", 7, 7),
        ("rounds - 2", 7, 5),
        ("200 * rounds + 100", 7, 1500),
        ("rounds / 4", 6, 1.5),
    ],
)
def test_keys_follow_the_rounds(rule, rounds, value):
    assert tables.by_rounds(rule, rounds) == value


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(ValueError, match="is not of the form"):
        tables.by_rounds("rounds ** 2", 3)


def test_names_that_differ_have_folders_that_differ():
    assert tables.slug("FedAvg+") != tables.slug("FedAvg")
    assert tables.slug("mu1 = 0, mu2 = 10") == "mu1_=_0_mu2_=_10"


ALL = tables.names()


@pytest.mark.parametrize("name", ALL)
def test_every_cell_of_a_table_can_be_played(name):
    table = tables.load(name)
    known = {}
    for cell in tables.cells(table):
        scenario = cell.row.scenario or cell.column.scenario or table.scenario
        key = repr((scenario, tables.keys(table, cell)))
        if key not in known:
            run = playing.run_of(table, cell, 0, None, Path("runs"))
            known[key] = check(playing.job_of(table, run).draft, playing.MODULES)
        assert cell.row.entry in {entry.name for entry in known[key].algorithm}
    if table.by_rounds:
        tables.keys(table, next(tables.cells(table)), 8)


@pytest.mark.parametrize("name", ALL)
def test_the_rounds_of_a_table_are_those_of_its_scenario(name):
    table = tables.load(name)
    if table.by_rounds:
        run = playing.run_of(table, next(tables.cells(table)), 0, None, Path("runs"))
        whole = check(playing.job_of(table, run).draft, playing.MODULES)
        assert tables.by_rounds(table.by_rounds["horizon_s"], table.rounds) == whole.horizon_s


@pytest.mark.parametrize("page", sorted({tables.load(name).page for name in ALL}))
def test_pages_are_what_the_numbers_give(page):
    text = (tables.RESULTS / f"{page}.md").read_text(encoding="utf-8")
    assert text == command.page_text(page), (
        f"run: python -m tools.results page TABLE, for a table of {page}"
    )


def test_the_list_of_verdicts_is_what_the_numbers_give():
    text = (tables.RESULTS / "README.md").read_text(encoding="utf-8")
    assert text == command.with_verdicts(text), "run: python -m tools.results page TABLE"


def test_the_page_over_radio_is_what_the_numbers_give():
    assert over_radio.PAGE.read_text(encoding="utf-8") == over_radio.page(), (
        "run: python -m tools.results page over_radio"
    )


def results(*values, choose=None):
    return {seed: Result({"accuracy": v}, choose) for seed, v in enumerate(values)}


def test_a_lead_is_judged_by_its_paired_interval():
    """Differences 1, 2, 3: mean 2, deviation 1, t(0.975, 2) = 4.3027, so 4.3027 / sqrt(3) = 2.484.

    A tenth of that spread around the same mean has a tenth of the interval.
    """
    base = results(0.5, 0.6, 0.4)
    wide = paired(results(0.51, 0.62, 0.43), base, "accuracy")
    assert (wide.mean, wide.half, wide.pairs) == (
        pytest.approx(0.02),
        pytest.approx(0.02484, rel=1e-3),
        3,
    )
    assert word(wide) == "none that the seeds show"
    assert word(paired(results(0.519, 0.62, 0.421), base, "accuracy")) == "holds"
    assert word(paired(base, results(0.519, 0.62, 0.421), "accuracy")) == "behind"
    assert word(paired(results(0.6), base, "accuracy")) == "one seed"
    assert paired({7: Result({"accuracy": 1.0})}, base, "accuracy") is None


def test_the_sentence_names_where_a_lead_holds(little):
    table = tables.load("little")
    first, second = ("batches_of_50", "batches_of_100")
    found = {
        (first, "local", "table", None): results(0.50, 0.60),
        (first, "fedavg", "table", None): results(0.60, 0.70),
    }
    assert Verdict(table, found, None).sentence().startswith("The lead holds in 1 of 3 columns")
    found[second, "local", "table", None] = results(0.7, 0.8)
    found[second, "fedavg", "table", None] = results(0.6, 0.7)
    told = Verdict(table, found, None).sentence()
    assert told.startswith("The lead holds")  # the paper has none in the second column
    assert "Order: 2 of 2 pairs" in told
    assert (
        "8.5 points from the printed ones on average, at most 15.0 (Local, batches of 100)" in told
    )


def test_every_accuracy_has_a_verdict_of_its_own(little, tmp_path):
    path = tmp_path / "results/tables/little.toml"
    other = '[[measures]]\nname = "on validation samples"\npath = "accuracy_validation.mean"\n'
    path.write_text(path.read_text().replace("[[columns]]", f"{other}\n[[columns]]", 1))
    little("play", "little", "--groups", "table")
    _, page = little("page", "little")
    assert page.count("**Verdict.**") == 1
    assert page.count("*By on validation samples:*") == 1
    assert page.count("**Lead over the best baseline** by") == 2
    assert page.count("**Every row against it**") == 1


def test_variants_of_a_method_compete_on_validation_samples(tmp_path):
    text = TABLE.format(scenario="quickstart").replace(
        'name = "FedAvg"',
        'name = "better"\nmethod = "FedAvg"\nentry = "fedavg"\nrole = "ours"\n'
        '\n[[rows]]\nname = "FedAvg"',
    )
    (tmp_path / "two.toml").write_text(text)
    table = tables.load("two", tmp_path)
    here = "batches_of_50"
    found = {
        (here, "local", "table", None): results(0.5, 0.5),
        (here, "better", "table", None): results(0.6, 0.6, choose=0.9),
        (here, "fedavg", "table", None): results(0.7, 0.7, choose=0.8),
    }
    lead = next(Verdict(table, found, None).leads())
    assert lead.row.name == "better"
    assert lead.difference.mean == pytest.approx(0.1)
    assert lead.printed == pytest.approx(0.2)


def test_what_a_search_finds_becomes_the_scenarios_algorithms(tmp_path, capsys):
    values = {
        "training.learning_rate": 0.123456,
        "training.batch_size": 5,
        "algorithm.kd_pdfl.mu1": 9.0,
        "algorithm.kd_pdfl_falls.step": "elementwise",
        "algorithm.kd_pdfl_falls.mu1": 0.56,
    }
    (tmp_path / "best.json").write_text(json.dumps({"kd_pdfl_falls": {"values": values}}))
    assert command.main(["tuned", "kd_pdfl_iot", str(tmp_path)]) == 0
    found = tomllib.loads(capsys.readouterr().out)["algorithm"]
    before = tomllib.loads((ROOT / "scenarios" / "kd_pdfl_iot.toml").read_text())["algorithm"]
    changed = {"step": "elementwise", "mu1": 0.56}
    changed["training"] = {"learning_rate": 0.1235, "batch_size": 5}
    assert found == [e | changed if e.get("name") == "kd_pdfl_falls" else e for e in before]


def test_the_ablation_lets_the_rate_fall_to_where_it_was():
    [entry] = [
        entry
        for entry in tomllib.loads((ROOT / "scenarios" / "kd_pdfl_iot.toml").read_text())[
            "algorithm"
        ]
        if entry.get("name") == "kd_pdfl_falls"
    ]
    readings = tables.load("kd_pdfl_iot").readings
    [reading] = [r for r in readings if r.name == "the rate does not fall"]
    assert list(reading.set.values()) == [entry["training"]["learning_rate"]]


def test_the_radio_page_tells_what_survives(tmp_path, monkeypatch):
    lines = [",".join(over_radio.COLUMNS)]
    for world, shift in (("rounds", 0.1), ("radio", 0.0)):
        for seed in range(3):
            for method, more in (("local", 0), ("kd_pdfl", shift), ("fedavg", shift / 2)):
                lines.append(f"{method},{world},{seed},{0.5 + more + seed / 100},360,1,2,3,4")
    (tmp_path / "radio.csv").write_text("\n".join(lines))
    monkeypatch.setattr(over_radio, "CSV", tmp_path / "radio.csv")
    page = over_radio.page()
    assert "`kd_pdfl`: lead over local training: ideal holds +10.0 ± 0.0, radio none" in page
    assert "| KD-PDFL: kd_pdfl | its best: fedavg, fedavg | +5.0 ± 0.0 | +0.0 ± 0.0 | -5.0" in page
