"""A folder of which one file is another run's, half a file, or gone: no number of it is wrong.

Each file of a run in turn, each command that reads runs: what it prints and writes is what it does
of the whole folder, or it names the file and (but for the page, which names it itself) ends with
exit code 2 and has written nothing.
"""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim import engine, scenario, world
from netsim.console.app import app
from netsim.errors import ScenarioError
from netsim.recording import run_folder

from .run_folders import SCENARIO

FILES = (
    *("summary.json", "environment.json", "scenario.toml", "nodes.parquet", "status.json"),
    *("checksums.json", "report.html", "kept/head.bias.npz"),
    *(f"{t}/part-00000.parquet" for t in ("messages", "metrics", "graph", "uses", "traffic")),
    *(f"{t}/part-00000.parquet" for t in ("wakes", "intervals")),
)
COMMANDS = {
    "compare": ("compare", "run", "--csv", "made.csv"),
    "plot": ("plot", "run", "--out", "made.svg"),
    "cdf": ("plot", "run", "--as", "cdf", "--out", "made.svg"),
    "weights": ("plot", "run", "--as", "weights", "--format", "text"),
    "time_use": ("plot", "run", "--as", "time_use", "--format", "text"),
    "csv": ("export", "run", "--as", "messages-csv", "--out", "made.csv"),
    "timeline": ("export", "run", "--as", "timeline", "--out", "made.json"),
    "gains": ("export", "run", "--as", "gains", "--out", "made.npz"),
    "explain": ("explain", "run"),
    "node": ("explain", "run", "--node", "1"),
    "fork": ("fork", "run", "--at", "3", "--set", "radio.ttl_s=0.4", "--out", "made", "-q"),
    "report": ("report", "run", "--out", "made.html"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of one scenario with other seeds: every file of one would do for the other."""
    top = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("one", "other")):
        played = scenario.from_dict({**SCENARIO, "seed": seed}, "sent")
        engine.play(world.build(played), played.algorithm[0], folder=top / name)
        if not (top / name / "report.html").exists():
            (top / name / "report.html").write_text(f"<!doctype html>{seed}")
    return top


@pytest.fixture
def called(runs, tmp_path, monkeypatch):
    """A function that damages a file of the run and plays a command there.

    It returns exit code, output, errors, and what was written, by name.
    """
    monkeypatch.setenv("COLUMNS", "300")

    def call(command, file="", damage=""):
        place = tmp_path / (damage or "whole")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(runs / "one", place / "run")
        path = place / "run" / file
        if damage == "missing":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        elif damage == "other":
            shutil.copyfile(runs / "other" / file, path)
        monkeypatch.chdir(place)
        done = CliRunner().invoke(app, COMMANDS[command])
        assert not isinstance(done.exception, Exception), done.exception
        made = {p.relative_to(place).as_posix() for p in place.glob("*") if p.name != "run"}
        content = {name: _content(place / name) for name in sorted(made)}
        return done.exit_code, done.stdout, done.stderr, content

    return call


def _content(path):
    if path.is_dir():
        return "a folder"
    if path.suffix == ".npz":
        import numpy as np

        with np.load(path) as arrays:
            return {name: arrays[name].tolist() for name in arrays.files}
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.thinned(7)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", ["other", "missing", "cut"])
def test_what_a_command_shows_is_of_the_run_or_it_names_the_file(called, command, damage):
    whole = called(command)
    assert whole[0] == 0, whole[2]
    for file in FILES:
        code, out, err, made = called(command, file, damage)
        where = (file, command, err)
        name = re.escape(file.partition("/")[0])
        if code == 0 and command == "report":
            if file not in ("status.json", "checksums.json", "report.html", "kept/head.bias.npz"):
                assert made == whole[3] or re.search(name, made["made.html"]), where
        elif code == 0:
            assert (out, made) == (whole[1], whole[3]), where
        else:
            assert code == 2, where
            assert made == {}, where
            if not (file == "checksums.json" and damage == "other"):  # then others are named
                assert re.search(name, err), where


def test_a_file_of_another_run_is_refused_and_a_changed_one_can_still_be_looked_at(runs, tmp_path):
    from netsim.recording.verified_files import allow_changed

    shutil.copytree(runs / "one", tmp_path / "run")
    path = tmp_path / "run" / "messages" / "part-00000.parquet"
    there = run_folder.read(runs / "other", "messages", ["t_done_s"])["t_done_s"]
    shutil.copyfile(runs / "other" / "messages" / "part-00000.parquet", path)
    with pytest.raises(ScenarioError, match="is not what the run has written"):
        run_folder.read(tmp_path / "run", "messages")
    with allow_changed():
        found = run_folder.read(tmp_path / "run", "messages", ["t_done_s"])["t_done_s"]
    assert found.tolist() == there.tolist()


def test_a_run_that_has_not_ended_is_read_as_it_is(runs, tmp_path):
    """It has no list yet: what lies there is what there is."""
    place = Path(shutil.copytree(runs / "one", tmp_path / "run"))
    (place / "checksums.json").unlink()
    part = "messages/part-00000.parquet"
    shutil.copyfile(runs / "other" / part, place / part)
    assert len(run_folder.read(place, "messages")["t_done_s"])
