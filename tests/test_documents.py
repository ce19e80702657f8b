"""What CONTRIBUTING and the glossary name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("CONTRIBUTING.md", "docs/glossary.md")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./]+\.(?:py|md|toml|yml)|(?:netsim|tests|algorithms|benchmarks)/[\w./]*")
PLACEHOLDER = re.compile(r"FAMILY|NAME|\*")


def named(document: str) -> list[str]:
    words = CODE.findall((ROOT / document).read_text(encoding="utf-8"))
    return [w for w in words if FILE.fullmatch(w) and not PLACEHOLDER.search(w)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_a_document_names_are_there(document: str):
    """A file without its folder lies beside the one named before it."""
    assert len(named(document)) > 10
    missing, folder = [], ROOT
    for name in named(document):
        if (ROOT / name).exists():
            folder = (ROOT / name).parent if "/" in name else folder
        elif not (folder / name).is_file():
            missing.append(name)
    assert missing == []


def test_the_glossary_has_at_most_twenty_five_terms():
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]
    assert len(terms) == len(set(terms)) <= 25
