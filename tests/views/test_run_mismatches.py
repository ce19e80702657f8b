"""Runs beside each other that were not made of the same data, files or sources: every reader says.

Without a word, a difference of data reads as one of methods.
"""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import netsim
from netsim.recording.run_mismatches import made_unlike
from netsim.scenario.kinds import kinds_of
from netsim.scenario.source_files import source_files
from netsim.views.compare import table
from netsim.views.gathering import fork_comparison
from netsim.views.render.page import run_page
from tests.views.conftest import write_run

DATA = '[data]\nkind = "table"\nfile = "iot.csv"\n[data.partition]\nkind = "dirichlet"\nalpha = '


def made(folder: Path, **of_environment) -> Path:
    write_run(folder, algorithm=folder.name)
    path = folder / "scenario.toml"
    path.write_text(path.read_text() + DATA + "0.5\n")
    environment = {
        "netsim_sources_sha256": "a" * 64,
        "seed": 3,
        "inputs": [{"file": "/d/iot.csv", "bytes": 1, "sha256": "1" * 64}],
        "algorithm": [{"file": "/m/mine.py", "bytes": 1, "sha256": "2" * 64}],
        "components": [{"file": "/m/fade.py", "bytes": 1, "sha256": "3" * 64}],
        "data": {"name": "table", "sha256": "4" * 64},
        **of_environment,
    }
    (folder / "environment.json").write_text(json.dumps(environment))
    return folder


def other_key(folder: Path) -> None:
    path = folder / "scenario.toml"
    path.write_text(path.read_text().replace("alpha = 0.5", "alpha = 0.1"))


def other_shards(folder: Path) -> None:
    nodes = pq.read_table(folder / "nodes.parquet")
    column = nodes.schema.get_field_index("train_samples")
    nodes = nodes.set_column(column, "train_samples", [[10, 21, 30]])
    pq.write_table(nodes, folder / "nodes.parquet")


def other(name: str, value: object):
    def change(folder: Path) -> None:
        path = folder / "environment.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))

    return change


def file(path: str) -> list[dict[str, object]]:
    return [{"file": path, "bytes": 1, "sha256": "f" * 64}]


WAYS = {
    "a key": (other_key, "[data] partition.alpha differs: 0.5 in {a}, 0.1 in {b}"),
    "samples": (other_shards, "node 1 has other samples in {b} than in {a}"),
    "a file": (
        other("inputs", file("/d/iot.csv")),
        "input files differ: iot.csv (sha256 111111111111) in {a}, iot.csv (sha256 ffffffffffff) "
        "in {b}",
    ),
    "no file": (
        other("inputs", []),
        "input files differ: iot.csv (sha256 111111111111) in {a}, none in {b}",
    ),
    "arrays": (
        other("data", {"name": "table", "sha256": "f" * 64}),
        "arrays given as data differ: sha256 444444444444 in {a}, ffffffffffff in {b}",
    ),
    "a method": (other("algorithm", file("/m/mine.py")), "source of an algorithm mine.py differs"),
    "a component": (other("components", file("/m/fade.py")), "component fade.py differs"),
    "sources": (
        other("netsim_sources_sha256", "b" * 64),
        "played by 2 different sources of netsim",
    ),
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("way", WAYS)
def test_terminal_page_and_python_say_what_differs(tmp_path, way):
    change, told = WAYS[way]
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    assert made_unlike([one, two], "ab") == []
    change(two)
    (said,) = made_unlike([one, two], ["one", "two"])
    assert said.startswith(told.format(a="one", b="two"))
    assert said in table([one, two]).note
    notices = run_page.content([one, two], run_page.gather)["runs"][0]["notices"]
    assert f"{said[0].upper()}{said[1:]}." in notices
    compared = netsim.open(one).compare(netsim.open(two))
    assert said in repr(compared)
    assert all(name in repr(compared) for name in compared.by_algorithm.columns)
    assert said in netsim.open(tmp_path).warnings
    fork = fork_comparison.write(fork_comparison.Pair(one, two, 2.0), {}, {}, 3)
    assert told.format(a=one, b=two) in fork.note


def test_equal_contents_under_other_names_are_no_difference(tmp_path):
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    other("inputs", [{"file": "/copy/other.csv", "bytes": 1, "sha256": "1" * 64}])(two)
    assert made_unlike([one, two], "ab") == []


def test_arrays_and_files_of_python_have_their_digests(tmp_path):
    """The same scenario over other arrays, which no file tells apart."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)).astype(np.float32), np.arange(60) % 2
    folders = []
    for k, inputs in enumerate((x, x.copy(), x + 1)):
        small = netsim.Scenario(
            horizon_s=2.0, nodes={"count": 2}, data=(inputs, y), model={"kind": "mlp"},
            exchange={"schedule": "rounds", "interval_s": 1.0}, algorithm={"kind": "local"},
        )  # fmt: skip
        folders.append(tmp_path / f"{k}")
        netsim.run(small, out=folders[-1], timing_only=True)
    assert made_unlike(folders[:2], "ab") == []
    (said,) = made_unlike(folders[1:], "ab")
    assert said.startswith("arrays given as data differ")


METHOD = """from netsim import api


class Params(api.Params):
    pass


def processes(node, params):
    return []
"""
HELPERS = {
    "a sibling": ("from .maths import STEPS", "maths.py"),
    "a sibling by its package": ("from . import maths", "maths.py"),
    "a helper": ("from ._maths import STEPS", "_maths.py"),
    "a package below": ("from .lib.maths import STEPS", "lib/maths.py"),
    "an import of an import": ("from .first import STEPS", "maths.py"),
    "an import in a function": ("def late():\n    from .maths import STEPS", "maths.py"),
}


@pytest.mark.parametrize("way", HELPERS)
def test_whatever_of_its_folder_a_method_imports_belongs_to_its_source(tmp_path, way):
    line, helper = HELPERS[way]
    (tmp_path / helper).parent.mkdir(exist_ok=True)
    (tmp_path / "_unused.py").write_text("STEPS = 3\n")
    (tmp_path / "first.py").write_text(f"from .maths import STEPS\n{METHOD}")
    (tmp_path / "maths.py").write_text(f"STEPS = 1\n{METHOD}")
    (tmp_path / helper).write_text(f"STEPS = 1\n{METHOD}")
    (tmp_path / "mine.py").write_text(f"{line}\n{METHOD}")
    found = source_files(kinds_of((tmp_path,))["mine"])
    names = [path.relative_to(tmp_path.resolve()).as_posix() for path in found]
    assert names[0] == "mine.py"
    assert helper in names
    assert "_unused.py" not in names


def test_siblings_of_shipped_methods_belong_to_them():
    found = source_files(kinds_of()["fedavg_plus"])
    assert {"fedavg_plus.py", "fedavg.py"} <= {path.name for path in found}


def test_a_scenario_that_is_not_as_the_run_wrote_it_is_named_and_not_taken_for_one_without_data(
    tmp_path,
):
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    path = one / "scenario.toml"
    checksums = {"sha256": {"scenario.toml": sha256(path.read_bytes()).hexdigest()}}
    (one / "checksums.json").write_text(json.dumps(checksums))
    (one / "status.json").write_text('{"state": "done"}')
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    [found] = made_unlike([one, two], ["one", "two"])
    assert found.startswith(f"[data] of one is not compared: {path}: is not what the run has")
