"""Examples of docs/explain.md, timeline.md and plot.md work, and print the shown text."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.export.formats._messages import COLUMNS
from netsim.registry import public_modules
from netsim.views.explaining import causes

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, and what it is said to print."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def require_printed(found: str, told: str) -> None:
    """Lines of `...` stand for any that are left out."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "...\n" else re.escape(line)
        for line in told.splitlines(keepends=True)
    )
    assert re.fullmatch(pattern, found), f"printed\n{found}\nbut the page has\n{told}"


@pytest.mark.parametrize(
    "page", ["explain.md", "timeline.md", pytest.param("plot.md", marks=pytest.mark.slow)]
)
def test_every_block_of_a_page_works(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88" if page == "explain.md" else "200")
    kinds = []
    for language, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        kinds.append(language)
        if language == "toml":
            name = text.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, page, "exec"), {})
        else:
            assert language == "console"
            for command, told in commands(text):
                program, *arguments = shlex.split(command)
                result = CliRunner().invoke(app, arguments)
                assert (program, result.exit_code) == ("netsim", 0), result.output
                require_printed(result.stdout, told)
    assert {"toml", "python", "console"} == set(kinds)


def test_the_page_has_the_columns_of_exported_messages():
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", (DOCS / "timeline.md").read_text(), re.M
    )
    assert rows == [(name, unit, meaning) for name, _, unit, meaning in COLUMNS]


def test_every_cause_states_its_measure():
    for module in public_modules(causes.__name__).values():
        assert "\nMeasure: " in module.__doc__
