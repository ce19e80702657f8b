"""No code in the package executes text, and none unpickles: runs and scenarios are data."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOPS = ("netsim", "algorithms", "tools")
CALLED = {"eval", "exec", "compile", "__import__", "execfile"}
"""Builtins that make code of text, or import by a name that is worked out."""
METHODS = {"query", "eval"}
"""Of a DataFrame: with an argument both execute it."""
MODULES = {
    "pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "joblib", "yaml",
    "code", "codeop", "runpy", "imp",
}  # fmt: skip
"""Modules that unpickle, or execute their input."""
BY_PATH = {"spec_from_file_location", "SourceFileLoader", "SourcelessFileLoader", "exec_module"}
"""Functions that load a file as a module."""
SHELLS = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"),
          ("subprocess", "getstatusoutput")}  # fmt: skip
OWN_CODE = {
    "netsim/scenario/shipped.py": {"spec_from_file_location", "exec_module"},
    "netsim/protocols/source_imports.py": {"SourceFileLoader"},
}
"""Make a package of the algorithms that lie beside netsim in a checkout, and import the files of
folders that a user has named on the command line or in Python."""
BETWEEN_PROCESSES = {
    "netsim/engine/actors/packing.py",
    "netsim/protocols/flower/client_pool.py",
}
"""Unpickle what one process of a run has just sent to another, and nothing of a file."""
BY_NAME = {"netsim/export/trackers/tracker.py", "netsim/views/__init__.py"}
"""Readers of runs that import by a name: one of a list of their own, or of their files."""


def executing(text: str) -> list[str]:
    """List the calls in a module that execute text or unpickle: line and name of each."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
            found += [(node.lineno, name) for name in names if name in MODULES]
        elif isinstance(node, ast.ImportFrom):
            top = (node.module or "").partition(".")[0]
            if top in MODULES:
                found.append((node.lineno, top))
            names = {alias.name for alias in node.names}
            shells = {name for module, name in SHELLS if module == top}
            found += [(node.lineno, name) for name in names & (BY_PATH | shells)]
            found += [(node.lineno, name) for name in names & CALLED if top == "builtins"]
        elif isinstance(node, ast.Name) and node.id in CALLED:
            found.append((node.lineno, node.id))
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in BY_PATH or (owner, node.attr) in SHELLS:
                found.append((node.lineno, node.attr))
            if owner in ("builtins", "__builtins__") and node.attr in CALLED:
                found.append((node.lineno, node.attr))
        if isinstance(node, ast.Call):
            found += [(node.lineno, name) for name in _called(node)]
    return [f"{line}: {name}" for line, name in sorted(set(found))]


def _called(call: ast.Call) -> list[str]:
    """Describe the fault of one call."""
    given = {word.arg: word.value for word in call.keywords}
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    module = owner.id if isinstance(owner, ast.Name) else ""
    found = []
    if name in METHODS and (call.args or call.keywords) and module != "self":  # a layer's name
        found.append(name)
    if (module, name) == ("torch", "load") and not _is(given.get("weights_only"), True):
        found.append("torch.load")
    if not _is(given.get("allow_pickle", ast.Constant(False)), False):
        found.append("allow_pickle")
    if not _is(given.get("shell", ast.Constant(False)), False):
        found.append("shell")
    if name in ("read_pickle", "to_pickle"):
        found.append(name)
    return found


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


@pytest.mark.parametrize("top", TOPS)
def test_no_text_is_executed_and_nothing_unpickled(top):
    found = {}
    for path in sorted((REPOSITORY / top).rglob("*.py")):
        name = path.relative_to(REPOSITORY).as_posix()
        wrong = executing(path.read_text(encoding="utf-8"))
        if name in OWN_CODE:
            assert {w.partition(": ")[2] for w in wrong} == OWN_CODE[name]
        elif name in BETWEEN_PROCESSES:
            assert {w.partition(": ")[2] for w in wrong} <= {"pickle", "cloudpickle"}
        elif wrong:
            found[name] = wrong
    assert found == {}


def test_who_reads_runs_imports_nothing_by_a_name():
    rooms = [REPOSITORY / "netsim" / room for room in ("recording", "views", "export")]
    texts = {
        path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
        for room in rooms
        for path in room.rglob("*.py")
    }
    assert {name for name, text in texts.items() if "import_module" in text} == BY_NAME


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "run = exec",
        "compile(text, '', 'eval')",
        "__import__(name)",
        "import builtins\nbuiltins.eval(text)",
        "from builtins import exec as run",
        "import pickle",
        "from cloudpickle import loads",
        "import yaml",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=trusted)",
        "frame.query(f'node == {node}')",
        "frame.eval('a > b')",
        "pd.eval(text)",
        "pd.read_pickle(path)",
        "os.system(text)",
        "from os import popen",
        "subprocess.run(text, shell=True)",
        "importlib.util.spec_from_file_location('a', path)",
    ],
)
def test_the_search_finds(line):
    assert executing(line)


@pytest.mark.parametrize(
    "line",
    [
        "model.eval()",
        "self.query(y)",
        "re.compile('a')",
        "torch.load(path, weights_only=True)",
        "np.load(path, allow_pickle=False)",
        "subprocess.run(words)",
        "evaluate(text)",
        "query, value = self.query, 3",
    ],
)
def test_the_search_passes(line):
    assert not executing(line)
