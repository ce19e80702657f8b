"""File names of a scenario are found by their type, whichever table states them."""

import json
import subprocess
import sys

from netsim.registry import FilePath, FolderPath, Table
from netsim.scenario.file_paths import path_keys, with_absolute_paths


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
    assert with_absolute_paths(tables, tmp_path) == {
        "topology": {"kind": "file", "path": there, "member": "graph.txt"},
        "churn": {"kind": "trace", "path": "below_the_data_folder.csv"},
        "data": {"path": str(tmp_path / "sets")},
        "nodes": {"groups": [{"churn": {"path": there}}]},
        "sweep": {"over": {"topology.path": [there, "other.txt"]}},
    }


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
