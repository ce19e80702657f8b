"""`--force-new`: what a folder holds moves aside, whole, and a new run or sweep begins in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netsim.campaign import folder_rotation
from netsim.engine import output_folder
from netsim.errors import ScenarioError
from netsim.recording import folder_lock

ROOT = str(Path(__file__).parents[2])
RUN = ("run", "s.toml", "--no-figures", "--timing-only", "--set", "horizon_s=1")
AGAIN = (*RUN, "--out", "out", "--force-new")
SWEEP = (
    "sweep",
    "s.toml",
    "--seeds",
    "0:2",
    "--jobs",
    "1",
    "--timing-only",
    "--set",
    "horizon_s=1",
)

BOTH = """
import sys
from netsim.console.app import app
for line in sys.stdin:
    try:
        app(["run", "s.toml", *sys.argv[1:], "--out", line.strip(), "--force-new"])
    except SystemExit as end:
        print(end.code, flush=True)
"""

MOVE = """
import sys
from pathlib import Path
from netsim.campaign import folder_rotation
from netsim.engine import output_folder
from netsim.errors import FolderBusyError, ScenarioError
for line in sys.stdin:
    out = Path(line.strip())
    try:
        folder_rotation.move(out)
        output_folder.claim(out, "")
        (out / "status.json").write_text("new")
        print("mine", flush=True)
    except (ScenarioError, FolderBusyError) as error:
        print("busy", flush=True)
"""


@pytest.fixture
def files(here):
    """The content of all files of a folder."""

    def content(folder):
        paths = sorted(p for p in (here / folder).rglob("*") if p.is_file())
        return {str(p.relative_to(here / folder)): p.read_bytes() for p in paths}

    return content


def seed_of(folder):
    return json.loads((folder / "summary.json").read_text())["seed"]


@pytest.mark.slow
def test_a_run_moves_the_one_before_aside(netsim, here, files):
    assert netsim(*RUN, "--out", "out").exit_code == 0
    first = files("out")
    again = netsim(*AGAIN, "--seed", "1")
    assert again.exit_code == 0, again.output
    assert "moved what out held to out.1\n" in again.stderr
    assert files("out.1") == first
    assert netsim(*AGAIN, "--seed", "2", "-q").stderr == ""
    assert [seed_of(here / name) for name in ("out.1", "out.2", "out")] == [0, 1, 2]


@pytest.mark.slow
def test_where_nothing_is_nothing_moves(netsim, here):
    assert netsim(*AGAIN).exit_code == 0
    (here / "empty").mkdir()
    assert netsim(*RUN, "--out", "empty", "--force-new").exit_code == 0
    assert sorted(p.name for p in here.iterdir()) == ["algorithms", "empty", "out", "s.toml"]


def test_bad_input_leaves_the_folder_where_it_is(netsim, here, files):
    assert netsim(*RUN, "--out", "out").exit_code == 0
    first = files("out")
    assert netsim(*AGAIN, "--set", "nodes.count=-1").exit_code == 2
    assert netsim(*AGAIN, "--set", "data.test_fraction=0.999").exit_code == 2
    assert files("out") == first
    assert not (here / "out.1").exists()


@pytest.mark.slow
def test_a_sweep_moves_the_one_before_aside(netsim, here, files):
    assert netsim(*SWEEP, "--out", "out").exit_code == 0
    first = files("out")
    again = netsim(*SWEEP, "--set", "nodes.count=5", "--out", "out", "--force-new")
    assert again.exit_code == 0, again.output
    assert "moved what out held to out.1" in again.stderr
    assert files("out.1") == first
    assert len(list((here / "out").glob("**/summary.json"))) == 2
    assert netsim(*AGAIN, "--set", "sweep.seeds=[3]").exit_code == 0, "a run that has a sweep"
    assert (here / "out.2" / "sweep.json").is_file()


@pytest.mark.slow
def test_what_a_killed_process_left_moves_too(netsim, here):
    process = subprocess.Popen(
        [sys.executable, "-c", MOVE],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("out\n")
    process.stdin.flush()
    assert process.stdout.readline() == "mine\n"
    in_use = netsim(*AGAIN)
    assert in_use.exit_code == 2
    assert f"--out out: process {process.pid} on " in in_use.stderr
    assert "writes into it; --force-new moves no folder in use" in in_use.stderr
    process.kill()
    process.communicate()
    assert netsim(*AGAIN).exit_code == 0
    assert (here / "out.1" / "status.json").read_text() == "new"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (RUN, "--force-new: needs --out DIR, the folder that is to be a new one"),
        ((*RUN, "--out", "mine"), "--out mine: holds neither a run nor a sweep"),
        ((*RUN, "--out", "."), "--out .: holds neither a run nor a sweep"),
        ((*RUN, "--out", "link"), "--out link: --force-new moves no link"),
        ((*RUN, "--out", "s.toml"), "--out s.toml: is not a folder"),
        ((*SWEEP, "--out", "mine", "--only", "1/2"), "--out mine: holds neither a run nor a sweep"),
        ((*SWEEP, "--out", "new", "--only", "1/2"), "--only: goes on in the folder of all parts"),
    ],
)
def test_what_stays_where_it_is(netsim, here, files, arguments, says):
    (here / "mine").mkdir()
    (here / "mine" / "photo.jpg").write_text("dear")
    (here / "link").symlink_to("mine")
    before = files(".")
    result = netsim(*arguments, "--force-new")
    assert result.exit_code == 2
    assert says in result.stderr
    assert files(".") == before


def test_the_working_folder_stays(netsim, here, monkeypatch):
    assert netsim(*RUN, "--out", "out").exit_code == 0
    monkeypatch.chdir(here / "out")
    with pytest.raises(ScenarioError, match="can't move the working folder"):
        folder_rotation.must_move(here / "out")


def test_a_sweep_of_which_a_run_is_being_played_stays(tmp_path):
    run = tmp_path / "sweep" / "a" / "seed-0"
    run.mkdir(parents=True)
    (tmp_path / "sweep" / "sweep.json").touch()
    with folder_lock.held(run), pytest.raises(ScenarioError, match="moves no folder in use"):
        folder_rotation.move(tmp_path / "sweep")
    assert folder_rotation.move(tmp_path / "sweep") == tmp_path / "sweep.1"
    assert not list((tmp_path / "sweep.1").rglob(".lock-*"))


@pytest.mark.slow
def test_of_two_that_come_at_once_nothing_is_lost(tmp_path):
    """Whoever begins has the folder; what was there before is whole under another name."""
    rounds = 60
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": ROOT}
    two = [subprocess.Popen([sys.executable, "-c", MOVE], env=env, **pipes) for _ in range(2)]
    for n in range(rounds):
        out = tmp_path / f"run-{n}"
        out.mkdir()
        (out / "status.json").write_text("old")
        for process in two:
            process.stdin.write(f"{out}\n")
            process.stdin.flush()
        said = sorted(process.stdout.readline() for process in two)
        assert said == ["busy\n", "mine\n"]
        assert (out / "status.json").read_text() == "new"
        assert (tmp_path / f"run-{n}.1" / "status.json").read_text() == "old"
        assert sorted(p.name for p in tmp_path.glob(f"run-{n}*")) == [f"run-{n}", f"run-{n}.1"]
    for process in two:
        process.communicate()


@pytest.mark.slow
def test_two_runs_at_once(here):
    """Both may play, one after the other; all that was ever played is there and whole."""
    options = ["--no-figures", "--timing-only", "-q", "--algorithms", "algorithms"]
    two = [
        subprocess.Popen(
            [sys.executable, "-c", BOTH, *options],
            env={**os.environ, "PYTHONPATH": ROOT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    played = 0
    for _ in range(3):
        for process in two:
            process.stdin.write("out\n")
            process.stdin.flush()
        codes = [int(process.stdout.readline()) for process in two]
        assert set(codes) <= {0, 2}
        assert 0 in codes
        played += codes.count(0)
    said = "".join(process.communicate()[1] for process in two).splitlines()
    busy = "writes into it", "is writing into it", "is not empty"  # the last: it had just begun
    for line in said:
        assert any(words in line for words in busy), line
    folders = [p for p in here.iterdir() if p.name.startswith("out")]
    assert len(folders) == played
    for folder in folders:
        assert json.loads((folder / "status.json").read_text())["state"] == "done"
        assert not list(folder.rglob(".lock-*"))


def test_what_comes_before_the_folder_is_claimed_moves_aside_too(netsim, here, monkeypatch):
    claim, come = output_folder.claim, []

    def after_another(out, name):
        if len(come) < 2:
            come.append(name)
            out.mkdir()
            (out / "status.json").write_text("another's")
        return claim(out, name)

    monkeypatch.setattr(output_folder, "claim", after_another)
    again = netsim(*AGAIN)
    assert again.exit_code == 0, again.output
    assert (here / "out.1" / "status.json").read_text() == "another's"
    assert (here / "out.2" / "status.json").read_text() == "another's"
    assert (here / "out" / "summary.json").is_file()
