"""Tables as hubs and `datasets` lay them out: which columns are what, by keys or by type."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.data.sets.table import TableFiles
from netsim.errors import DataError
from netsim.traces.input_files import collect_files

ROWS = {
    "age": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0],
    "weight": [1, 1, 1, 1, 1, 1],
    "hospital": ["b", "a", "b", "a", "b", "a"],
    "label": ["ill", "well", "well", "ill", "ill", "well"],
}


@pytest.fixture
def write(tmp_path):
    """(name, columns) -> a Parquet, CSV or JSON-lines file of them in the folder."""

    def call(name, columns=ROWS):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if name.endswith(".parquet"):
            pq.write_table(pa.table(columns), file)
        elif "jsonl" in name:
            text = "\n".join(map(json.dumps, rows)).encode()
            file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        elif name.endswith(".arrow"):
            table = pa.table(columns)
            with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
                stream.write_table(table)
        else:
            lines = [",".join(columns), *(",".join(map(str, row.values())) for row in rows)]
            file.write_text("\n".join(lines) + "\n")
        return tmp_path

    return call


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train-00000-of-00001.parquet", "test-00000-of-00001.parquet"),
        ("data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"),
        ("default/train-00000-of-00001.parquet", "default/test-00000-of-00001.parquet"),
        ("train/data-00000-of-00001.arrow", "test/data-00000-of-00001.arrow"),
        ("train.csv", "test.csv"),
        ("train.jsonl.gz", "test.jsonl"),
    ],
)
def test_the_same_rows_are_read_from_every_layout(write, train, test):
    folder = write(train), write(test, {k: v[:2] for k, v in ROWS.items()})
    samples = TableFiles(user="hospital").load(folder[0])
    assert samples.x[:6, 0] == pytest.approx((np.arange(6) - 2.5) / np.std(np.arange(6)))
    assert samples.x[:, 1].tolist() == [0.0] * 8  # a constant, whatever its rounding noise
    assert samples.y.tolist() == [0, 1, 1, 0, 0, 1, 0, 1]
    assert samples.class_names == ("ill", "well")
    assert samples.groups.tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    assert samples.train.tolist() == [*range(6)]
    assert samples.test.tolist() == [6, 7]


def test_the_files_read_are_noted_with_their_checksums(write):
    folder = write("train.csv")
    with collect_files() as notes:
        TableFiles(test_fraction=0.5).load(folder)
    assert [file.file for file in notes.hashed()] == [str(folder / "train.csv")]


def test_a_table_is_read_again_once_its_files_have_changed(write, tmp_path):
    """A notebook mends a file and plays again; what did not change is read once."""
    write("train.csv")
    keys = {"kind": "table", "target": "label", "test_fraction": 0.5}
    data = TableFiles(**keys, input=("age", "weight"))
    first = data.load(tmp_path)
    assert data.load(tmp_path) is first
    write("train.csv", ROWS | {"weight": [7, 8, 9, 1, 2, 3]})
    second = data.load(tmp_path)
    assert not np.array_equal(second.x, first.x)
    with collect_files() as notes:
        assert data.load(tmp_path) is second
    (file,) = notes.hashed()
    assert file.is_as_it_was()
    write("test.csv", ROWS)  # a file that was not there before
    assert len(data.load(tmp_path).test) == len(ROWS["age"])
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).unlink()
    with pytest.raises(DataError, match=r"train\.csv"):
        data.load(tmp_path)


def test_a_file_of_one_size_and_time_is_read_again_too(write, tmp_path):
    """As `cp -p` and archives leave it."""
    path = write("train.csv") / "train.csv"
    keys = {"input": ("age", "weight"), "target": "label", "test_fraction": 0.5, "scale": "raw"}
    first, stat = TableFiles(**keys).load(tmp_path), path.stat()
    path.write_text(path.read_text().replace("well", "sick"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    second = TableFiles(**keys).load(tmp_path)
    assert ("well" in first.class_names, "sick" in first.class_names) == (True, False)
    assert ("well" in second.class_names, "sick" in second.class_names) == (False, True)


def test_a_folder_is_that_of_the_present_working_folder(write, tmp_path, monkeypatch):
    keys = {"input": ("age", "weight"), "target": "label", "test_fraction": 0.5, "scale": "raw"}
    for name, ages in (("a", [1, 2, 3, 4, 5, 6]), ("b", [6, 5, 4, 3, 2, 9])):
        (tmp_path / name / "data").mkdir(parents=True)
        (write("train.csv", ROWS | {"age": ages}) / "train.csv").rename(
            tmp_path / name / "data" / "train.csv"
        )
    for name, most in (("a", 6), ("b", 9), ("a", 6)):
        monkeypatch.chdir(tmp_path / name)
        assert TableFiles(**keys).load(Path("data")).x[:, 0].max() == most


def test_without_a_test_part_rows_of_each_user_are_held_out(write):
    samples = TableFiles(user="hospital", test_fraction=0.34, scale="raw").load(write("all.csv"))
    assert np.bincount(samples.groups[samples.test]).tolist() == [1, 1]
    assert sorted(samples.x[:, 0].tolist()) == ROWS["age"]


def test_keys_say_which_columns_are_what(write):
    folder = write("train.parquet"), write("test.parquet")
    samples = TableFiles(input="weight", target=("age", "weight"), scale="raw").load(folder[0])
    assert samples.x.shape == (12, 1)
    assert not samples.has_classes
    assert samples.y[:2].tolist() == [[10.0, 1.0], [20.0, 1.0]]
    numbers = TableFiles(input="age", target="weight", learn="numbers").load(folder[0])
    assert numbers.y.dtype == np.float64


def test_lists_keep_their_shape_and_tokens_stay_whole(write):
    grid = {"grid": [[[i, 1], [2, 3]] for i in range(6)], "label": [0, 1] * 3}
    folder = write("train.parquet", grid), write("test.parquet", grid)
    assert TableFiles(input="grid").load(folder[0]).x.shape == (12, 2, 2)
    words = {"ids": [[i, 7, 2] for i in range(6)]}
    other = write("words/train.parquet", words), write("words/test.parquet", words)
    samples = TableFiles(input="ids", target=(), tokens=True).load(other[0] / "words")
    assert samples.x.dtype == np.int64
    assert samples.input_limit == 8


def test_images_and_names_of_classes_come_as_datasets_writes_them(write_images, tmp_path, grey):
    names = {"label": ["cat", "dog"]}
    for part, n in (("train", 4), ("test", 2)):
        write_images(
            tmp_path / f"data/{part}-00000-of-00001.parquet",
            grey(n, 4) * 10,
            {"label": [i % 2 for i in range(n)], "writer": list(range(n))},
            names=names,
        )
    samples = TableFiles(user="writer").load(tmp_path)
    assert samples.x.shape == (6, 1, 4, 4)
    assert samples.class_names == ("cat", "dog")
    (mean,), (std,) = samples.scale
    assert mean == pytest.approx(15 / 255)
    assert samples.x[3, 0, 0, 0] == pytest.approx((30 / 255 - mean) / std)
    assert TableFiles(image_shape=(3, 2, 2)).load(tmp_path).x.shape == (6, 3, 2, 2)


def test_a_table_may_name_files_of_images_as_fedscale_does(write, tmp_path, grey):
    from PIL import Image

    for i, pixels in enumerate(grey(4, 3)):
        (tmp_path / "pictures").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / f"pictures/{i}.png")
    mapping = {
        "client_id": [7, 7, 9, 9],
        "sample_path": [f"pictures/{i}.png" for i in range(4)],
        "label_id": [0, 1, 0, 1],
    }
    write("train.csv", mapping), write("test.csv", mapping)
    chosen = {"input": "sample_path", "target": "label_id", "user": "client_id"}
    samples = TableFiles(**chosen).load(tmp_path)
    assert samples.x.shape == (8, 1, 3, 3)
    assert samples.groups.tolist() == [0, 0, 1, 1] * 2
    (tmp_path / "pictures/2.png").unlink()
    with pytest.raises(DataError, match=r"row 2: .*2\.png: no such image file"):
        TableFiles(**chosen, split_seed=1).load(tmp_path)


@pytest.mark.parametrize(
    ("columns", "keys", "said"),
    [
        (ROWS, {"target": "lable"}, r'target = "lable": .*did you mean "label"\?; it has age'),
        (ROWS, {"user": "client"}, r'user = "client": .*: say which by user'),
        (ROWS, {"input": "hospital"}, r"row 0: .*no such image file"),
        (
            ROWS,
            {"input": ("age", "hospital")},
            r'input = "hospital": .*type string, not of numbers',
        ),
        (ROWS, {"user": "age"}, "users are texts or whole numbers"),
        (ROWS, {"input": "age", "tokens": True}, "tokens are lists of whole numbers"),
        ({**ROWS, "age": [None] * 6}, {"input": "age"}, "12 cells of the column are empty"),
        ({**ROWS, "age": [float("nan")] * 6}, {}, "nan or infinite"),
        ({"a": [[1], [1, 2]], "label": [0, 1]}, {"input": "a"}, "lists have 1 to 2 entries"),
        ({"a": ["x", "y"], "label": [0, 1]}, {}, "say by input which of a, label"),
        (ROWS, {"train_rows": 9}, "train_rows = 9: .* has 6 such rows"),
    ],
)
def test_what_a_table_lacks_is_told_by_key(write, columns, keys, said):
    folder = write("train.parquet", columns), write("test.parquet", columns)
    with pytest.raises(DataError, match=said):
        TableFiles(**keys).load(folder[0])


def test_missing_files_and_shards_are_told(write, tmp_path):
    with pytest.raises(DataError, match=r"no file data-\*\.arrow or .*put train-\*\.parquet"):
        TableFiles().load(tmp_path)
    write("train/data-00000-of-00002.arrow")
    with pytest.raises(DataError, match=r"data-00001-of-00002\.arrow is missing"):
        TableFiles().load(tmp_path)
    with pytest.raises(DataError, match="is a pattern below the data folder"):
        TableFiles(train="/x").load(tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": ')
    with pytest.raises(DataError, match=r"bad\.jsonl"):
        TableFiles(train="bad.jsonl").load(tmp_path)


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize(
    ("first", "second"),
    [("{}.csv", "{}.csv.gz"), ("{}.jsonl", "{}.csv"), ("{}.csv", "data/{}.csv"),
     ("{}-0.parquet", "{}.jsonl.gz"), ("data/{}-0.parquet", "en/{}-0.parquet")],
)  # fmt: skip
def test_of_files_of_two_sorts_none_is_left_aside(tmp_path, part, first, second):
    names = [first.format(part), second.format(part)]
    if part == "test":
        names.append("train.csv")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match=f"holds both .*; say which by {part}") as error:
        TableFiles(target="y").load(tmp_path)
    assert all(name in str(error.value) for name in names[:2])


def test_a_user_that_is_written_in_two_ways_is_not_made_one(tmp_path):
    for content, told in (
        ("u,x,y\n1,.5,a\n01,.7,b\n2,.1,a\n", '"1" and "01" are one number'),
        ("u,x,y\n001,.5,a\n001,.7,b\n002,.1,a\n", None),
    ):
        (tmp_path / "all.csv").write_text(content)
        if told is None:
            TableFiles(target="y", user="u").load(tmp_path)
            continue
        with pytest.raises(DataError, match=told):
            TableFiles(target="y", user="u").load(tmp_path)


@pytest.mark.parametrize(
    ("files", "keys", "rows"),
    [
        (("mine.csv", "test.csv"), {}, 12),
        (("mine.csv", "held.csv"), {"test": "held.csv"}, 12),
        (("mine.csv", "train.csv", "test.csv"), {}, 12),
        (("test.csv",), {"train": "test.csv", "test_fraction": 0.5}, 6),
        (("contest.csv", "devices.csv", "latest.csv", "values.csv"), {}, 24),
    ],
)
def test_no_file_is_both_trained_on_and_tested(write, files, keys, rows):
    """Rows of a file named for tests are none of the training rows, whatever lies beside it."""
    for place, name in enumerate(files):
        folder = write(name, {**ROWS, "age": [100 * place + k + 0.5 for k in range(6)]})
    samples = TableFiles(scale="raw", **keys).load(folder)
    trained, tested = (
        {tuple(row) for row in samples.x[rows]} for rows in (samples.train, samples.test)
    )
    assert len(samples.x) == rows == len(trained) + len(tested)
    assert not trained & tested


@pytest.mark.parametrize(
    ("files", "keys", "said"),
    [
        (("Train.csv", "Test.csv"), {}, r'Train\.csv and Test\.csv .*train = "Train\.csv"'),
        (("train-0.csv", "my_test.csv"), {}, r"train-0\.csv and my_test\.csv"),
        (("x.csv", "x-validation.csv"), {}, r"x\.csv and x-validation\.csv"),
        (("a.jsonl", "a.dev.jsonl"), {}, r"a\.jsonl and a\.dev\.jsonl"),
        (("mine.csv", "held.csv"), {"train": "*.csv", "test": "held.csv"}, r"held\.csv is of the"),
        (("mine.csv", "test.csv"), {"train": "*.csv"}, r"test\.csv is of the training and"),
        (("test.csv",), {}, r"test\.csv is of the training and"),
    ],
)
def test_files_that_may_be_of_two_parts_are_refused(write, files, keys, said):
    for name in files:
        folder = write(name)
    with pytest.raises(DataError, match=said):
        TableFiles(**keys).load(folder)


def test_a_table_that_lies_beside_those_read_is_remarked_on(write):
    for name in ("train.csv", "test.csv", "valid.csv"):
        folder = write(name)
    assert TableFiles().load(folder).columns.remarks[-1:] == [
        "valid.csv beside train.csv is not read"
    ]
    named = TableFiles(train="train.csv", test="test.csv").load(folder)
    assert not any("valid" in one for one in named.columns.remarks)


def test_parts_with_their_columns_in_another_order_are_one_table(write):
    turned = dict(reversed([*ROWS.items()]))
    folder = write("train-a.parquet"), write("train-b.parquet", turned)
    samples = TableFiles().load(folder[0])
    half = len(samples.x) // 2
    assert len(samples.x) == 2 * len(ROWS["age"])
    assert (samples.x[:half] == samples.x[half:]).all()
    write("train-c.parquet", {**turned, "more": [1] * len(ROWS["age"])})
    with pytest.raises(DataError, match=r"differ from those of .*: more"):
        TableFiles().load(folder[0])


def test_the_target_once_more_is_no_input(tmp_path):
    draws = np.random.default_rng(0)
    y, x = draws.normal(size=(2, 40))
    columns = {"x": x, "again": y, "celsius": 5 / 9 * (y - 32), "near": y + 1e-3 * x, "y": y}
    pq.write_table(pa.table(columns), tmp_path / "all.parquet")
    use = TableFiles(target="y").load(tmp_path).columns
    assert use.inputs == ("x", "celsius", "near")
    assert "once more" in use.left_out["again"]
    assert use.remarks == ['column "celsius" is the target but for a factor and an offset']
