"""Tables as people have them: each damage and dialect gives the right numbers or a refusal.

A refusal names the file, the place and the remedy. There is no third outcome: no column is dropped,
no cell becomes a class and no row is lost without a word.
"""

import gzip
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from netsim.data.sets import Samples
from netsim.data.sets.table import TableFiles
from netsim.errors import DataError
from netsim.python_api.own_data import data_kind

N = 60
A = np.round(np.random.default_rng(0).normal(size=N), 3)
B = np.random.default_rng(1).integers(0, 50, N)
LABEL = np.array(["cat", "dog", "eel"])[np.random.default_rng(2).integers(0, 3, N)]
USER = np.array(["u1", "u2", "u3", "u4"])[np.random.default_rng(3).integers(0, 4, N)]
Columns = dict[str, list[Any]]
REMEDY = re.compile(r"leave out|write|name|say|give|fill|fetch|take|save")


def base() -> Columns:
    return {"a": A.tolist(), "b": B.tolist(), "u": USER.tolist(), "label": LABEL.tolist()}


def csv_text(columns: Columns, sep: str = ",", end: str = "\n", quote: bool = False) -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        return f'"{text}"' if quote or sep in text or "\n" in text else text

    rows = zip(*columns.values(), strict=True)
    lines = [sep.join(columns), *(sep.join(map(cell, row)) for row in rows)]
    return end.join(lines) + end


def put(folder: Path, name: str, columns: Columns) -> None:
    """Write a table in the format that its name says."""
    path = folder / name
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if name.endswith(".parquet"):
        pq.write_table(pa.table(columns), path)
    elif name.endswith(".arrow"):
        table = pa.table(columns)
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    elif "json" in name:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    else:
        text = csv_text(columns)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def require_right(samples: Samples, columns: tuple[str, ...] = ("a", "b")) -> None:
    """The numbers, classes and users of `base`, whatever the order of rows."""
    assert samples.columns is not None
    assert samples.columns.inputs == columns
    assert samples.class_names == ("cat", "dog", "eel")
    assert samples.groups is not None
    truth = {"a": A, "b": B}
    classes, users = (np.unique(v, return_inverse=True)[1] for v in (LABEL, USER))
    wanted = np.stack([*(truth[name] for name in columns), classes, users], axis=1)
    found = np.column_stack([samples.x, samples.y, samples.groups])
    for table in (wanted, found):
        table[:] = table[np.lexsort(table.T)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def load(folder: Path, **keys: Any) -> Samples:
    return TableFiles(user="u", scale="raw", **keys).load(folder)


READERS = ("all.csv", "all.csv.gz", "all.jsonl", "all.ndjson", "all.parquet", "data-0.arrow")


def changed(column: str, row: int, value: Any) -> Callable[[Columns], Columns]:
    def change(columns: Columns) -> Columns:
        columns[column] = [*columns[column]]
        columns[column][row] = value
        return columns

    return change


def with_column(name: str, values: list[Any]) -> Callable[[Columns], Columns]:
    return lambda columns: {name: values, **columns}


def renamed(old: str, new: str) -> Callable[[Columns], Columns]:
    return lambda columns: {new if k == old else k: v for k, v in columns.items()}


def as_text(column: str, row: int, value: str) -> Callable[[Columns], Columns]:
    """A typo in a column of numbers, in files whose columns have a type."""

    def change(columns: Columns) -> Columns:
        columns[column] = [str(v) for v in columns[column]]
        columns[column][row] = value
        return columns

    return change


SAME: dict[str, tuple[Callable[[Columns], Columns], str]] = {
    "as it is": (dict, ""),
    "an index without a name": (with_column("", list(range(N))), "has no name"),
    "pandas' index": (with_column("Unnamed: 0", [7 * i % N for i in range(N)]), "has no name"),
    "an index of two levels": (with_column("Unnamed: 0_level_0", list(range(N))), "has no name"),
    "a column that counts rows": (with_column("id", list(range(1, N + 1))), "numbers the rows"),
    "an index with gaps": (
        with_column("id", [k + k // 3 + 7 for k in range(N)]),
        "numbers the rows",
    ),
    "an index that falls": (with_column("id", list(range(N, 0, -1))), "numbers the rows"),
    "an index that was shuffled": (
        with_column("id", [k * 37 % 61 + 100 for k in range(N)]),
        "numbers the rows",
    ),
    "an index in tens": (with_column("id", [float(10 * k) for k in range(N)]), "numbers the rows"),
    "the target as a number": (
        with_column("code", np.unique(LABEL, return_inverse=True)[1].tolist()),
        "tells the target",
    ),
    "a class as a truth value": (
        with_column("is_cat", (LABEL == "cat").astype(int).tolist()),
        "tells the target",
    ),
    "a column of texts": (with_column("name", [f"n{i % 7}" for i in range(N)]), "text"),
    "a column of dates": (with_column("day", [f"2020-01-{1 + i % 28:02d}" for i in range(N)]), ""),
    "an empty column": (with_column("none", [None] * N), "empty"),
    "blanks around a name": (renamed("a", " a "), ""),
}
"""Changes that leave the numbers what they are; and the reason why a column is left out."""

REFUSED: dict[str, tuple[Callable[[Columns], Columns], str]] = {
    "an empty label": (changed("label", 5, ""), r'target = "label".*cells? .*'),
    "a missing label": (changed("label", 5, None), r'target = "label".*empty'),
    "a label of blanks": (changed("label", 5, "  "), r'target = "label".*'),
    "an unknown label": (changed("label", 5, "?"), r'target = "label".*"\?"'),
    "an error of a spreadsheet as a label": (changed("label", 5, "#NUM!"), r'"#NUM!"'),
    "an undefined number as a label": (changed("label", 5, "1.#QNAN"), r'"1\.#QNAN"'),
    "an error of a spreadsheet as a user": (changed("u", 5, "#NAME?"), r'"#NAME\?"'),
    "nan as a label": (changed("label", 5, "nan"), r'target = "label".*"nan"'),
    "blanks behind a label": (changed("label", 5, "cat "), r"differ in blanks alone"),
    "an empty user": (changed("u", 5, ""), r'user = "u".*'),
    "a missing user": (changed("u", 5, None), r'user = "u".*empty'),
    "a typo among numbers": (as_text("a", 5, "1.2x"), r'column "a".*"1\.2x"'),
    "a question mark": (as_text("b", 5, "?"), r'column "b".*"\?"'),
    "a decimal comma": (as_text("a", 5, "1,25"), r'column "a".*"1,25"'),
    "thousands": (as_text("b", 5, "1,250"), r'column "b".*"1,250"'),
    "numbers beyond float32": (changed("a", 5, 1e300), r'input = "a".*beyond 3e\+38'),
    "a unit behind all numbers": (
        lambda c: {**c, "a": [f"{one} kg" for one in c["a"]]},
        r'column "a".* kg"',
    ),
    "a typographer's minus": (
        lambda c: {**c, "a": [str(one).replace("-", "\u2212") for one in c["a"]]},
        r'column "a"',
    ),
    "a label with an unseen sign": (changed("label", 5, LABEL[5] + "\u200b"), r"u200b.*not seen"),
    "a percent sign": (as_text("b", 5, "12 %"), r'column "b".*"12 %"'),
    "a missing number": (changed("a", 5, None), r'input = "a".*empty'),
    "an infinite number": (changed("a", 5, float("inf")), r'input = "a".*infinite'),
    "one name twice": (renamed("b", "a "), r'columns 1 and 2 are both called "a"'),
    "another target": (renamed("label", "Label"), r'did you mean "Label"'),
}
"""Changes that are refused, and the words."""


AT_ROW_5 = REFUSED.keys() - {
    *("blanks behind a label", "one name twice", "another target", "a unit behind all numbers"),
    *("a typographer's minus", "a label with an unseen sign"),
}
"""Those whose place is named."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("change", SAME)
def test_a_dialect_gives_the_right_numbers(tmp_path, name, change):
    changes, reason = SAME[change]
    put(tmp_path, name, changes(base()))
    samples = load(tmp_path)
    require_right(samples)
    assert samples.columns is not None
    assert reason in "; ".join(samples.columns.left_out.values())
    assert bool(samples.columns.left_out) == bool(samples.columns.sentences())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("change", REFUSED)
def test_a_damage_is_refused_with_place_and_remedy(tmp_path, name, change):
    changes, said = REFUSED[change]
    put(tmp_path, name, changes(base()))
    with pytest.raises(DataError, match=said) as error:
        load(tmp_path)
    text = str(error.value)
    assert name in text
    assert REMEDY.search(text)
    if change in AT_ROW_5:
        line = {".csv": 7, ".jsonl": 6, ".ndjson": 6}.get(Path(name.removesuffix(".gz")).suffix)
        place = f"{name} row 6" if line is None else f"{name} line {line}"
        assert place in text, text


TEXTS: dict[str, tuple[bytes, str]] = {
    "semicolons": (csv_text(base(), ";").encode(), "line 1: semicolons"),
    "tabs": (csv_text(base(), "\t").encode(), "line 1: tabs"),
    "bars": (csv_text(base(), "|").encode(), "line 1: bars"),
    "Latin-1": (
        csv_text({**base(), "u": ["\xe9"] * N}).encode("latin-1"),
        r"all\.csv: line 2: is not text in UTF-8",
    ),
    "Latin-1 in the header": (
        csv_text({**base(), "\xe9": [7] * N}).encode("latin-1"),
        r"all\.csv: line 1: is not text in UTF-8",
    ),
    "UTF-16": (csv_text(base()).encode("utf-16"), "line 1: is text in UTF-16; save it as UTF-8"),
    "a row too short": (
        csv_text(base()).encode() + b"1,2,3\n",
        r"Row #62: Expected 4 columns, got 3.*mend that row",
    ),
    "one name twice in the header": (
        csv_text(base()).replace("a,b", "a,a", 1).encode(),
        r'columns 1 and 2 are both called "a"',
    ),
    "a remark before the header": (b"# ours\n" + csv_text(base()).encode(), "line 1 has"),
    "a row too long": (csv_text(base()).encode() + b"1,2,3,4,5\n", r"Expected 4 columns, got 5"),
    "only a header": (b"a,b,u,label\n", "no rows|row"),
    "nothing": (b"", "mpty"),
    "no header": (csv_text(base()).partition("\n")[2].encode(), r"no such column"),
    "an HTML page": (b"<!DOCTYPE html>\n<html><body>not found</body></html>\n", "no such column"),
    "a pointer of Git LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "no such",
    ),
    "a spreadsheet": (b"PK\x03\x04" + bytes(range(256)) * 4, "."),
}


@pytest.mark.parametrize("damage", TEXTS)
def test_a_text_that_is_no_such_table_is_refused(tmp_path, damage):
    content, said = TEXTS[damage]
    (tmp_path / "all.csv").write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        load(tmp_path)
    assert "all.csv" in str(error.value)


SAME_TEXTS = {
    "a byte order mark": b"\xef\xbb\xbf" + csv_text(base()).encode(),
    "lines of Windows": csv_text(base(), end="\r\n").encode(),
    "quotes": csv_text(base(), quote=True).encode(),
    "no last line end": csv_text(base()).rstrip("\n").encode(),
    "empty lines at the end": csv_text(base()).encode() + b"\n\n",
    "blanks before numbers": re.sub(r"(?m)^(-?\d)", r" \1", csv_text(base())).encode(),
    "cells of two lines in more than a block": csv_text(
        {**base(), "note": [f"no. {k},\n" * 6_000 for k in range(N)]}
    ).encode(),
    "a cell of two lines": csv_text({**base(), "note": ["x\ny"] * N}).encode(),
}


@pytest.mark.parametrize("dialect", SAME_TEXTS)
def test_a_dialect_of_csv_gives_the_right_numbers(tmp_path, dialect):
    (tmp_path / "all.csv").write_bytes(SAME_TEXTS[dialect])
    require_right(load(tmp_path))


JSON_LINES = {
    "a line cut off": ('{"a": 1, "b": 2', "all.jsonl"),
    "a list": ("[1, 2]\n", "all.jsonl"),
    "a number that becomes a text": (
        '{"a": 1, "label": "x", "u": "v"}\n{"a": "one", "label": "y", "u": "v"}\n',
        "row 1|all.jsonl",
    ),
    "lists of several lengths": (
        '{"a": [1, 2], "label": "x", "u": "v"}\n{"a": [1], "label": "y", "u": "v"}\n' * 3,
        r"1 to 2 entries, .* at all\.jsonl line 2; fill",
    ),
    "a list without an entry": (
        '{"a": [1, null], "label": "x", "u": "v"}\n{"a": [1, 2], "label": "y", "u": "v"}\n' * 3,
        "empty entry",
    ),
    "objects in cells": ('{"a": {"b": 1}, "label": "x", "u": "v"}\n' * 4, "name|say by input"),
}


@pytest.mark.parametrize("damage", JSON_LINES)
def test_json_lines_that_are_no_table_are_refused(tmp_path, damage):
    content, said = JSON_LINES[damage]
    (tmp_path / "all.jsonl").write_text(content)
    with pytest.raises(DataError, match=said) as error:
        load(tmp_path)
    assert "all.jsonl" in str(error.value)


TYPES = {
    "dictionaries": lambda t: t.set_column(3, "label", t["label"].dictionary_encode()),
    "decimals": lambda t: t.set_column(0, "a", t["a"].cast(pa.decimal128(9, 3))),
    "large texts": lambda t: t.set_column(2, "u", t["u"].cast(pa.large_string())),
    "half precision": lambda t: t.set_column(1, "b", t["b"].cast(pa.float16())),
    "bytes of 8 bits": lambda t: t.set_column(1, "b", t["b"].cast(pa.uint8())),
    "single precision": lambda t: t.set_column(0, "a", t["a"].cast(pa.float32())),
    "a time beside": lambda t: t.append_column("t", pa.array([0] * N, pa.timestamp("s"))),
    "bytes beside": lambda t: t.append_column("raw", pa.array([b"x"] * N)),
    "a struct beside": lambda t: t.append_column("s", pa.array([{"x": 1}] * N)),
    "lists beside": lambda t: t.append_column("l", pa.array([[1, 2]] * N)),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_of_parquet_are_read_or_named(tmp_path, kind):
    pq.write_table(TYPES[kind](pa.table(base())), tmp_path / "all.parquet")
    samples = load(tmp_path)
    require_right(samples)
    assert samples.columns is not None
    assert bool(samples.columns.left_out) == ("beside" in kind)


DIFFERENT: dict[str, tuple[Callable[[Columns], Columns], str]] = {
    "a feature is missing": (lambda c: {k: v for k, v in c.items() if k != "b"}, "have column b"),
    "a feature is new": (with_column("z", list(range(N))), "have column z"),
    "numbers are texts": (as_text("b", 5, "many"), r'"b" holds numbers .* texts.*"many"'),
    "labels are numbers": (
        lambda c: {**c, "label": np.unique(LABEL, return_inverse=True)[1].tolist()},
        '"label" holds texts',
    ),
    "a user is missing": (lambda c: {k: v for k, v in c.items() if k != "u"}, "have column u"),
    "another case": (renamed("b", "B"), "have column b"),
}


@pytest.mark.parametrize("name", ["{}.csv", "{}.jsonl", "{}.parquet"])
@pytest.mark.parametrize("change", DIFFERENT)
def test_training_and_test_rows_that_differ_are_refused(tmp_path, name, change):
    changes, said = DIFFERENT[change]
    put(tmp_path, name.format("train"), base())
    put(tmp_path, name.format("test"), changes(base()))
    with pytest.raises(DataError, match=said) as error:
        load(tmp_path)
    assert REMEDY.search(str(error.value))


def test_files_of_one_part_that_differ_are_refused_by_name(tmp_path):
    put(tmp_path, "p1.csv", base())
    put(tmp_path, "p2.csv", as_text("a", 5, "1.2x")(base()))
    with pytest.raises(DataError, match=r'p2\.csv: column "a" is of type string, in p1\.csv'):
        load(tmp_path, train="p*.csv")


def test_a_key_names_a_column_once(tmp_path):
    put(tmp_path, "all.csv", base())
    with pytest.raises(DataError, match=r'input = "a": .*names this column twice'):
        load(tmp_path, input=("a", "a"))


@pytest.mark.parametrize("kind", [int, float])
def test_what_tells_the_target_is_no_input(tmp_path, kind):
    known = np.unique(LABEL, return_inverse=True)[1].astype(kind)
    put(tmp_path, "all.csv", {**base(), "z": known.tolist()})
    columns = load(tmp_path).columns
    assert columns is not None
    assert columns.left_out["z"].startswith("tells the target")


def test_what_keys_do_not_name_may_differ(tmp_path):
    put(tmp_path, "train.csv", base())
    put(tmp_path, "test.csv", with_column("z", [1] * N)(base()))
    assert load(tmp_path, input=("a", "b")).x.shape == (2 * N, 2)


@pytest.mark.parametrize(
    ("labels", "keys", "said"),
    [
        ([f"{k % 3}.0" for k in range(N)], {"learn": "classes"}, ("0", "1", "2")),
        ([k % 3 * 5 for k in range(N)], {}, ("0", "5", "10")),
        ([k % 2 * 2 - 1 for k in range(N)], {}, ("-1", "1")),
        ([k % 2 == 0 for k in range(N)], {}, ("0", "1")),
        ([10**15 + k % 2 for k in range(N)], {}, (str(10**15), str(10**15 + 1))),
        (["1", "2a"] * (N // 2), {"learn": "classes"}, ("1", "2a")),
    ],
)
def test_classes_are_those_that_are_written(tmp_path, labels, keys, said):
    put(tmp_path, "all.csv", {**base(), "label": [str(one).lower() for one in labels]})
    assert load(tmp_path, **keys).class_names == said


@pytest.mark.parametrize("begin", [2**53, 2**63, 10**25])
@pytest.mark.parametrize("reader", ["all.csv", "all.jsonl"])
def test_classes_that_floating_point_makes_one_are_refused(tmp_path, begin, reader):
    """Readers take whole numbers beyond 64 bits, and those with a point, for such numbers."""
    labels = [begin + i % 3 + (0.0 if begin == 2**53 else 0) for i in range(N)]
    put(tmp_path, reader, {**base(), "label": labels})
    with pytest.raises(DataError, match=r'target = "label": all.*begin every class with a letter'):
        load(tmp_path, learn="classes")


def test_whole_numbers_most_of_which_differ_are_no_classes_unless_one_says_so(tmp_path):
    columns = {"a": list(A) * 3, "label": list(range(3 * N)), "u": list(USER) * 3}
    put(tmp_path, "all.csv", columns)
    with pytest.raises(DataError, match=r'180 different whole numbers.*learn = "numbers"'):
        load(tmp_path)
    assert load(tmp_path, learn="numbers").class_names == ()
    assert len(load(tmp_path, learn="classes").class_names) == 180


def test_oversights_are_remarked(tmp_path):
    put(tmp_path, "train.csv", {**base(), "b": [1] * N})
    put(tmp_path, "test.csv", changed("label", 0, "fox")({**base(), "b": [1] * N}))
    columns = load(tmp_path).columns
    assert columns is not None
    told = " ".join(columns.sentences())
    assert 'column "b" has one value in all training rows' in told
    assert "class fox is in test rows alone" in told


@pytest.mark.parametrize(
    ("offset", "spread", "scale", "said"),
    [
        (2**25, 1, "raw", True),
        (2**25, 1, "standard", False),
        (2**62, 1, "standard", True),
        (1.6e9, 60.0, "raw", True),
        (1.6e9, 60.0, "standard", False),
        (0, 1, "raw", False),
        (0.5, 1e-3, "raw", False),
    ],
)
def test_digits_that_rounding_takes_are_remarked(tmp_path, offset, spread, scale, said):
    values = [offset + spread * (7 * k % 50) for k in range(N)]
    put(tmp_path, "all.parquet", {"z": values, **base()})
    columns = TableFiles(user="u", scale=scale).load(tmp_path).columns
    assert columns is not None
    assert any('column "z" spans' in told for told in columns.sentences()) == said


X = np.stack([A, B], axis=1).astype(np.float32)
ARRAYS = {
    "a user without a name": ((X, B, np.where(np.arange(N) == 5, " ", USER)), "sample 5 is empty"),
    "inputs that are nan": ((np.where(X > 40, np.nan, X), B), "not all finite"),
    "targets that are infinite": ((X, np.where(A > 1, np.inf, A)), "not all finite"),
    "negative classes": ((X, B - 1), "classes, from 0"),
    "texts for classes": ((X, LABEL), "are no numbers; give .* of classes their numbers"),
    "inputs beyond float32": ((X.astype(float) * 1e300, B), r"at most 3e\+38"),
    "lists of several lengths": (
        ([[1.0] * (1 + (i == 5)) for i in range(N)], B),
        r"inputs of sample 5 have shape \(2,\), those of sample 0 \(1,\)",
    ),
    "objects of several lengths": (
        (np.array([[1.0] * (1 + (i == 5)) for i in range(N)], dtype=object), B),
        "inputs of sample 5",
    ),
    "lists in lists of several lengths": (([[[1.0], [2.0, 3.0]]] * N, B), "can't be made an array"),
    "targets of several lengths": ((X, [[0] * (1 + i % 2) for i in range(N)]), "targets of sample"),
    "another number of targets": ((X, B[1:]), "of as many samples"),
    "another number of users": ((X, B, USER[1:]), "users have shape"),
    "users that are numbers with a point": ((X, B, A), "whole numbers or texts"),
    "another type in test": (((X, B), (X, A)), "training targets have"),
}


@pytest.mark.parametrize("damage", ARRAYS)
def test_arrays_that_are_damaged_are_refused(damage):
    given, said = ARRAYS[damage]
    with pytest.raises(DataError, match=said):
        data_kind(given, "own")


class Drawn(torch.utils.data.Dataset):
    """Images as torchvision gives them, flipped at random."""

    def __init__(self, draw):
        self.draw = draw

    def __len__(self):
        return N

    def __getitem__(self, i):
        x = torch.tensor(X[i], dtype=torch.float32)
        return (x.flip(0) if self.draw() < 0.5 else x), int(B[i])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: float(torch.rand(())),
        random.random,
        np.random.default_rng(0).random,
        itertools.cycle([0.0] * 6 + [1.0]).__next__,
    ],
)
def test_items_that_differ_from_one_read_to_the_next_are_refused(draw):
    with pytest.raises(DataError, match=r"is another one each time .* augment minibatches in a l"):
        data_kind(Drawn(draw), "drawn")
    data_kind(Drawn(lambda: 1.0), "drawn")


@pytest.mark.parametrize(("offset", "told"), [(0.0, 0), (1e4, 0), (1e9, 2)])
def test_digits_that_rounding_takes_from_arrays_are_remarked(offset, told):
    for x, y in ((np.stack([A, A], 1) + offset, B), (X, np.stack([A, A], 1) + offset)):
        columns = data_kind((x, y), "arrays")().read(None).columns
        found = [] if columns is None else columns.sentences()
        assert [" are rounded to steps of 64 " in text for text in found] == [True] * told
