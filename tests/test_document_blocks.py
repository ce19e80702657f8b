"""Every block of code in the documents is executed, validated, or says why it is not.

A page whose blocks a test of its own plays names that test in its last line. Of all other pages
commands are held against the command line and the scenarios that they name, tables against the
scenario's, Python is run. `<!-- not executed: why -->` above a block excuses it.
"""

import contextlib
import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from netsim.console.app import app
from netsim.errors import ScenarioError
from netsim.scenario import from_dict, load
from netsim.scenario.kinds import kinds_of

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "examples/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PLAYED = re.compile(
    r"<!-- every block is (?:executed|held against the code) by (tests/\S+) -->\s*\Z"
)
EXCUSED = re.compile(r"<!-- not executed: .{10,} -->\s*\Z")
BLOCK = re.compile(r"^```(?P<word>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?:    \S.*\n(?:\n(?=    ))?)+")
SHOWN = {"text", "csv"}
"""Blocks that are no code: files and formulae to look at."""

LEAST = {
    "horizon_s": 100.0,
    "nodes": {"count": 5},
    "exchange": {"schedule": "rounds"},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "fedavg"},
}
"""Smallest scenario; a page's tables stand in place of these, or beside them."""


@dataclass(frozen=True)
class Block:
    """A block of code, and what stands above it."""

    word: str
    text: str
    above: str


def blocks(page: str) -> list[Block]:
    """All blocks, fenced and indented, in their order."""
    fenced = [
        (m.start(), Block(m["word"], m["text"], page[: m.start()])) for m in BLOCK.finditer(page)
    ]
    bare = BLOCK.sub(lambda m: re.sub(r"[^\n]", "#", m[0]), page)
    indented = [
        (m.start(), Block("indented", re.sub(r"^    ", "", m[0], flags=re.M), page[: m.start()]))
        for m in INDENTED.finditer(bare)
    ]
    return [block for _, block in sorted(fenced + indented, key=lambda each: each[0])]


def commands(text: str) -> list[str]:
    """The commands of a block, one a line; what `$ ` blocks print is left out."""
    lines = text.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def is_commands(block: Block) -> bool:
    first = (commands(block.text) or [""])[0].split()
    return block.word in ("bash", "sh", "console") or (
        block.word == "indented" and bool(first) and first[0] in PROGRAMS
    )


def check_netsim(words: list[str], own: dict[str, dict]) -> None:
    """A command of netsim: its options are there, and its scenario takes what is set."""
    name, rest = words[0], words[1:]
    command = typer.main.get_command(app).commands[name]
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    stated = [word.split("=")[0] for word in rest if re.match(r"-[a-z]|--", word)]
    assert not set(stated) - options - {"--help", "-h"}, f"netsim {name} has no {stated}"
    if name not in ("run", "validate", "sweep", "tune") or not rest:
        return
    changes = [rest[i + 1] for i, word in enumerate(rest[:-1]) if word == "--set"]
    folders = [ROOT / rest[i + 1] for i, word in enumerate(rest[:-1]) if word == "--components"]
    if rest[0] in own:
        from_dict(own[rest[0]])
    elif rest[0].isupper() or (folders and not all(folder.is_dir() for folder in folders)):
        return  # a placeholder, or a folder that the page has made
    elif (ROOT / rest[0]).is_file() or "." not in rest[0]:
        given = str(ROOT / rest[0]) if (ROOT / rest[0]).is_file() else rest[0]
        load(given, changes, kinds=kinds_of(tuple(folders)) if folders else None)


def check_pip(words: list[str], own: dict[str, dict]) -> None:
    """Extras that are named are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extras in re.findall(r"(?:netsim-dfl|\.)\[([\w,]+)\]", " ".join(words)):
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


def check_python(words: list[str], own: dict[str, dict]) -> None:
    """A file or module of the repository."""
    if words[0] == "-m":
        path = ROOT / words[1].replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file() or words[1] in ("venv", "netsim")
    else:
        assert (ROOT / words[0]).is_file(), words


def check_nothing(words: list[str], own: dict[str, dict]) -> None:
    """A program that is not ours."""


PROGRAMS = {
    "netsim": check_netsim,
    "pip": check_pip,
    "python": check_python,
    "python3": check_python,
    "pytest": check_nothing,
    "mkdocs": check_nothing,
    "tensorboard": check_nothing,
    "wandb": check_nothing,
    "bash": lambda words, own: check_python(words, own),
}


def check_command(line: str, own: dict[str, dict]) -> None:
    """Each program of a line."""
    line = re.split(r"\s#\s", line)[0]
    line = re.sub(r" \[--.*| \[(?=[A-Z]).*|\|.*", "", line)  # what a synopsis leaves open
    for part in re.split(r"&&|>|;", line):
        words = shlex.split(part)
        while words and re.fullmatch(r"\w+=\S*", words[0]):
            words = words[1:]
        if words and words[0] in PROGRAMS:
            PROGRAMS[words[0]](words[1:], own)
        elif part == line and words:
            raise AssertionError(f"neither executed nor excused: {line}")


def check_toml(text: str) -> None:
    """Tables of a scenario, or a whole one."""
    try:
        from_dict({**LEAST, **tomllib.loads(text)})
    except ScenarioError as error:
        if "file" not in str(error):
            raise


@pytest.mark.thinned(9)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_is_executed_or_excused(path: Path, tmp_path: Path):
    page = path.read_text(encoding="utf-8")
    found = blocks(page)
    if played := PLAYED.search(page):
        test = ROOT / played[1]
        assert found, f"{path.name} has no blocks"
        assert path.stem in test.read_text(encoding="utf-8"), (
            f"{played[1]} does not play {path.name}"
        )
        return
    own: dict[str, dict] = {}
    names: dict[str, object] = {}
    for block in found:
        if EXCUSED.search(block.above):
            continue
        if is_commands(block):
            for line in commands(block.text):
                check_command(line, own)
        elif block.word == "toml":
            check_toml(block.text)
            own["mine.toml"] = tomllib.loads(block.text)
        elif block.word == "json":
            json.loads(block.text)
        elif block.word == "python":
            with contextlib.chdir(tmp_path):
                exec(compile(block.text, str(path), "exec"), names)
        elif block.word not in SHOWN and block.word != "indented":
            raise AssertionError(f"neither executed nor excused: ```{block.word}\n{block.text}")


def test_links_between_documents_lead_somewhere():
    """On a forge, too, where README and its neighbours are read as files."""
    pages = (*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md")
    links = [
        (path, target)
        for path in pages
        for target in re.findall(
            r"\]\((?!\w+:|#)([^)\s#]+)", BLOCK.sub("", path.read_text(encoding="utf-8"))
        )
    ]
    assert len(links) > 100
    assert [(str(path), to) for path, to in links if not (path.parent / to).exists()] == []
