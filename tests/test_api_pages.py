"""Every public name of netsim is on a page of docs/api/, once."""

import re
from pathlib import Path

import netsim
from netsim import api, testing

PAGES = Path(__file__).resolve().parents[1] / "docs" / "api"
DESCRIBED = {"model_validator"}
"""pydantic's own: the page links to it."""


def shown(page: str) -> list[str]:
    """The names whose docstrings a page has."""
    return re.findall(r"^::: ([\w.]+)$", (PAGES / page).read_text(encoding="utf-8"), re.MULTILINE)


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
    names = re.findall(r"heading: netsim\.(\w+)$", text, re.MULTILINE)
    assert sorted(names) == sorted(netsim.__all__)


def test_every_name_for_tests_of_ones_own():
    assert {n.removeprefix("netsim.testing.") for n in shown("testing.md")} == set(testing.__all__)
