"""Every public name of netsim is on a page of docs/api/, once, with its present docstring."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netsim
from netsim import api, testing

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "api"
DESCRIBED = {"model_validator"}
"""pydantic's own: the page links to it."""


def shown(page: str) -> list[str]:
    """The names whose docstrings a page has."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(r"^<!-- api: ([\w.]+)", text, re.MULTILINE)


def test_every_name_that_an_algorithm_may_import():
    found = shown("node.md") + shown("parts.md")
    names = [n.removeprefix("netsim.api.") for n in found if not n.startswith("netsim.api.Node.")]
    assert sorted(names) == sorted(set(api.__all__) - DESCRIBED)
    text = (PAGES / "node.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in DESCRIBED)


def test_every_verb_of_a_node():
    verbs = [n.removeprefix("netsim.api.Node.") for n in shown("node.md") if ".Node." in n]
    assert sorted(verbs) == sorted(name for name in vars(api.Node) if not name.startswith("_"))


def test_every_name_of_the_package():
    text = (PAGES / "python.md").read_text(encoding="utf-8")
    names = re.findall(r"^<!-- api: .* as=netsim\.(\w+) -->$", text, re.MULTILINE)
    assert sorted(names) == sorted(netsim.__all__)


def test_every_name_for_tests_of_ones_own():
    assert {n.removeprefix("netsim.testing.") for n in shown("testing.md")} == set(testing.__all__)


def test_every_entry_has_the_first_line_of_its_docstring():
    """Without griffe, too: a page that was not written anew lacks a changed line."""
    text = (PAGES / "node.md").read_text(encoding="utf-8")
    plain = text.replace("\\", "")
    for path in shown("node.md"):
        thing = api.Node if ".Node." in path else api
        about = getattr(thing, path.rpartition(".")[2]).__doc__ or ""
        first = about.strip().splitlines()[0] if "Node." in path else ""
        assert first in plain, path


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("griffe") is None, reason="the extra `docs` is not installed"
)
def test_the_pages_are_those_that_the_docstrings_give():
    found = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=ROOT / "tools", capture_output=True, text=True
    )
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


CHECK = """
import api_pages
for path in api_pages.PAGES:
    text = path.read_text(encoding="utf-8")
    if api_pages.written(text) != text:
        print(f"{path.name} is old: python tools/api_pages.py")
"""
