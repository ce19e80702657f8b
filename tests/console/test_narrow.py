"""Output in 80 columns: sentences break between words, and names stay whole."""

import itertools
import re

import pytest
from rich.text import Text

from netsim.console import papers
from netsim.console.commands import list as listing
from netsim.scenario import shipped
from netsim.terminal import consoles

LONG = (
    'name = "of_sixteen_chars" with a very_long_name_of_a_key_that_has_many_words_in_it.and.a.part'
)


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("width", [20, 33, 80, 200])
@pytest.mark.parametrize("text", [LONG, f"  {LONG}\nb\n\n  {LONG} {LONG}", "", " ", "a"])
def test_no_word_is_broken_and_none_is_lost(text, width):
    lines = consoles._wrapped(Text(text), width).plain.splitlines()
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert len(line) <= width or len(line.split()) == 1, line
    for first, then in itertools.pairwise(lines):
        if len(text.splitlines()) == 1:
            assert len(first) + 1 + len(then.split()[0]) > width, "a line is as long as it can be"


def test_no_sentence_of_a_scenario_is_cut(netsim, narrow):
    text = netsim("list", "scenarios", algorithms=False).stdout
    assert max(map(len, text.splitlines())) <= 80
    entries = re.split(r"^ {3}(?=\S)", text, flags=re.MULTILINE)[1:]
    found = dict(" ".join(entry.split()).split(" ", 1) for entry in entries)
    known = shipped.scenarios(shipped.scenarios_folder())
    assert found == {name: shipped.first_sentence(path) for name, path in known.items()}
    unended = [name for name, said in found.items() if not re.search(r"[.?][\"')]*$", said)]
    assert unended == []


@pytest.mark.thinned(2)
@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_name_in_any_list_is_broken(netsim, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    text = netsim("list", "all", algorithms=False).stdout
    names = {line.split()[0] for line in text.splitlines() if re.match(r" {3}\S", line)}
    of_all = {c.name for group in listing.names_alone().values() for c in group() if c.about}
    assert of_all <= names
    text = netsim("list", "papers", algorithms=False).stdout
    assert {entry.scenario for entry in papers.shipped().entries} <= set(text.split())
    assert len(re.findall(r"(?:Table|Appendix|Fig\.)", text)) > 50, "no column has gone"
    if columns == "80":
        assert not re.search(r"(?:Table|Appendix|Fig\.)(?:\s{2}|$)", text, re.MULTILINE)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("what", ["fading", "radio", "algorithms", "scenarios"])
def test_lists_of_keys_fill_their_columns_and_break_no_word(netsim, monkeypatch, what):
    said = {}
    for columns in ("80", "1000"):
        monkeypatch.setenv("COLUMNS", columns)
        said[columns] = netsim("list", what, "--keys", algorithms=False).stdout
    assert said["80"].split() == said["1000"].split()
    assert max(map(len, said["80"].splitlines())) <= 80
    below = [len(line) - len(line.lstrip()) for line in said["80"].splitlines() if line.strip()]
    assert max(below) <= listing.MOST_NAME + 2, "descriptions have 48 columns of 80 at least"


def test_sentences_break_between_words_and_commands_do_not(netsim, here, monkeypatch):
    said = {}
    for columns in ("80", "400"):
        monkeypatch.setenv("COLUMNS", columns)
        said[columns] = netsim("validate", "--no-world", "quickstart", algorithms=False).stdout
    assert said["80"].split() == said["400"].split()
    assert max(map(len, said["80"].splitlines())) <= 80 < max(map(len, said["400"].splitlines()))
    folder = "a folder/with_a_long_name_" + "x" * 60
    monkeypatch.setenv("COLUMNS", "80")
    lines = netsim("new", "fading", "own", "--dir", folder, algorithms=False).stdout.splitlines()
    assert f"    pytest '{folder}/test_own.py'" in lines
    assert sum(line.lstrip().startswith("netsim run quickstart") for line in lines) == 1
