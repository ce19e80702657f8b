"""docs/models.md has every model of the network, its equation, and a source of the code's."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from netsim.console.commands import list as listing
from netsim.registry import shipped_family, tag_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
try:
    import models_page
    import published_numbers
    from model_equations import CHAPTERS
finally:
    sys.path.remove(str(ROOT / "tools"))

PAGE = (ROOT / "docs/models.md").read_text(encoding="utf-8")
LEARNING = {"data.sets", "data.partitions", "data.drift", "tasks", "models", "attacks", "topology"}
"""Families that are no models of the network; other pages have them."""


@pytest.mark.slow
def test_the_page_is_up_to_date():
    assert models_page.page() == PAGE, "run: python tools/models_page.py"


def test_every_family_of_the_network_is_there():
    shipped = {name for name in listing.families() if not name.startswith("protocols")}
    assert shipped - LEARNING == set(CHAPTERS)


@pytest.mark.parametrize("family", CHAPTERS)
def test_every_component_of_a_family_is_there(family):
    package = listing.families()[family]
    (part,) = re.findall(rf"^## {CHAPTERS[family].title}\n(.*?)^## ", PAGE, re.M | re.S)
    assert re.findall(r"^\| `(\w+)` \|", part, re.M)[1:] == list(CHAPTERS[family].kinds)
    assert set(CHAPTERS[family].kinds) == set(shipped_family(package, tag_of(package)))


@pytest.mark.parametrize("family", CHAPTERS)
def test_sources_are_those_that_the_code_states(family):
    package = listing.families()[family]
    for kind, component in shipped_family(package, tag_of(package)).items():
        module = sys.modules[component.__module__]
        told = f"{module.__doc__} {inspect.getdoc(component)}"
        for source in filter(None, CHAPTERS[family].kinds[kind].source.split("; ")):
            author = re.match(r"(?:weights: )?(?:3GPP )?(?:D\. )?([\w-]+)", source)[1]
            assert author in told, f"{family} {kind}: {author}"


def test_every_equation_is_closed():
    assert PAGE.count("$") % 2 == 0
    for line in PAGE.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 8), line


@pytest.mark.slow
def test_no_model_is_farther_from_its_published_number_than_its_row_says():
    far = {
        f"{row.model}, {row.quantity}": row.ours()
        for row in published_numbers.rows()
        if abs(row.ours() / row.published - 1) > row.within
    }
    assert far == {}


def test_rows_of_published_numbers_name_tests_that_there_are():
    for row in published_numbers.rows():
        file, _, name = row.test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}(" in text if name else "def test_" in text, row.test
