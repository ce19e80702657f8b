"""Class numbers, users and indices of tables are what they stand for, not how they are written."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.data.sets.table import TableFiles
from netsim.errors import DataError

N = 48


def parquet(path, names=None, **columns):
    """Write rows of two classes, whose names stand in the schema as `datasets` has them."""
    a = [k * 7 % 11 / 3 for k in range(N)]
    table = pa.table({"a": a, "label": [0, 1] * (N // 2)} | columns)
    if names is not None:
        said = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
        table = table.replace_schema_metadata({b"huggingface": json.dumps(said).encode()})
    pq.write_table(table, path)


def csv_of(path, header, *cells):
    """Write `header` and, in turn, the rows of `cells`."""
    rows = (f"{k * 7 % 11 / 3:.3f},{cells[k % len(cells)]}\n" for k in range(N))
    path.write_text(f"a,{header}\n" + "".join(rows))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (["cat", "dog"], ["dog", "cat"], '0 is the class number of "cat" and of "dog"'),
        (["cat", "dog"], ["cat", "dog", "eel"], '2 is the class number of nothing and of "eel"'),
    ],
)
@pytest.mark.parametrize(
    "files", [("train-1.parquet", "test-1.parquet"), ("p1.parquet", "p2.parquet")]
)
def test_a_class_number_that_stands_for_two_names_is_refused(tmp_path, files, first, second, said):
    for file, names in zip(files, (first, second), strict=True):
        parquet(tmp_path / file, names)
    with pytest.raises(DataError, match=f'column "label": {said}'):
        TableFiles().load(tmp_path)


def test_names_of_classes_that_one_file_alone_has_hold_for_all(tmp_path):
    parquet(tmp_path / "p1.parquet", ["cat", "dog"])
    parquet(tmp_path / "p2.parquet")
    assert TableFiles().load(tmp_path).class_names == ("cat", "dog")


TWICE = {
    "leading zeros": ('"1" and "01" are one number', "1", "01"),
    "true by name": ('"true" and "True" are both true', "true", "True", "false"),
    "true by number": ('"true" and "1" are both true', "true", "1", "false"),
}


@pytest.mark.parametrize("way", TWICE)
def test_a_user_written_in_two_ways_is_refused(tmp_path, way):
    said, *cells = TWICE[way]
    csv_of(tmp_path / "all.csv", "label, u", *(f"x,{cell}" for cell in cells))
    with pytest.raises(DataError, match=f'user = "u".*{said}; write a user in one way'):
        TableFiles(user="u").load(tmp_path)


def test_a_class_written_in_two_ways_is_refused(tmp_path):
    """As codes have it: 01 and 1 are two, and as numbers they are one."""
    csv_of(tmp_path / "all.csv", "label", "1", "01")
    with pytest.raises(DataError, match=r'target = "label".*"1" and "01" are one number'):
        TableFiles().load(tmp_path)
    csv_of(tmp_path / "all.csv", "label", "01", "02")
    assert TableFiles().load(tmp_path).class_names == ("1", "2")


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_users_may_be_true_and_false(tmp_path, name):
    if name == "all.csv":
        csv_of(tmp_path / name, "label,u", "x,true", "y,true", "x,false", "y,false")
    else:
        parquet(tmp_path / name, u=[k % 4 < 2 for k in range(N)])
    groups = TableFiles(user="u").load(tmp_path).groups
    assert groups is not None
    assert np.bincount(groups).tolist() == [N // 2, N // 2]


def test_decimals_without_places_are_whole_numbers(tmp_path):
    """Databases have their keys and codes so."""
    codes = pa.array([str(k % 2) for k in range(N)]).cast(pa.decimal128(38, 0))
    parquet(tmp_path / "all.parquet", label=codes, u=codes)
    samples = TableFiles(user="u").load(tmp_path)
    assert samples.class_names == ("0", "1")
    assert samples.groups is not None
    assert samples.groups.max() == 1


def test_texts_that_are_not_in_utf8_are_refused(tmp_path):
    texts = pa.Array.from_buffers(pa.string(), N, pa.array([b"\xe9"] * N).buffers())
    parquet(tmp_path / "all.parquet", label=texts)
    with pytest.raises(DataError, match=r'all\.parquet.*column "label" is not text in UTF-8'):
        TableFiles().load(tmp_path)
    (tmp_path / "all.parquet").unlink()
    (tmp_path / "all.jsonl").write_bytes(b'{"a": 1.5, "label": "\xe9"}\n' * N)
    with pytest.raises(DataError, match=r"all\.jsonl: line 1: is not text in UTF-8"):
        TableFiles().load(tmp_path)


@pytest.mark.parametrize("shuffled", [False, True])
def test_an_index_of_rows_that_were_sorted_by_class_is_no_input(tmp_path, shuffled):
    """Numbered, shuffled and split, it tells the class still."""
    order = np.random.default_rng(0).permutation(N) if shuffled else np.arange(N)
    for name, rows in (("train", order[: N - 12]), ("test", order[N - 12 :])):
        cells = "".join(f"{k + 1},{k * 7 % 11 / 3:.3f},{'xy'[int(2 * k >= N)]}\n" for k in rows)
        (tmp_path / f"{name}.csv").write_text("Id,a,label\n" + cells)
    columns = TableFiles().load(tmp_path).columns
    assert columns is not None
    assert columns.inputs == ("a",)
    assert "numbers the rows" in columns.left_out["Id"]


def test_an_index_of_each_file_is_no_input(tmp_path):
    for file in ("p1.csv", "p2.csv"):
        cells = "".join(f"{k},{k * 7 % 11 / 3:.3f},{'xy'[k % 2]}\n" for k in range(N))
        (tmp_path / file).write_text("Id,a,label\n" + cells)
    columns = TableFiles().load(tmp_path).columns
    assert columns is not None
    assert columns.inputs == ("a",)


def test_what_is_measured_and_differs_in_all_rows_is_an_input(tmp_path):
    cells = "".join(f"{k * k * 97 % 5003},{'xy'[k % 2]}\n" for k in range(1, N))
    (tmp_path / "all.csv").write_text("mass_g,label\n" + cells)
    columns = TableFiles().load(tmp_path).columns
    assert columns is not None
    assert columns.inputs == ("mass_g",)


@pytest.mark.parametrize(
    ("step", "said"), [(0.0, "has one value in all training rows"), (1.0, "is rounded to steps")]
)
def test_targets_that_float32_hardly_tells_apart_are_remarked(tmp_path, step, said):
    cells = "".join(f"{k * 7 % 11 / 3:.3f},{1.7e9 + step * (k % 9):.1f}\n" for k in range(N))
    (tmp_path / "all.csv").write_text("a,label\n" + cells)
    columns = TableFiles().load(tmp_path).columns
    assert columns is not None
    assert any(f'column "label" {said}' in one or said in one for one in columns.remarks)
