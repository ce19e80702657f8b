"""Files of a user's own that change between two calls of one process: what plays is what is there.

Bytecode and loaded modules are of the text of before, which the record would not say.
"""

import hashlib
import os

import pytest

import netsim
from netsim.recording import run_folder

TABLES = {
    "horizon_s": 5.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "periodic", "period_s": 2.0},
    "data": {"kind": "digits", "partition": {
        "kind": "iid", "train_samples": 20, "test_samples": 10,
    }},
    "model": {"kind": "mlp", "hidden": [4]},
    "metrics": {"every_s": 5.0},
}  # fmt: skip

METHOD = '''"""Mine: each node records a number at every wake-up."""

from netsim import api
from . import _numbers


class Params(api.Params):
    """Keys."""

    factor: int = 1


def processes(node, params):
    return [on_wakeup(node, params)]


def on_wakeup(node, params):
    node.publish(node.initial(), "own")
    while True:
        yield node.wakeup()
        node.record("number", params.factor * NUMBER * _numbers.HELPER)


NUMBER = 3
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.py").write_text(METHOD)
    (folder / "_numbers.py").write_text("HELPER = 1\n")
    return folder


def edit(path, before, after):
    """Another text of one size, at one time: what an archive may bring, or a quick program."""
    stat = path.stat()
    text = path.read_text()
    assert before in text
    assert len(before) == len(after)
    path.write_text(text.replace(before, after))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def played(scenario, out, file):
    """The number that nodes recorded; the record names the file as it is."""
    run = netsim.run(scenario, out=out)
    (recorded,) = [one["mean"] for one in run_folder.summary(run.folder)["recorded"].values()]
    sums = {one["sha256"] for one in run_folder.environment(run.folder)["algorithm"]}
    assert hashlib.sha256(file.read_bytes()).hexdigest() in sums
    return recorded


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("mine.py", "NUMBER = 3", "NUMBER = 5", 5.0),
        ("_numbers.py", "HELPER = 1", "HELPER = 7", 21.0),
    ],
)
def test_what_is_played_is_what_the_files_hold_at_each_call(own, name, before, after, expected):
    scenario = netsim.Scenario(components=own, algorithm="mine", **TABLES)
    file = own / name
    assert played(scenario, "first", file) == 3.0
    edit(file, before, after)
    assert played(scenario, "second", file) == expected
    edit(file, after, before)
    assert played(scenario, "third", file) == 3.0


def test_a_helper_in_a_linked_folder_is_read_again_too(own, tmp_path):
    """A link that leads back to where it lies ends the search."""
    (tmp_path / "shared").mkdir()
    file = tmp_path / "shared" / "_numbers.py"
    file.write_text("HELPER = 1\n")
    (own / "shared").symlink_to(tmp_path / "shared")
    (tmp_path / "shared" / "back").symlink_to(own)
    (own / "mine.py").write_text(METHOD.replace("from . import", "from .shared import"))
    scenario = netsim.Scenario(components=own, algorithm="mine", **TABLES)
    netsim.run(scenario, out="first")
    edit(file, "HELPER = 1", "HELPER = 7")
    run = netsim.run(scenario, out="second")
    (recorded,) = [one["mean"] for one in run_folder.summary(run.folder)["recorded"].values()]
    assert recorded == 21.0


def test_keys_are_those_of_the_file_as_it_is(own):
    scenario = netsim.Scenario(components=own, algorithm="mine", **TABLES)
    edit(own / "mine.py", "factor: int = 1", "factor: int = 2")
    assert scenario.tables.algorithm[0].params.factor == 2
    assert scenario.algorithm[0].params.factor == 2
    assert played(scenario, "a", own / "mine.py") == 6.0
    (own / "mine.py").write_text(METHOD.replace("factor", "weight"))
    other = scenario.replace(algorithm={"kind": "mine", "weight": 4})
    assert played(other, "b", own / "mine.py") == 12.0
    with pytest.raises(netsim.ScenarioError, match="factor"):
        scenario.replace(algorithm={"kind": "mine", "factor": 4})


def test_a_file_that_is_broken_meanwhile_is_refused_until_it_is_mended(own):
    scenario = netsim.Scenario(components=own, algorithm="mine", **TABLES)
    (own / "mine.py").write_text(METHOD + "raise ValueError('half done')\n")
    for _ in range(2):
        with pytest.raises(netsim.ScenarioError, match=r"mine.py: cannot be imported.*half done"):
            netsim.run(scenario, out="a")
    assert not os.path.exists("a")
    (own / "mine.py").write_text(METHOD)
    assert played(scenario, "a", own / "mine.py") == 3.0


def test_nothing_is_written_beside_the_users_files(own):
    scenario = netsim.Scenario(components=own, algorithm="mine", **TABLES)
    netsim.run(scenario, out="a")
    assert sorted(path.name for path in own.iterdir()) == ["_numbers.py", "mine.py"]


@pytest.mark.parametrize("name", ["mine.py", "_numbers.py"])
def test_the_record_is_of_what_plays_where_a_file_is_edited_while_a_run_goes_on(own, name):
    """Someone goes on writing while the first of two methods is played."""
    before = hashlib.sha256((own / name).read_bytes()).hexdigest()

    def edit_meanwhile(_):
        text = (own / name).read_text()
        (own / name).write_text(text.replace("NUMBER = 3", "NUMBER = 5").replace("= 1", "= 7"))

    scenario = netsim.Scenario(components=own, algorithm=["local", "mine"], **TABLES)
    run = netsim.run(scenario, out="a", on_evaluation=edit_meanwhile)
    assert hashlib.sha256((own / name).read_bytes()).hexdigest() != before
    folder = run.folder / "mine"
    (recorded,) = [one["mean"] for one in run_folder.summary(folder)["recorded"].values()]
    assert recorded == 3.0
    assert before in {one["sha256"] for one in run_folder.environment(folder)["algorithm"]}
