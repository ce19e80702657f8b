"""Names in CONTRIBUTING and the glossary exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./]+\.(?:py|md|toml|yml)|(?:netsim|tests|algorithms|benchmarks)/[\w./]*")
PLACEHOLDER = re.compile(r"[\w/.]*(?:FAMILY|NAME)[\w/.]*")


def missing(document: str) -> list[str]:
    """Files named that are not there; one without its folder lies beside the one before it."""
    absent, folder = [], ROOT
    for name in CODE.findall((ROOT / document).read_text(encoding="utf-8")):
        if not FILE.fullmatch(name):
            continue
        if PLACEHOLDER.fullmatch(name):
            name = re.split("FAMILY|NAME", name)[0].removesuffix("test_")
        path = ROOT / name
        if not path.exists() and "/" not in name:
            path = folder / name
        if not path.exists():
            absent.append(name)
        folder = path if path.is_dir() else path.parent
    return absent


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/glossary.md"])
def test_files_that_a_document_names_are_there(document: str):
    assert missing(document) == []


def test_the_glossary_has_at_most_twenty_five_terms():
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]
    assert 10 < len(terms) == len(set(terms)) <= 25
