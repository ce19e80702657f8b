"""Temporary folders go with the process that made them, also where it was killed."""

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import netsim
from netsim.recording.scratch import ScratchFolder

PACKAGE = Path(netsim.__path__[0])
OWNER = """
import sys
from netsim.recording.scratch import ScratchFolder
made = ScratchFolder("actor")
(made.path / "inside").mkdir()
print(made.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(place):
    """A process that has made a folder and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.folder = Path(process.stdout.readline().strip())
    yield process
    process.kill()
    process.communicate()


def test_a_folder_of_a_killed_process_goes_when_the_next_one_begins(owner):
    with ScratchFolder("actor"):
        assert (owner.folder / "inside").is_dir(), "it is the folder of a process that lives"
    owner.kill()
    owner.wait()
    assert owner.folder.is_dir()
    with ScratchFolder("verify"):
        assert owner.folder.is_dir(), "folders of another purpose are left alone"
    with ScratchFolder("actor") as own:
        assert not owner.folder.exists()
        assert own.is_dir()


KILLED = """
import os, shutil
from netsim.recording.scratch import ScratchFolder
made = ScratchFolder("actor")
for name in "abcdefgh":
    (made.path / name).mkdir()
    (made.path / f"file-{name}").touch()
    (made.path / name / "inside").touch()
calls, unlink = [], os.unlink
def killed_soon(*path, **named):
    calls.append(path)
    if len(calls) > 5:
        os._exit(9)
    unlink(*path, **named)
os.unlink = killed_soon
made.remove()
"""


def test_a_folder_goes_where_its_process_was_killed_as_it_removed_it(place):
    process = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "TMPDIR": str(place)},
        check=False,
    )
    assert process.returncode == 9
    assert list(place.glob("*/file-*"))
    with ScratchFolder("actor") as own:
        assert list(place.iterdir()) == [own]


@pytest.mark.parametrize("end", ["removed", "left", "dropped"])
def test_a_folder_goes_with_what_made_it(place, end):
    made = ScratchFolder("actor")
    (made.path / "file").write_text("")
    if end == "removed":
        made.remove()
        made.remove()
    elif end == "left":
        with made:
            pass
    else:
        del made
    assert list(place.iterdir()) == []


def test_what_is_no_folder_of_ours_is_left_alone(place):
    target = place / "elsewhere"
    target.mkdir()
    (place / "netsim-actor-link").symlink_to(target)
    (place / "netsim-actor-file").write_text("")
    with ScratchFolder("actor"):
        pass
    assert sorted(p.name for p in place.iterdir()) == [
        "elsewhere",
        "netsim-actor-file",
        "netsim-actor-link",
    ]


@pytest.mark.slow
def test_no_other_module_makes_temporary_folders():
    """Folders and files that `tempfile` names outlive a process that is killed, for ever."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "attr", None) or getattr(node, "id", None)
            if name in ("mkdtemp", "TemporaryDirectory", "mkstemp", "NamedTemporaryFile"):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == {
        "recording/scratch.py",
        "backends/native/build.py",  # which runs before netsim is installed, and of itself alone
    }
