"""Names of what ships with netsim, and its first docstring lines, read without running any of it.

A component is called as its file, so a list of names needs no component; one that shows keys does.
"""

import ast
import tokenize
from functools import cache
from pathlib import Path

import netsim

PACKAGE = Path(netsim.__path__[0])


def first_line(path: Path) -> str:
    """The first line of a Python file's docstring, or nothing."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.STRING:
                text = ast.literal_eval(token.string)
                return str(text).strip().partition("\n")[0].strip()
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE):
                break
    return ""


def files(folder: Path) -> dict[str, Path]:
    """The public Python files of a folder by name."""
    return {path.stem: path for path in sorted(folder.glob("*.py")) if path.name[0] != "_"}


@cache
def families() -> dict[str, str]:
    """The packages of all component families, by the name that they are listed under."""
    found = {}
    for path in PACKAGE.rglob("__init__.py"):
        text = path.read_text(encoding="utf-8")
        if "(Component)" not in text:
            continue
        body = ast.parse(text).body
        if any(isinstance(part, ast.ClassDef) and _is_component(part) for part in body):
            package = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
            found[_listed_as(body) or package.removeprefix("netsim.")] = package
    return dict(sorted(found.items()))


def folder_of(package: str) -> Path:
    """Return the folder of a package of netsim."""
    return PACKAGE.parent.joinpath(*package.split("."))


def _is_component(part: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Component" for base in part.bases)


def _listed_as(body: list[ast.stmt]) -> str | None:
    """The package's `LISTED_AS`."""
    for part in body:
        if not isinstance(part, ast.Assign) or ast.unparse(part.targets[0]) != "LISTED_AS":
            continue
        if isinstance(part.value, ast.Constant):
            return str(part.value.value)
    return None
