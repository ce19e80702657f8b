"""The pages about every key of a scenario: up to date, whole, and with examples that load."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from netsim.console.commands.list import with_keys
from netsim.scenario import from_dict

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
try:
    import scenario_examples
    import scenario_reference
finally:
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def pages():
    return scenario_reference.pages()


@pytest.mark.slow
def test_the_pages_are_up_to_date(pages):
    written = {f"scenario/{path.name}" for path in (ROOT / "docs/scenario").glob("*.md")}
    assert written | {"scenario.md"} == set(pages)
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, (
            "run: python tools/scenario_reference.py"
        )


@pytest.mark.slow
def test_the_pages_have_every_key(pages):
    rows = re.findall(r"^\| `(\w+)` \|", "".join(pages.values()), re.M)
    entries = [entry for group in with_keys().values() for entry in group()]
    assert sorted(rows) == sorted(key.name for entry in entries for key in entry.keys)


def test_a_row_has_as_many_cells_as_the_table(pages):
    for line in "".join(pages.values()).splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 7, line


def test_links_between_pages_lead_somewhere(pages):
    links = re.findall(r"\]\((scenario/[\w.]+)#([\w-]+)\)", pages["scenario.md"])
    assert len(links) > 15
    for target, anchor in links:
        headings = re.findall(r"^#+ (.*)$", pages[target], re.M)
        assert anchor in [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]


@pytest.mark.parametrize("path", scenario_examples.EXAMPLES)
def test_an_example_is_a_part_of_a_scenario(path):
    own = tomllib.loads(scenario_examples.EXAMPLES[path])
    assert not path or path in own
    scenario = from_dict({**tomllib.loads(scenario_examples.REST), **own})
    assert scenario.horizon_s > 0
