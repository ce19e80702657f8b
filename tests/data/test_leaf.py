"""LEAF's JSON: samples by user."""

import json

import numpy as np
import pytest

from netsim.data.sets.leaf import Leaf
from netsim.errors import DataError

USERS = {
    "f1": {"x": [[0.0, 1.0], [0.5, 0.5]], "y": [3, 5]},
    "f0": {"x": [[1.0, 0.0]], "y": [3]},
}


def write(file, own=USERS, **changes):
    file.parent.mkdir(parents=True, exist_ok=True)
    sizes = [len(one["y"]) for one in own.values()]
    found = {"users": list(own), "num_samples": sizes, "user_data": own, **changes}
    file.write_text(json.dumps({k: v for k, v in found.items() if v is not None}))


def test_samples_are_grouped_by_user_across_training_and_test_files(tmp_path):
    write(tmp_path / "train/a.json")
    write(tmp_path / "test/a.json", {"f0": {"x": [[9.0, 9.0]], "y": [5]}})
    samples = Leaf(shape=(1, 2)).load(tmp_path)
    assert samples.x.shape == (4, 1, 2)
    assert samples.x.dtype == np.float32
    assert samples.y.tolist() == [0, 1, 0, 1]
    assert samples.class_names == ("3", "5")
    assert samples.groups.tolist() == [1, 1, 0, 0]
    assert samples.train.tolist() == [0, 1, 2]
    assert samples.test.tolist() == [3]


def test_without_test_files_samples_of_each_user_are_held_out(tmp_path):
    own = {"x": [[float(i)] for i in range(10)], "y": [0.5] * 10}
    write(tmp_path / "all.json", {"u": own, "v": own})
    samples = Leaf(test_fraction=0.3).load(tmp_path)
    assert np.bincount(samples.groups[samples.test]).tolist() == [3, 3]
    assert samples.y.dtype == np.float64


def test_texts_are_sequences_of_characters(tmp_path):
    own = {"x": ["abc", "bca"], "y": ["d", "a"]}
    write(tmp_path / "train.json", {"u": own})
    write(tmp_path / "test.json", {"u": own})
    samples = Leaf().load(tmp_path)
    assert samples.x[:2].tolist() == [[0, 1, 2, 3], [1, 2, 0, 0]]
    assert samples.input_limit == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"users": None}, 'has no "users"; a file of LEAF has users'),
        ({"user_data": {}}, "user f1 has no lists x and y in user_data"),
        ({"num_samples": [2, 7]}, "user f0 has 1 x and 1 y, num_samples says 7"),
        ({"num_samples": [2]}, "a number for each of users"),
        ({"users": ["f0", "f0"], "num_samples": [1, 1]}, "users has f0 2 times"),
        (
            {"user_data": {**USERS, "f0": {"x": [[1.0]], "y": [1]}}},
            "not lists of equally many numbers",
        ),
        ({"user_data": {**USERS, "f0": {"x": [[1.0, 2.0]], "y": [[1]]}}}, "y are not numbers"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(tmp_path, changes, said):
    write(tmp_path / "all.json", **changes)
    with pytest.raises(DataError, match=said):
        Leaf().load(tmp_path)


def test_a_shape_that_does_not_fit_and_missing_files_are_told(tmp_path):
    with pytest.raises(DataError, match=r"preprocess\.sh"):
        Leaf().load(tmp_path)
    write(tmp_path / "all.json")
    with pytest.raises(DataError, match=r"\[data\] shape = \[3\]: all.json has 2 numbers"):
        Leaf(shape=(3,)).load(tmp_path)
    (tmp_path / "all.json").write_text("{")
    with pytest.raises(DataError, match=r"all\.json"):
        Leaf(split_seed=1).load(tmp_path)
