"""The lines that docs/tour.md quotes stand in the files that it names."""

import io
import re
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("path", "quoted"), BLOCKS, ids=[path for path, _ in BLOCKS])
def test_quoted_lines_are_in_their_file(path: str, quoted: str):
    """Each part between lines of `...` is in the file as it stands, at one place."""
    code = (ROOT / path).read_text(encoding="utf-8")
    for part in re.split(r"^ *\.\.\.\n", quoted, flags=re.MULTILINE):
        assert code.count(part.strip("\n")) == 1, f"{path} does not have:\n{part}"


def test_every_block_is_a_quotation():
    assert len(BLOCKS) == TEXT.count("\n```python") > 20


def test_the_files_that_it_names_are_there():
    named = set(re.findall(r"`((?:netsim|tests|algorithms)/[\w./]+)`", TEXT))
    assert len(named) > 25
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_names_in_it_are_names_of_the_code_that_it_shows():
    paths = set(re.findall(r"(?:netsim|algorithms)/[\w/]+\.py", TEXT))
    codes = [(ROOT / path).read_text(encoding="utf-8") for path in sorted(paths)]
    tokens = [t for code in codes for t in tokenize.generate_tokens(io.StringIO(code).readline)]
    known = {t.string for t in tokens if t.type == tokenize.NAME} | set(sys.stdlib_module_names)
    known |= {word for path in paths for word in Path(path).with_suffix("").parts}
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", prose)
    assert len(named) > 50
    others = {n.split(".")[-1] for n in named} - known  # keys, fates, names of backends
    everything = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("netsim/**/*.py"))
    assert [n for n in others if not re.search(rf"[\"'.]{n}\b", everything)] == []


def test_it_is_read_in_an_evening():
    assert 350 < len(TEXT.splitlines()) <= 550
