"""The commands on a real, small run."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from netsim.console.app import app

TWO = """\
extends = "s.toml"
[[algorithm]]
kind = "alone"
[[algorithm]]
kind = "alone"
name = "eager"
local_steps = 4
"""


@pytest.fixture
def ok(netsim):
    def call(*arguments: str):
        result = netsim(*arguments)
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.mark.slow
def test_a_run_writes_its_folder_and_says_where(ok, here):
    result = ok("run", "s.toml", "--no-figures")
    assert "results in runs/s" in result.stdout
    assert "4 nodes · complete · ideal links · poisson" in result.stderr
    assert "alone  100 %" in result.stderr
    summary = json.loads((here / "runs" / "s" / "summary.json").read_text())
    assert summary["algorithm"] == "alone"
    assert len(pd.read_parquet(here / "runs" / "s" / "metrics")) > 0


@pytest.mark.slow
def test_a_second_run_takes_the_next_free_folder(ok, here):
    for _ in range(3):
        ok("run", "s.toml", "-q", "--no-figures")
    assert sorted(p.name for p in (here / "runs").iterdir()) == ["s", "s-2", "s-3"]


@pytest.mark.slow
def test_the_resolved_scenario_gives_the_same_run(ok, here):
    ok("run", "s.toml", "-q", "--no-figures", "--out", "first", "--seed", "3")
    ok("run", "first/scenario.toml", "-q", "--no-figures", "--out", "second")
    first, second = (
        json.loads((here / f / "summary.json").read_text()) for f in ("first", "second")
    )
    assert first["seed"] == 3
    for key in ("event_log_sha256", "parameters_sha256", "accuracy", "name"):
        assert first[key] == second[key]


@pytest.mark.slow
def test_several_algorithms_get_sub_folders_and_a_comparison(ok, netsim, here):
    (here / "two.toml").write_text(TWO)
    result = ok("run", "two.toml", "--figures")
    top = here / "runs" / "two"
    own = {"comparison.csv", "figures", "checksums.json", "scenario.toml", "report.html"}
    assert {p.name for p in top.iterdir()} == {"alone", "eager"} | own
    assert (top / "eager" / "figures" / "accuracy_vs_time.png").stat().st_size > 1000
    assert list(pd.read_csv(top / "comparison.csv").algorithm) == ["alone", "eager"]
    assert "eager" in result.stdout
    inner = tomllib.loads((top / "eager" / "scenario.toml").read_text())
    assert inner["algorithm"]["name"] == "eager"
    assert "eager" in netsim("compare", "runs/two", algorithms=False).stdout


def test_quiet_says_nothing(ok):
    result = ok("run", "s.toml", "-q", "--no-figures")
    assert result.output == ""


@pytest.mark.slow
def test_timing_only_runs_without_learning(ok, here):
    ok("run", "s.toml", "-q", "--no-figures", "--timing-only", "--out", "timed")
    ok("run", "s.toml", "-q", "--no-figures", "--out", "full")
    timed, full = (json.loads((here / f / "summary.json").read_text()) for f in ("timed", "full"))
    assert timed["event_log_sha256"] == full["event_log_sha256"]
    assert "accuracy" not in timed


def test_a_failing_run_names_the_algorithms_line_and_keeps_its_folder(netsim, here):
    result = netsim("run", "s.toml", "--set", "algorithm.trouble=error")
    assert result.exit_code == 1
    assert "the run failed: node " in result.stderr
    assert "ValueError: on purpose" in result.stderr
    assert 'alone.py:19 in on_wakeup: raise ValueError("on purpose")' in result.stderr
    assert "what was written stays readable: runs/s" in result.stderr
    assert "Traceback" not in result.stderr
    assert json.loads((here / "runs/s/status.json").read_text())["state"] == "failed"


def test_debug_shows_the_traceback(netsim):
    result = netsim("run", "s.toml", "--set", "algorithm.trouble=error", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_an_interrupted_run_ends_with_130_and_says_what_remains(netsim, here):
    result = netsim("run", "s.toml", "--set", "algorithm.trouble=interrupt")
    assert result.exit_code == 130
    assert "interrupted: what was written stays readable: runs/s" in result.stderr
    assert json.loads((here / "runs/s/status.json").read_text())["state"] == "interrupted"


def interrupted(*_, **__):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
def test_an_interrupt_while_the_figures_are_drawn_loses_no_word_of_the_results(
    netsim, here, monkeypatch
):
    from netsim.views import sweep
    from netsim.views.render import pictures as figures

    monkeypatch.setattr(figures, "draw", interrupted)
    monkeypatch.setattr(sweep, "gather", interrupted)
    result = netsim("run", "s.toml", "--out", "one", "--figures")
    assert result.exit_code == 130
    assert "interrupted: all events had happened" in result.stderr
    assert "netsim resume one does what is missing" in " ".join(result.stderr.split())
    result = netsim("sweep", "s.toml", "--seeds", "0:2", "--jobs", "1", "--out", "swept")
    assert result.exit_code == 130
    assert "interrupted: 2 of 2 runs had ended; their results are in swept" in result.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run", "Folder of the results [runs/NAME]."),
        ("sweep", "Runs at a time [one a core, or a GPU]."),
        ("tune", "The table [$NETSIM_ROUTES or ~/.config/netsim]."),
    ],
)
def test_help_shows_what_stands_in_brackets(netsim, command, says):
    shown = netsim(command, "--help", algorithms=False).stdout
    words = [word for line in shown.splitlines() for word in line.strip("│ ").split()]
    assert says in " ".join(words)


@pytest.mark.slow
def test_a_sweep_runs_every_point_and_seed(ok, netsim, here):
    result = ok(
        "sweep", "s.toml", "--over", "algorithm.local_steps=1,2", "--seeds", "0:2", "--jobs", "2",
        "--out", "swept",
    )  # fmt: skip
    found = {str(p.parent.relative_to(here / "swept")) for p in here.glob("swept/**/summary.json")}
    assert found == {f"local_steps={n}/seed-{s}/alone" for n in (1, 2) for s in (0, 1)}
    rows = pd.read_csv(here / "swept" / "sweep.csv")
    rows = rows[rows.metric == "accuracy"]
    assert list(rows.point) == ["local_steps=1", "local_steps=2"]
    assert list(rows["algorithm.local_steps"]) == [1, 2]
    assert list(rows.seeds) == [2, 2]
    assert "4 of 4" in result.stderr
    assert "paired by seed" in result.stdout
    assert (here / "swept" / "sweep.png").stat().st_size > 1000
    accuracies = {
        (n, s): json.loads(
            (here / f"swept/local_steps={n}/seed-{s}/alone/summary.json").read_text()
        )["accuracy"]["mean"]
        for n in (1, 2)
        for s in (0, 1)
    }
    differences = [accuracies[2, s] - accuracies[1, s] for s in (0, 1)]
    assert rows["diff"].iloc[1] == pytest.approx(sum(differences) / 2)
    again = netsim("compare", "swept", algorithms=False).stdout
    assert again.splitlines()[:8] == result.stdout.splitlines()[:8]


@pytest.mark.slow
def test_options_fill_and_override_the_files_sweep(ok, netsim, here):
    (here / "s.toml").write_text(
        (here / "s.toml").read_text() + '[sweep]\nseeds = [5]\nshow = ["wall_s"]\njobs = 1\n'
        '[sweep.over]\n"algorithm.local_steps" = [1, 2, 3]\n'
    )
    result = ok(
        "sweep", "s.toml", "--over", "algorithm.local_steps=2", "--over", "radio.fading.kind=none",
        "--over", 'nodes.groups=[{name="a",count=1,speed=2.0}]', "--show", "local_steps,best",
        "--target", "0.1", "--out", "swept",
    )  # fmt: skip
    (folder,) = (p for p in (here / "swept").iterdir() if p.is_dir())
    assert (folder / "seed-5" / "alone" / "summary.json").is_file()
    rows = pd.read_csv(here / "swept" / "sweep.csv").set_index("metric")
    assert rows.loc["target_reached", "mean"] == 1.0
    assert rows.loc["local_steps", "nodes.groups"].startswith('[{name = "a"')
    assert "local steps" in result.stdout
    assert "wall" not in result.stdout
    shown = netsim("compare", "swept", "--show", "wall", algorithms=False).stdout
    assert "wall" in shown
    refused = netsim("compare", "swept", "--against", "nobody", algorithms=False)
    assert refused.exit_code == 2
    assert "--against nobody: is no algorithm of this sweep; it has alone" in refused.stderr


@pytest.mark.slow
def test_an_interrupted_sweep_sums_up_what_has_ended_and_names_the_rest(netsim, here):
    result = netsim(
        "sweep", "s.toml", "--over", "algorithm.trouble=none,interrupt", "--seeds", "0:2",
        "--jobs", "1", "--out", "swept",
    )  # fmt: skip
    assert result.exit_code == 130
    assert "2 of 4 runs had ended; their results are in swept" in result.stderr
    assert "not ended: trouble=interrupt, seed 0" in result.stderr
    assert "not ended: trouble=interrupt, seed 1" in result.stderr
    rows = pd.read_csv(here / "swept" / "sweep.csv")
    assert set(rows.point) == {"trouble=none"}
    assert "no run has ended of trouble=interrupt" in result.stdout
    assert "trouble=none" in netsim("compare", "swept", algorithms=False).stdout


@pytest.mark.slow
def test_a_scenario_with_a_sweep_is_run_as_one_and_can_be_run_again(ok, here):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    text = (here / "s.toml").read_text()
    (here / "s.toml").write_text(
        text + "[sweep]\njobs = 1\ntrials = 3\nseeds = [1]\n[sweep.draw]\n"
        "training.learning_rate = {low = 0.001, high = 1.0, log = true}\n"
    )
    result = ok("run", "s.toml", "--out", "first")
    best = json.loads((here / "first" / "best.json").read_text())["alone"]
    assert best["score"] == pytest.approx(pd.read_csv(here / "first" / "trials.csv").score.max())
    rate = best["values"]["training.learning_rate"]
    assert f"--set training.learning_rate={rate}" in result.stdout
    ok("run", "first/scenario.toml", "-q", "--out", "second")
    assert (here / "second" / "trials.csv").read_text() == (
        here / "first" / "trials.csv"
    ).read_text()


@pytest.mark.slow
def test_a_grid_selects_a_rate_on_validation_samples_if_asked_to(ok, here):
    over = ("--over", "training.learning_rate=0.001,0.5,0.01", "--jobs", "1")
    ok("sweep", "s.toml", *over, "--out", "plain")
    assert not (here / "plain" / "best.json").exists()
    result = ok("sweep", "s.toml", *over, "--select", "accuracy_validation", "--out", "chosen")
    best = json.loads((here / "chosen" / "best.json").read_text())["alone"]
    assert best["values"] == {"training.learning_rate": 0.5}
    assert "--set training.learning_rate=0.5" in result.stdout
    tried = pd.read_csv(here / "chosen" / "trials.csv")
    assert len(tried) == 3
    assert best["score"] == tried.score.max()


@pytest.mark.slow
def test_one_failing_point_leaves_the_others_and_ends_with_1(netsim, here):
    result = netsim(
        "sweep", "s.toml", "--over", "algorithm.trouble=none,error", "--jobs", "1", "--out", "swept"
    )
    assert result.exit_code == 1
    assert "1 of 2 runs; the others are in swept" in result.stderr
    assert "trouble=error, seed 0: node " in result.stderr
    assert (here / "swept" / "sweep.csv").is_file()


def test_validate_says_what_it_found(ok, written):
    result = ok("validate", "s.toml")
    assert result.stdout.startswith("ok s.toml: 4 nodes")
    assert written() == set()


def test_validate_goes_on_after_a_bad_file(netsim, here):
    (here / "bad.toml").write_text("x = 1\n")
    result = netsim("validate", "bad.toml", "s.toml", "--no-world")
    assert result.exit_code == 2
    assert "ok s.toml" in result.stdout
    assert "bad.toml: x = 1" in result.stderr


def test_validate_checks_every_point_of_a_grid(netsim, here):
    text = (here / "s.toml").read_text()
    over = '\n[sweep]\nseeds = [0, 1]\n[sweep.over]\n"training.batch_size" = [5, 7, 0]\n'
    (here / "swept.toml").write_text(text + over + '"nodes.count" = [4, -3]\n')
    result = netsim("validate", "swept.toml", "--no-world")
    assert result.exit_code == 2
    assert "2 problems" in result.stderr
    assert "[sweep] training.batch_size = 0" in result.stderr
    assert "[sweep] nodes.count = -3" in result.stderr


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("what", "expected", "absent"),
    [
        ("algorithms", "Alone: trains at every wake-up.", "rayleigh"),
        ("channels", "rayleigh", "digits"),
        ("fading", "rayleigh", "log_distance"),
        ("datasets", "digits", "dirichlet"),
        ("models", "lenet", "ring"),
        ("topologies", "ring", "lenet"),
        ("exchange", "star", "lenet"),
        ("all", "class_mix", "no such thing"),
    ],
)
def test_list_shows_families_with_a_line_each(ok, what, expected, absent):
    text = ok("list", what).stdout
    assert expected in text
    assert absent not in text


def test_list_shows_keys_and_defaults(ok):
    text = ok("list", "algorithms", "--keys").stdout
    assert "local_steps = 1" in text
    assert 'trouble = ""' in text


def test_the_schema_knows_every_table_and_the_users_algorithms(ok):
    schema = json.loads(ok("schema").stdout)
    assert {"nodes", "radio", "link", "exchange", "algorithm", "sweep", "extends"} <= set(
        schema["properties"]
    )
    assert schema["$defs"]["alone_algorithm"]["properties"]["local_steps"]["minimum"] == 1
    text = json.dumps(schema)
    for name in ("rayleigh", "class_mix", "poisson", "picky_algorithm"):
        assert name in text


def test_python_m_netsim_is_the_command(here):
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    for arguments, code in ((["--help"], 0), (["fly"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "netsim", *arguments],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_help_does_not_wait_for_torch(here):
    root = str(Path(__file__).parents[2])
    code = "import sys, netsim.console.app; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, check=False
    )
    assert done.returncode == 0


@pytest.mark.slow
def test_a_run_does_not_wait_for_torchs_compiler(here):
    """It takes two seconds to import, and some corners of torch do so on the quiet."""
    root = str(Path(__file__).parents[2])
    code = (
        "import sys\nfrom netsim.console.app import main\n"
        "sys.argv[1:] = 'run quickstart -q --set horizon_s=20'.split()\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print([m for m in ('torch._dynamo', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_methods_that_train_unequally_are_told_of_in_the_terminal_and_on_the_page(ok, here):
    (here / "unequal.toml").write_text(TWO, encoding="utf-8")
    said = ok("run", "unequal.toml", "--no-figures")
    words = "times as many local steps as"
    assert words in " ".join(said.stderr.split())
    (page,) = (here / "runs").rglob("report.html")
    assert words in page.read_text(encoding="utf-8")


def test_the_help_names_a_type_only_where_an_option_takes_a_value():
    for name, command in typer.main.get_command(app).commands.items():
        result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "120"})
        flags = [p for p in command.params if getattr(p, "is_flag", False)]
        assert flags, name  # --debug
        rows = [r for r in result.output.splitlines() if any(f"{p.opts[0]} " in r for p in flags)]
        assert rows, name
        assert not any("bool" in row for row in rows), name
