"""File names of a scenario are found by their type, whichever table states them."""

import json
import subprocess
import sys

import pytest

from netsim.registry import FilePath, FolderPath, Table
from netsim.scenario import load
from netsim.scenario.algorithm_contract import RESERVED_PARAMS
from netsim.scenario.file_paths import path_keys, with_absolute_paths
from netsim.scenario.kinds import keys_on_disk
from netsim.scenario.tables import AlgorithmEntry


class Inner(Table):
    """Names a file that may be absent."""

    table: FilePath | None = None
    label: str = ""


class Outer(Table):
    """Names files at every depth."""

    folder: FolderPath
    one: Inner = Inner()
    several: tuple[Inner, ...] = ()
    by_name: dict[str, FilePath] = {}
    files: list[FilePath] = []


def test_the_keys_of_files_are_found_in_optional_nested_and_listed_tables():
    found = {".".join(map(str, path)): mark.what for path, mark in path_keys(Outer).items()}
    assert found == {
        "folder": "folder",
        "one.table": "file",
        "several.*.table": "file",
        "by_name.*": "file",
        "files.*": "file",
    }


def test_a_file_is_absolute_if_it_is_there_and_a_folder_always(tmp_path):
    (tmp_path / "graph.txt").touch()
    tables = {
        "topology": {"kind": "file", "path": "graph.txt", "member": "graph.txt"},
        "churn": {"kind": "trace", "path": "below_the_data_folder.csv"},
        "data": {"path": "sets"},
        "nodes": {"groups": [{"churn": {"path": "graph.txt"}}]},
        "sweep": {"over": {"topology.path": ["graph.txt", "other.txt"]}},
    }
    there = str(tmp_path / "graph.txt")
    assert with_absolute_paths(tables, tmp_path, keys_on_disk({})) == {
        "topology": {"kind": "file", "path": there, "member": "graph.txt"},
        "churn": {"kind": "trace", "path": "below_the_data_folder.csv"},
        "data": {"path": str(tmp_path / "sets")},
        "nodes": {"groups": [{"churn": {"path": there}}]},
        "sweep": {"over": {"topology.path": [there, "other.txt"]}},
    }


READER = '''"""Reader: reads a file of its own."""
from netsim.api import FilePath, Params as Table

class Params(Table):
    weights: FilePath | None = None
    label: str = ""

def processes(node, params):
    return []
'''


def test_the_files_of_algorithms_are_beside_the_scenario(write, base, own_algorithms, tmp_path):
    """In a table alone, in one of several, in a base, in a sweep and on the command line."""
    (own_algorithms / "reader.py").write_text(READER)
    for name in ("in_file.txt", "in_base.txt", "in_sweep.txt"):
        (tmp_path / name).touch()
    first = base.partition("[algorithm]")[0]
    write(first + '[algorithm]\nkind = "reader"\nweights = "in_base.txt"\n', "base.toml")
    derived = write('extends = "base.toml"\n[algorithm]\nlabel = "in_base.txt"\n')
    params = load(derived, (), own_algorithms).algorithm[0].params
    assert (params.weights, params.label) == (str(tmp_path / "in_base.txt"), "in_base.txt")
    one = '[[algorithm]]\nkind = "reader"\nname = "one"\nweights = "in_file.txt"\n'
    sweep = '[sweep.over]\n"algorithm.one.weights" = ["in_file.txt", "in_sweep.txt"]\n'
    several = write(first + one + '[[algorithm]]\nkind = "plain"\n' + sweep)
    found = load(several, (), own_algorithms)
    assert found.algorithm[0].params.weights == str(tmp_path / "in_file.txt")
    assert found.sweep.over["algorithm.one.weights"][1] == str(tmp_path / "in_sweep.txt")


def test_each_base_names_files_beside_itself(write, base, own_algorithms, tmp_path):
    (own_algorithms / "reader.py").write_text(READER)
    far = tmp_path / "far"
    far.mkdir()
    for place in (tmp_path / "w.txt", far / "w.txt", far / "v.txt"):
        place.touch()
    reader = '[algorithm]\nkind = "reader"\nweights = "w.txt"\n'
    (far / "c.toml").write_text(base.partition("[algorithm]")[0] + reader)
    (far / "b.toml").write_text('extends = "c.toml"\n')
    s = load(write('extends = "far/b.toml"\n', "a.toml"), (), own_algorithms)
    assert s.algorithm[0].params.weights == str(far / "w.txt")
    (far / "b.toml").write_text('extends = "c.toml"\n[algorithm]\nweights = "v.txt"\n')
    s = load(write('extends = "far/b.toml"\n', "a.toml"), (), own_algorithms)
    assert s.algorithm[0].params.weights == str(far / "v.txt")


def test_a_file_of_an_algorithm_on_the_command_line(
    write, base, own_algorithms, tmp_path, monkeypatch
):
    (own_algorithms / "reader.py").write_text(READER)
    (tmp_path / "here.txt").touch()
    path = write(base.replace('"plain"', '"reader"'))
    monkeypatch.chdir(tmp_path)
    found = load(path, ["algorithm.weights=here.txt"], own_algorithms)
    assert found.algorithm[0].params.weights == str(tmp_path / "here.txt")


def test_params_can_not_be_named_as_what_stands_beside_them():
    assert set(RESERVED_PARAMS) == set(AlgorithmEntry.model_fields) - {"params"}


TOPOLOGY = '''
"""Links from a file of the test's own."""

from typing import Literal

from netsim.registry import FilePath
from netsim.topology import Site, Topology


class Links(Topology):
    """As the file says."""

    kind: Literal["links"] = "links"
    adjacency: FilePath

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        return [() for _ in range(site.nodes)]
'''

LOAD = """
import json, sys
import netsim.topology
netsim.topology.__path__.append(sys.argv[1])
from netsim import scenario
by_file = scenario.load(sys.argv[2])
by_option = scenario.load(sys.argv[2], ["topology.adjacency=option.txt"])
print(json.dumps([
    by_file.topology.adjacency,
    by_file.sweep.over["topology.adjacency"],
    by_option.topology.adjacency,
    scenario.to_toml(by_file),
]))
"""


@pytest.mark.slow
def test_an_added_component_with_a_file_path_is_resolved(write, base, tmp_path):
    """In a process of its own: kinds are collected when netsim is imported."""
    added = tmp_path / "added"
    added.mkdir()
    (added / "links.py").write_text(TOPOLOGY)
    for name in ("in_file.txt", "in_sweep.txt", "option.txt"):
        (tmp_path / name).touch()
    path = write(
        base.replace('"plain"', '"local"')
        + '\n[topology]\nkind = "links"\nadjacency = "in_file.txt"\n'
        + '\n[sweep.over]\n"topology.adjacency" = ["in_file.txt", "in_sweep.txt"]\n'
    )
    command = [sys.executable, "-c", LOAD, str(added), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    in_file, in_sweep, by_option, resolved = json.loads(done.stdout)
    assert in_file == str(tmp_path / "in_file.txt")
    assert in_sweep == [in_file, str(tmp_path / "in_sweep.txt")]
    assert by_option == str(tmp_path / "option.txt")
    assert f'adjacency = "{in_file}"' in resolved
