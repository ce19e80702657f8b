"""The page on asynchrony has all kinds of weights by staleness."""

import re
from pathlib import Path

GUIDE = (Path(__file__).resolve().parents[1] / "docs" / "asynchrony.md").read_text(encoding="utf-8")


def test_every_kind_of_weight_by_staleness_is_in_the_table():
    folder = Path(__file__).resolve().parents[1] / "netsim" / "protocols" / "staleness"
    for path in folder.glob("[a-z]*.py"):
        assert re.search(rf"^\| `{path.stem}`", GUIDE, re.MULTILINE), path.stem
