"""Every module has a room, imports run one way, tests mirror the tree, modules stay small.

A *room* is a folder of `netsim/`, or one of the few modules at its top. An import counts wherever
it stands, under `if TYPE_CHECKING` and inside a function too: a circle that only a type checker
sees is a circle to a reader.
"""

import ast
import graphlib
import importlib
import inspect
import pkgutil
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import netsim
from netsim.registry import Component, family

from .statements import statements

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT, TESTS = REPOSITORY / "netsim", REPOSITORY / "tests"
PATHS = {
    ".".join(("netsim", *p.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): p
    for p in sorted(ROOT.rglob("*.py"))
}
FLOORS = [
    {"errors", "garbage", "standard_streams", "units"},
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
    {"views"},
    {"export"},
    {"world"},
    {"engine"},
    {"terminal"},
    {"campaign"},
    {"testing"},
    {"console", "python_api"},
    {"flower", "gym"},
    {"__main__"},
]
"""Rooms from the bottom up; a module imports its own room and those of lower floors only."""

LOOSE = {
    *("__init__", "__main__", "api", "clock", "errors", "garbage", "registry", "rng"),
    *("standard_streams", "units"),
}
"""The modules that may lie at the top of `netsim/`."""

ACROSS = {"algorithms_", "closed_forms", "conformance", "hostile", "laws", "papers"}
"""Folders of tests that look at many rooms, or at none of `netsim/`."""

LINES = 600
"""A module has fewer."""

REFERENCE = {"netsim.node.node"}
"""Modules that are a page of documentation: their docstrings are not counted as lines."""


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(PATHS[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> set[str]:
    """All that a module imports, by full name."""
    found = set()
    for node in statements(tree(module).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in PATHS else str(node.module))
    return found


@cache
def inside() -> dict[str, set[str]]:
    """Of each module, the modules of netsim that it imports."""
    return {m: {n for n in imports(m) if n in PATHS and n != m} for m in PATHS}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def floor(module: str) -> int | None:
    """The floor of a module's room, from 0; none where no floor names the room."""
    return next((k for k, rooms in enumerate(FLOORS) if room(module) in rooms), None)


def steps(module: str) -> list[str]:
    """The way to a module's file from the top: folders, then the file."""
    return [*module.split("."), *(["__init__"] if PATHS[module].name == "__init__.py" else [])]


def circles(graph: dict[str, set[str]]) -> list[str]:
    """One circle of a graph, as a list of names; empty where there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_every_module_has_a_room():
    assert [m for m in PATHS if m != "netsim" and floor(m) is None] == []


def test_every_room_exists():
    assert set().union(*FLOORS) == {room(m) for m in PATHS if m != "netsim"}


def test_no_module_lies_loose_at_the_top():
    assert {p.stem for p in ROOT.glob("*.py")} <= LOOSE


@pytest.mark.slow
def test_modules_can_be_imported_on_every_system():
    """Modules of Unix alone are imported where they are used, or in a `try`."""
    unix = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
    found = [
        f"{module}: {name}"
        for module in PATHS
        for statement in tree(module).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in [getattr(statement, "module", None), *(one.name for one in statement.names)]
        if name in unix
    ]
    assert found == []


def test_imports_run_one_way():
    wrong = [
        f"{module} imports {found}"
        for module, others in inside().items()
        for found in sorted(others)
        if room(found) != room(module) and (floor(found) or 0) >= (floor(module) or 0)
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_circle():
    assert circles(inside()) == []


def test_no_folders_import_each_other_in_a_circle():
    """Check the folders side by side in any folder, a folder in it taken as one thing."""
    graphs = defaultdict(lambda: defaultdict(set))
    for module, others in inside().items():
        for found in others:
            here, there = steps(module), steps(found)
            shared = next(k for k, (a, b) in enumerate(zip(here, there, strict=False)) if a != b)
            graphs[".".join(here[:shared])][here[shared]].add(there[shared])
    found = {folder: circle for folder, graph in graphs.items() if (circle := circles(graph))}
    assert found == {}


def test_each_folder_of_tests_is_a_folder_of_netsim():
    folders = {p.parent.relative_to(TESTS) for p in TESTS.rglob("test_*.py")} - {Path()}
    strange = {str(f) for f in folders if f.parts[0] not in ACROSS and not (ROOT / f).is_dir()}
    assert strange == set()


def test_netsim_never_imports_an_algorithm_by_name():
    found = {name for module in PATHS for name in imports(module)}
    assert {n for n in found if n.startswith(("algorithms", "netsim.algorithms"))} == set()


def test_views_gather_and_only_renderers_draw():
    """A view names a mark; Matplotlib and Rich are the renderers' alone."""
    views = {m for m in PATHS if m.startswith("netsim.views.") and ".render" not in m}
    drawing = ("matplotlib", "rich", "netsim.views.render")
    assert len(views) > 60
    assert [(m, n) for m in views for n in imports(m) if n.startswith(drawing)] == []


def test_pages_of_the_papers_import_the_public_names_alone():
    """Of `import netsim`; whatever else they took would have to stay as it is."""
    wrong = []
    for path in sorted((REPOSITORY / "papers").rglob("*.py")):
        parsed = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(parsed):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} - {"netsim", "netsim.api"}
            elif isinstance(node, ast.ImportFrom):
                public = {"netsim.api"} | {f"netsim.{n}" for n in (*netsim.__all__, "figures")}
                names = {f"{node.module}.{alias.name}" for alias in node.names} - public
                names = set() if node.module == "netsim.api" else names
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                is_public = node.attr in (*netsim.__all__, "figures", "api")
                names = set() if is_public else {f"{node.value.id}.{node.attr}"}
            else:
                continue
            wrong += [f"{path}: {name}" for name in names if name.split(".")[0] == "netsim"]
    assert wrong == []


def test_only_the_top_knows_the_command_line():
    assert {room(m) for m in PATHS if "typer" in imports(m)} == {"console"}


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


def test_modules_stay_small_and_say_what_they_are():
    large, silent = {}, []
    for module, path in PATHS.items():
        lines = len(path.read_text().splitlines())
        if module in REFERENCE:
            lines -= sum(docstring_lines(node) for node in ast.walk(tree(module)))
        if lines > LINES:
            large[module] = lines
        if not ast.get_docstring(tree(module)):
            silent.append(module)
    assert large == {}
    assert silent == []


def docstring_lines(node: ast.AST) -> int:
    """Lines of the docstring of a module, class or function; 0 of anything else."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        return 0
    first = node.body[0] if node.body and ast.get_docstring(node) is not None else None
    return 0 if first is None else (first.end_lineno or 0) - first.lineno + 1


def test_no_test_folder_shadows_a_package():
    names = {p.name for p in TESTS.iterdir() if p.is_dir()}
    assert not names & {"netsim", "algorithms", "scenarios", "torch", "numpy", "simpy"}
