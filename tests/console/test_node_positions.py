"""Places in which nothing can be written are refused before anything is; Ctrl-C is no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.recording.whole_files import place_problem, written_whole

ROOT = str(Path(__file__).parents[2])
SCENARIO = """\
horizon_s = 2.0
nodes = { count = 2 }
exchange = { schedule = "rounds", interval_s = 1.0 }
data = { kind = "digits" }
model = { kind = "mlp", hidden = [4] }
algorithm = { kind = "dpsgd" }
"""
LONG = "n" * 300
COMMANDS = (
    ("run", "s.toml", "--out", "{}"),
    ("run", "s.toml", "--force-new", "--out", "{}"),
    ("run", "s.toml", "--components", "{}"),
    ("sweep", "s.toml", "--seeds", "0:2", "--out", "{}"),
    ("report", "out", "--out", "{}"),
    ("compare", "out", "--csv", "{}"),
    ("compare", "out", "--latex", "{}"),
    ("plot", "out", "--out", "{}.svg"),
    ("export", "out", "--as", "messages-csv", "--out", "{}"),
    ("export", "out", "--as", "timeline", "--out", "{}"),
    ("new", "algorithm", "one", "--dir", "{}"),
    ("compare", "{}"),
    ("report", "{}"),
    ("resume", "{}"),
    ("explain", "{}"),
    ("verify", "{}"),
)


@pytest.fixture
def place(tmp_path, monkeypatch, once):
    """A folder with a run, `out`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)

    def play():
        words = ["run", "s.toml", "--out", "out", "-q", "--timing-only"]
        assert CliRunner().invoke(app, words).exit_code == 0

    once("a run of two nodes", Path("out"), play)
    return tmp_path


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c[0] in ("compare", "report") and "out" in c], ids=" ".join
)
def test_the_folder_of_a_file_is_made(place, command):
    done = CliRunner().invoke(app, [word.format("new/inside/file") for word in command])
    assert done.exit_code == 0, done.output
    assert (place / "new" / "inside" / "file").stat().st_size > 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("bad", [LONG, "/".join(["d" * 200] * 30), "s.toml/inside", "loop/inside"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_name_that_no_file_can_have_is_input(place, command, bad):
    (place / "loop").symlink_to("loop")
    before = sorted(place.rglob("*"))
    done = CliRunner().invoke(app, [word.format(bad) for word in command])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    assert "pathlib" not in done.output
    assert done.stderr.strip()
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("command", ["plot", "export"])
def test_a_name_made_from_a_long_one_is_input(place, command):
    (place / "out").rename(place / LONG[:250])
    words = {"plot": ["--format", "svg"], "export": ["--as", "timeline"]}[command]
    done = CliRunner().invoke(app, [command, LONG[:250], *words])
    assert done.exit_code == 2, done.output
    assert "File name too long; name another one" in done.stderr.replace("\n", " ")


def test_a_place_is_looked_at_where_it_is(tmp_path):
    (tmp_path / "file").write_text("")
    assert place_problem(tmp_path / "new" / "deeper") is None
    assert place_problem(tmp_path / "file") is None
    assert "is not a folder" in str(place_problem(tmp_path / "file" / "new"))
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert place_problem(tmp_path / "link" / "new" / "deeper") == (
        f"cannot be created: {tmp_path / 'link'} is not a folder"
    )
    assert "File name too long" in str(place_problem(tmp_path / LONG))
    assert "null" in str(place_problem(Path("a\0b")))


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_could_not_be_made_whole_is_not_there(tmp_path, kind):
    def fill(partial):
        assert partial.suffix == ".json"
        if kind == "file":
            partial.write_text("half")
        else:
            partial.mkdir()
            (partial / "half").write_text("")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), written_whole(tmp_path / "new.json") as partial:
        fill(partial)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_it_loads_is_no_traceback(tmp_path):
    """A stand-in for the first library sends the signal from within its import."""
    (tmp_path / "typer.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "netsim", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), ROOT])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""
