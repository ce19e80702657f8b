"""The sets for regression and for text that come with netsim, and texts of one's own."""

import numpy as np
import pytest

from netsim.data.sets.diabetes import Diabetes
from netsim.data.sets.text import SHIPPED, Text
from netsim.errors import DataError


def test_diabetes_has_numbers_in_deviations_of_the_training_rows():
    samples = Diabetes().load(None)
    assert samples.x.shape == (442, 10)
    assert not samples.has_classes
    assert len(samples.train) + len(samples.test) == 442
    assert np.allclose(samples.x[samples.train].mean(0), 0, atol=1e-6)
    assert samples.y[samples.train].mean() == pytest.approx(0, abs=1e-12)
    assert samples.y[samples.train].std() == pytest.approx(1)
    raw = Diabetes(scale="raw").load(None)
    assert (raw.y.min(), raw.y.max()) == (25, 346)
    assert set(raw.groups) == {0, 1}


def test_the_shipped_text_is_twenty_poems_of_fourteen_lines():
    poems = SHIPPED.read_text(encoding="utf-8").strip().split("\n\n")
    assert len(poems) == 20
    assert {len(poem.split("\n")) for poem in poems} == {14}
    samples = Text().load(None)
    outline = Text().outline()
    assert (len(samples.train), len(samples.test)) == (outline.train_rows, outline.test_rows)
    assert samples.input_limit <= outline.input_limit


def spelled(samples, text):
    characters = sorted(set(text.replace("\n\n", "")))
    return ["".join(characters[i] for i in row) for row in samples.x]


def test_sequences_follow_each_other_and_stay_within_their_passage(tmp_path):
    text = "abcdefgh\n\nxyzxyzx"
    (tmp_path / "own.txt").write_text(text)
    samples = Text(file=str(tmp_path / "own.txt"), length=2).load(None)
    assert spelled(samples, text) == ["abc", "def", "xyz", "xyz"]
    assert samples.groups.tolist() == [0, 0, 1, 1]
    assert samples.x.dtype == np.int64
    assert samples.input_limit == 11


def test_a_text_that_is_not_there_or_too_short_is_told(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt"):
        Text(file=str(tmp_path / "none.txt")).load(None)
    (tmp_path / "short.txt").write_text("abc")
    with pytest.raises(DataError, match="length = 32"):
        Text(file=str(tmp_path / "short.txt")).load(None)
