"""Tcl cut into statements and words."""

import pytest

from netsim.errors import DataError
from netsim.traces.files import Text
from netsim.traces.tcl import statements

TEXT = Text("[x]", "")


def cut(script):
    return [[word.text for word in found] for found in statements(TEXT, script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b\nc", [["a", "b"], ["c"]]),
        ("a b;c ; d;", [["a", "b"], ["c"], ["d"]]),
        ('a "b ; c" d', [["a", "b ; c", "d"]]),
        ("a {b {c} ; \n d} e", [["a", "b {c} ; \n d", "e"]]),
        ("a [b ; c d] e", [["a", "[b ; c d]", "e"]]),
        ("a \\\n b", [["a", "b"]]),
        ("# no; thing\na # b", [["a", "#", "b"]]),
        ("a ;# b ; c\nd", [["a"], ["d"]]),
        ("# goes \\\n on\na", [["a"]]),
        ("% matlab's\na", [["a"]]),
        ('a "b \\" c"', [["a", 'b \\" c']]),
        ("a \\; b", [["a", "\\;", "b"]]),
        ("  \n;; \n", []),
        ("set X_ -1.5e3", [["set", "X_", "-1.5e3"]]),
        ("a $n(0) ${m}", [["a", "$n(0)", "${m}"]]),
    ],
)
def test_statements_end_with_lines_and_semicolons_and_words_hold_together(script, expected):
    assert cut(script) == expected


def test_words_know_their_lines():
    found = list(statements(TEXT, 'a\n\nb {\n\n} "c\n"\nd # e\n# f\ng', line=10))
    assert [[word.line for word in words] for words in found] == [
        [10], [12, 12, 14], [16, 16, 16], [18]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "problem"),
    [('a\nb "c', 'line 2: a quote'), ("{ { }", "line 1: a { has no }"), ("a\n\n[b", "line 3: a .")],
)  # fmt: skip
def test_what_has_no_end_is_told(script, problem):
    with pytest.raises(DataError, match=problem):
        cut(script)
