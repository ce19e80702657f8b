"""Tables of the pages are no wider than a page; columns are named in short."""

import importlib

from .little import tables

layout = importlib.import_module("papers.results.layout")
DATA = [f"{data}, Sc. {number}" for data in ("MNIST", "SVHN") for number in (1, 2, 3)]
WORDS = ("paper", "here")


def written(heads):
    lines = [("FedAvg", [str(place) for place in range(len(heads))])]
    return list(layout.tables("Last round", "[%]", heads, lines))


def test_a_narrow_table_is_one():
    heads = [layout.Head(name) for name in DATA]
    title, _, first, *_ = written(heads)
    assert title == "**Last round** [%]"
    assert first.startswith("|  | MNIST, Sc. 1 | MNIST, Sc. 2 |")


def test_a_wide_table_is_split_by_groups():
    heads = [layout.Head(name, word) for name in DATA for word in WORDS]
    head = f"|  | {' | '.join(f'Sc. {n}, {word}' for n in (1, 2, 3) for word in WORDS)} |"
    assert written(heads) == [
        "**Last round: MNIST** [%]",
        "",
        head,
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| FedAvg | 0 | 1 | 2 | 3 | 4 | 5 |",
        "",
        "**Last round: SVHN** [%]",
        "",
        head,
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| FedAvg | 6 | 7 | 8 | 9 | 10 | 11 |",
        "",
    ]


def test_a_wide_table_without_groups_is_split_by_number():
    heads = [layout.Head(f"M = {number}", word) for number in range(5) for word in WORDS]
    heads_of = [line for line in written(heads) if line.startswith("|  |")]
    assert [line.count("|") - 2 for line in heads_of] == [8, 2]
    assert heads_of[1] == "|  | M = 4, paper | M = 4, here |"


def test_a_table_without_columns_or_lines_is_left_out():
    assert list(layout.tables("Last round", "", [], [("FedAvg", [])])) == []
    assert list(layout.tables("Last round", "", [layout.Head("M = 10")], [])) == []


def test_columns_are_named_by_groups():
    columns = [tables.Column(name) for name in [*DATA, "all"]]
    assert layout.named(columns[:3], columns) == "MNIST"
    assert layout.named([*columns[1:6], columns[6]], columns) == "MNIST (Sc. 2, Sc. 3), SVHN, all"
