"""The command `netsim new`: the first file of a component, and its test."""

import importlib
import keyword
import pkgutil
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from netsim.console import starts, terminal
from netsim.errors import ScenarioError, one_line

PLACEHOLDERS = ("starting", "Starting")
"""Placeholders in a file of `starts` for the name, and for that of its class."""

TEST = '''\
"""Checks of {name}: pytest {file}."""

from netsim import testing


def test_{name}() -> None:
    testing.check("{name}.py", beside=__file__)
'''


ALSO_CALLED = ("add", "create", "init", "make", "scaffold", "template")


def command(
    sort: Annotated[
        str,
        typer.Argument(metavar="SORT", help="algorithm, model, data_set, topology, fading, ..."),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in scenarios.")],
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Folder of its two files.")
    ] = Path(),
) -> None:
    """Write a component of your own to begin with, and its test; both run as they are."""
    chosen = _sort(sort)
    package = _package(chosen)
    _require_name(name, package)
    test = f"test_{name}.py"
    files = {f"{name}.py": _text(chosen, name), test: TEST.format(name=name, file=test)}
    _write(folder, files)
    place = shlex.quote(one_line(folder))
    setting = shlex.quote(_setting(package, name))
    console = terminal.out()
    console.print(f"wrote {folder / name}.py, which works as it is, and its test")
    console.print_whole(
        "play it:",
        f"    netsim run quickstart --components {place} --set {setting}",
        "test it:",
        f"    pytest {shlex.quote(one_line(folder / test))}",
    )


def _text(sort: str, name: str) -> str:
    """The first file of a sort, with a name in place of those of `PLACEHOLDERS`."""
    source = Path(str(importlib.import_module(f"{starts.__name__}.{sort}").__file__))
    text = source.read_text(encoding="utf-8")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    for old, now in zip(PLACEHOLDERS, (name, class_name), strict=True):
        text = re.sub(rf"(?<![A-Za-z]){old}", now, text)
    return text


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, none of which may be there."""
    from netsim.recording.whole_files import require_place, write_text

    for file in files:
        require_place(folder / file, "the new file")
    there = [folder / file for file in files if (folder / file).exists()]
    if there:
        raise ScenarioError(f"{one_line(there[0])}: is there already; choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            write_text(folder / file, content)
    except OSError as error:
        raise ScenarioError(f"--dir {folder}: cannot be written: {error.strerror}") from error


def sorts() -> list[str]:
    """Return the names of component families that have a first file."""
    return sorted(info.name for info in pkgutil.iter_modules(starts.__path__))


def _sort(word: str) -> str:
    """The first file that a word means; none, or several, are refused."""
    from netsim.registry import did_you_mean

    known = sorts()
    plain = word.strip().lower().replace("-", "_").removesuffix("s")
    for sort in known:
        if plain in (sort.removesuffix("s"), sort.replace("_", "").removesuffix("s")):
            return sort
    named = {sort: _package(sort) for sort in known}
    tables = {s: _table(package) for s, package in named.items() if package is not None}
    by_table = [sort for sort, table in tables.items() if table == word.strip()]
    by_part = [s for s, p in named.items() if p and plain in _parts(p)]
    found = by_table or by_part
    if len(found) == 1:
        return found[0]
    if found:
        raise ScenarioError(f"netsim new {one_line(word)}: which one? {', '.join(found)}")
    raise ScenarioError(
        f"netsim new {one_line(word)}: must be one of {', '.join(known)}"
        + did_you_mean(word, known)
    )


def _parts(package: str) -> set[str]:
    """The words in a package's name, without their plural."""
    return {part.removesuffix("s") for part in package.split(".")[1:]}


def _package(sort: str) -> str | None:
    """The family that a first file is of; None: it is an algorithm."""
    from netsim.registry import Component, family_of

    module = importlib.import_module(f"{starts.__name__}.{sort}")
    for value in vars(module).values():
        here = getattr(value, "__module__", "") == module.__name__
        if here and isinstance(value, type) and issubclass(value, Component):
            return family_of(value)
    return None


def _table(package: str) -> str:
    """The first table of a scenario that takes one of a family."""
    from netsim.scenario.file_paths import first_key

    return ".".join(map(str, first_key(package)))


def _setting(package: str | None, name: str) -> str:
    """Return the `--set` option that chooses a component."""
    from netsim.registry import tag_of
    from netsim.scenario.file_paths import STATED

    if package is None:
        return f"algorithm=[{{kind='{name}'}}]"
    if package in STATED:
        stated = "".join(f", {key}={value}" for key, value in STATED[package].items())
        return f"{_table(package)}=[{{kind='{name}'{stated}}}]"
    return f"{_table(package)}.{tag_of(package)}={name}"


def _require_name(name: str, package: str | None) -> None:
    """Refuse a name that no component can have."""
    from netsim.registry import shipped_family, tag_of
    from netsim.scenario.component_files import NOT_COMPONENTS
    from netsim.scenario.kinds import kinds_of

    label = f"netsim new {one_line(name)}"
    usable = re.fullmatch(r"[a-z][a-z0-9_]*", name) and not keyword.iskeyword(name)
    if not usable or name.startswith(NOT_COMPONENTS):
        raise ScenarioError(
            f"{label}: a name has small letters, digits and _, and does not begin with test_: it "
            "is that of the file"
        )
    shipped = kinds_of() if package is None else shipped_family(package, tag_of(package))
    if name in shipped:
        raise ScenarioError(f"{label}: netsim ships one of that name; choose another")
