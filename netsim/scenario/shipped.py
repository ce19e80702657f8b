"""Shipped algorithm files and scenario files.

Installed, both lie inside the package (`netsim/algorithms`, `netsim/_scenarios`); in a checkout,
an editable one included, they are folders beside it (`algorithms`, `scenarios`).
"""

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from netsim.errors import ScenarioError

PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED_NAME = "netsim.algorithms"
CHECKOUT_NAME = "algorithms"

_SENTENCE_END = re.compile(r"(?<!\bFig\.)(?<!\bal\.)(?<!\b[A-Z]\.)(?<=[.?])\s+(?=[A-Z])")


def scenarios_folder() -> Path:
    """The folder of the shipped scenarios."""
    installed = PACKAGE / "_scenarios"
    return installed if installed.is_dir() else PACKAGE.parent / "scenarios"


def scenarios(folder: Path) -> dict[str, Path]:
    """The scenarios of a folder by name; bases (`_x.toml`) are not among them."""
    return {p.stem: p for p in sorted(folder.glob("*.toml")) if p.name[0] != "_"}


def first_sentence(path: Path) -> str:
    """The first sentence of a scenario file's first comment: it says what the scenario shows."""
    words: list[str] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            text = line.removeprefix("#")
            if text == line or not text.strip() or text.startswith("    "):
                break
            words += text.split()
    sentence = _SENTENCE_END.split(" ".join(words), maxsplit=1)[0]
    return sentence.removesuffix(":") + "." * sentence.endswith(":")


def algorithms_package() -> ModuleType:
    """The package of the shipped algorithms, loaded once in a process under one name.

    Installed it is `netsim.algorithms`. In a checkout it is `algorithms`, so that
    `import algorithms.kd_pdfl` gives the module that runs; but where that name means another
    package (one in the working folder, say), the checkout's takes the installed name and leaves
    the other alone.

    Raises
    ------
    ScenarioError
        If there is no such folder: the installation is incomplete.
    """
    if (PACKAGE / "algorithms" / "__init__.py").is_file():
        return importlib.import_module(INSTALLED_NAME)
    folder = PACKAGE.parent / "algorithms"
    for name in (CHECKOUT_NAME, INSTALLED_NAME):
        loaded = sys.modules.get(name)
        if loaded is not None and _is_at(folder, getattr(loaded, "__file__", None)):
            return loaded
    if not (folder / "__init__.py").is_file():
        raise ScenarioError(
            f"the algorithms that ship with netsim are missing: neither {PACKAGE / 'algorithms'} "
            f"nor {folder} is there; install netsim-dfl again"
        )
    if _name_is_free_or_ours(folder):
        return _load(CHECKOUT_NAME, folder)
    return _load(INSTALLED_NAME, folder)


def _is_at(folder: Path, file: str | None) -> bool:
    """Return whether a package's `__init__.py` lies in the folder."""
    return file is not None and Path(file).resolve() == folder / "__init__.py"


def _name_is_free_or_ours(folder: Path) -> bool:
    """Return whether `import algorithms` could give no package but the one in the folder."""
    if CHECKOUT_NAME in sys.modules:
        return False
    spec = importlib.util.find_spec(CHECKOUT_NAME)
    return spec is None or _is_at(folder, spec.origin)


def _load(name: str, folder: Path) -> ModuleType:
    """Load a package by its folder, wherever else the name might lead."""
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[name]
        raise
    parent, _, child = name.rpartition(".")
    if parent:  # as an import statement does
        setattr(sys.modules[parent], child, package)
    return package
