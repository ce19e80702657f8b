"""Imports run one way, components are found by file name, modules stay small."""

import ast
import graphlib
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import netsim
from netsim.registry import Component, family

ROOT = Path(netsim.__file__).parent
PATHS = {
    ".".join(("netsim", *p.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): p
    for p in sorted(ROOT.rglob("*.py"))
}
RANKS = [
    {"errors", "units"},
    {"rng", "registry", "clock"},
    {"traces"},
    {"attacks", "channels", "topology", "schedules", "data", "models"},
    {"recording"},
    {"learning"},
    {"backends"},
    {"messaging"},
    {"devices"},
    {"links"},
    {"node"},
    {"protocols"},
    {"api"},
    {"scenario"},
    {"results"},
    {"world"},
    {"engine"},
    {"console"},
    {"__main__"},
]
"""Rooms from the bottom up; a module imports its own room and those of lower floors only."""


class Imports(ast.NodeVisitor):
    """Modules of netsim that a module imports when it runs."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.dump(node.test):
            self.generic_visit(node)
            return
        for child in node.orelse:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, f"{self.module}: relative import"
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            self.found.add(inner if inner in PATHS else str(node.module))


def graph():
    edges = {}
    for module, path in PATHS.items():
        visitor = Imports(module)
        visitor.visit(ast.parse(path.read_text()))
        edges[module] = visitor.found
    return edges


EDGES = graph()
INSIDE = {m: {n for n in found if n in PATHS and n != m} for m, found in EDGES.items()}


def rank(module: str) -> int | None:
    part = module.split(".")[1] if "." in module else ""
    return next((k for k, names in enumerate(RANKS) if part in names), None)


def reached(module: str) -> set[str]:
    seen, todo = set(), [module]
    while todo:
        for found in INSIDE[todo.pop()] - seen:
            seen.add(found)
            todo.append(found)
    return seen


def test_imports_have_no_cycle():
    graphlib.TopologicalSorter(INSIDE).prepare()


def test_imports_run_one_way():
    wrong = [
        f"{module} reaches {found}"
        for module in PATHS
        for found in reached(module)
        if rank(module) is not None and (rank(found) or 0) > rank(module)
    ]
    assert wrong == []


def test_every_ranked_module_exists():
    parts = {m.split(".")[1] for m in PATHS if "." in m}
    assert set().union(*RANKS) <= parts


def test_netsim_never_imports_an_algorithm_by_name():
    found = {n for found in EDGES.values() for n in found if n.partition(".")[0] == "algorithms"}
    assert found == set()


def test_only_the_top_knows_the_command_line():
    for module in PATHS:
        if module.startswith("netsim.") and "typer" in EDGES[module]:
            assert rank(module) == len(RANKS) - 1


def families():
    for info in pkgutil.walk_packages(netsim.__path__, "netsim."):
        if info.ispkg:
            package = importlib.import_module(info.name)
            for value in vars(package).values():
                if (
                    inspect.isclass(value)
                    and issubclass(value, Component)
                    and value.__module__ == info.name
                ):
                    yield info.name


@pytest.mark.parametrize("package", sorted(set(families())))
def test_the_kind_of_every_component_is_its_file_name(package):
    tag = "schedule" if package == "netsim.schedules" else "kind"
    members = family(package, tag)
    folder = ROOT.joinpath(*package.split(".")[1:])
    files = {p.stem for p in folder.glob("*.py") if not p.stem.startswith("_")}
    assert set(members) == files
    for name, component in members.items():
        assert component.model_fields[tag].default == name
        assert component.model_config["frozen"]
        assert component.__doc__


def test_there_are_families():
    assert len(set(families())) >= 10


@pytest.mark.parametrize("module", PATHS)
def test_a_module_has_under_four_hundred_lines_and_says_what_it_is(module):
    text = PATHS[module].read_text()
    assert len(text.splitlines()) < 400
    assert ast.get_docstring(ast.parse(text))


def test_no_test_folder_shadows_a_package():
    names = {p.name for p in Path(__file__).parents[1].iterdir() if p.is_dir()}
    assert not names & {"netsim", "algorithms", "scenarios", "torch", "numpy", "simpy"}
