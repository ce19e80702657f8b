"""The tables of docs/asynchrony.md say what the methods do."""

import pytest

from tools import fates


def lines():
    """Lines of the table by method."""
    text = fates.PAGE.read_text(encoding="utf-8")
    table = text.partition(fates.BEGIN)[2].partition(fates.END)[0]
    found = [line for line in table.splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: line for line in found}


def test_every_method_that_exchanges_something_has_a_line():
    assert list(lines()) == fates.kinds()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["baa", "dpsgd", "fedavg", "l2c", "sparq_sgd"])
def test_a_line_is_what_is_played(kind):
    assert lines()[kind] == fates.row(kind)
