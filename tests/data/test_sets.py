import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.data.sets import DataSet
from netsim.data.sets.cifar10 import Cifar10
from netsim.data.sets.cifar100 import Cifar100
from netsim.data.sets.cinic10 import Cinic10
from netsim.data.sets.digits import Digits
from netsim.data.sets.emnist import Emnist
from netsim.data.sets.fashion_mnist import FashionMnist
from netsim.data.sets.femnist import Femnist
from netsim.data.sets.mini_imagenet import MiniImagenet
from netsim.data.sets.mnist import Mnist
from netsim.data.sets.movielens import Movielens
from netsim.data.sets.svhn import Svhn
from netsim.data.sets.yahoo_answers import YahooAnswers
from netsim.errors import DataError
from netsim.registry import family
from netsim.traces.input_files import collect_files

FAMILY = family("netsim.data.sets")


def check(samples):
    """Check the properties of every data set."""
    assert samples.x.dtype == np.float32
    assert samples.y.dtype == samples.train.dtype == samples.test.dtype == np.int64
    assert samples.x.shape == (len(samples.y), *samples.input_shape)
    assert np.isfinite(samples.x).all()
    assert not np.isin(samples.train, samples.test).any()
    assert len(samples.class_names) == samples.num_classes
    assert samples.y.min() >= 0
    assert samples.y.max() < samples.num_classes


def test_the_family_holds_the_eight_sets():
    assert set(FAMILY) >= {
        *("digits", "iot", "mnist", "fashion_mnist", "emnist", "cifar10", "cifar100"),
        "cinic10",
    }
    assert all(issubclass(member, DataSet) for member in FAMILY.values())


def test_digits_need_no_files():
    samples = Digits().load(None)
    check(samples)
    assert samples.x.shape == (1797, 1, 8, 8)
    assert (len(samples.train), len(samples.test)) == (1258, 539)
    assert samples.num_classes == 10
    assert abs(samples.x[samples.train].mean()) < 0.01
    assert abs(samples.x[samples.train].std() - 1) < 0.01


def test_a_set_is_read_once():
    assert Digits().load(None) is Digits().load(None)


@pytest.mark.parametrize("folder", ["images/mnist", "mnist", "mnist/data", "mnist/mnist"])
def test_mnist_is_read_from_either_layout(tmp_path, write_images, grey, folder):
    names = [f"digit {i}" for i in range(10)]
    train, test = tmp_path / folder / "train-00000-of-00001.parquet", tmp_path / folder
    write_images(train, grey(20), {"label": np.arange(20) % 10}, names={"label": names})
    write_images(test / "test-00000-of-00001.parquet", grey(10), {"label": np.arange(10)})
    samples = Mnist().load(tmp_path)
    check(samples)
    assert samples.x.shape == (30, 1, 28, 28)
    assert samples.train.tolist() == list(range(20))
    assert samples.test.tolist() == list(range(20, 30))
    assert samples.y.tolist() == [*range(10), *range(10), *range(10)]
    assert samples.class_names == tuple(names)
    # Image 7 is 7 everywhere: (7/255 - 0.1307) / 0.3081 = -0.33511.
    assert np.allclose(samples.x[7], -0.33511, atol=1e-5)
    assert samples.notes == ""


def test_shards_are_read_in_order_and_a_missing_one_is_named(tmp_path, write_images, grey):
    folder = tmp_path / "fashion_mnist"
    for part in range(2):
        file = folder / f"train-0000{part}-of-00002.parquet"
        write_images(file, grey(4), {"label": [part] * 4})
    write_images(folder / "test-00000-of-00001.parquet", grey(2), {"label": [3, 4]})
    assert FashionMnist().load(tmp_path).y.tolist() == [0] * 4 + [1] * 4 + [3, 4]
    (folder / "train-00001-of-00002.parquet").unlink()
    with pytest.raises(DataError, match=r"train-00001-of-00002\.parquet is missing"):
        FashionMnist(split_seed=1).load(tmp_path)


def test_cifar10_is_channels_first_and_says_that_it_is_jpeg(tmp_path, write_images):
    pixels = np.zeros((6, 32, 32, 3), np.uint8)
    pixels[..., 0] = 255  # red
    for split in ("train", "test"):
        file = tmp_path / "cifar10" / "plain_text" / f"{split}-00000-of-00001.parquet"
        write_images(file, pixels, {"label": np.arange(6)}, image="img", form="JPEG")
    samples = Cifar10().load(tmp_path)
    check(samples)
    assert samples.x.shape == (12, 3, 32, 32)
    # (1 - 0.4913) / 0.2470 = 2.0595; JPEG moves a value by a few 1/255.
    assert np.allclose(samples.x[:, 0], 2.0595, atol=0.1)
    assert np.allclose(samples.x[:, 2], -0.4464 / 0.2617, atol=0.1)
    assert "JPEG" in samples.notes


def test_cifar100_takes_the_fine_labels(tmp_path, write_images):
    pixels = np.zeros((3, 32, 32, 3), np.uint8)
    for split in ("train", "test"):
        file = tmp_path / "cifar100" / f"{split}-00000-of-00001.parquet"
        write_images(file, pixels, {"fine_label": [99, 0, 50], "coarse_label": [1, 2, 3]})
    samples = Cifar100().load(tmp_path)
    assert samples.y[:3].tolist() == [99, 0, 50]
    assert samples.num_classes == 100


def test_cinic10_is_read_without_its_validation_part(tmp_path, write_images):
    folder = tmp_path / "cinic10" / "data"
    for split, number, grey in (("train", 4, 255), ("validation", 3, 9), ("test", 2, 0)):
        pixels = np.full((number, 32, 32, 3), grey, np.uint8)
        file = folder / f"{split}-00000-of-00001.parquet"
        write_images(file, pixels, {"label": np.arange(number)})
    samples = Cinic10().load(tmp_path)
    check(samples)
    assert (samples.train.tolist(), samples.test.tolist()) == ([0, 1, 2, 3], [4, 5])
    assert samples.y.tolist() == [0, 1, 2, 3, 0, 1]
    # White is (1 - 0.4789) / 0.2421 = 2.1524 in the red channel, black -0.4789 / 0.2421.
    assert np.allclose(samples.x[:4, 0], 2.1524, atol=1e-4)
    assert np.allclose(samples.x[4:, 0], -1.9781, atol=1e-4)


def test_row_limits_choose_the_same_rows_each_time_and_all_classes(tmp_path, write_images, grey):
    for split in ("train", "test"):
        file = tmp_path / "mnist" / f"{split}-00000-of-00001.parquet"
        write_images(file, grey(100), {"label": np.repeat(np.arange(10), 10)})
    samples = Mnist(train_rows=30, test_rows=20).load(tmp_path)
    check(samples)
    assert np.bincount(samples.y[samples.train]).tolist() == [3] * 10
    assert np.bincount(samples.y[samples.test]).tolist() == [2] * 10
    # Pixels still belong to their labels: image i of the file has value i and class i // 10.
    values = np.rint((samples.x[:, 0, 0, 0] * 0.3081 + 0.1307) * 255).astype(int)
    assert np.array_equal(values // 10, samples.y)


def test_emnist_holds_out_its_own_test_rows(tmp_path, write_images, grey):
    file = tmp_path / "images" / "emnist" / "byclass_test_cap1200-00000-of-00001.parquet"
    merged = np.repeat(np.arange(47), 4)
    write_images(file, grey(188), {"label": np.repeat(np.arange(47), 4), "label_merged": merged})
    samples = Emnist().load(tmp_path)
    check(samples)
    assert samples.num_classes == 47
    assert np.bincount(samples.y[samples.test]).tolist() == [1] * 47
    assert "not the official split" in samples.notes
    assert Emnist(classes="byclass").load(tmp_path).num_classes == 62


def test_balanced_emnist_has_equally_many_images_of_each_class(
    tmp_path, write_images, grey, monkeypatch
):
    monkeypatch.setattr("netsim.data.sets.emnist.BALANCED", 4)
    file = tmp_path / "images" / "emnist" / "byclass-00000-of-00001.parquet"
    merged = np.repeat(np.arange(47), 4 + np.arange(47) % 3)
    write_images(file, grey(len(merged)), {"label": merged, "label_merged": merged})
    balanced = Emnist(classes="balanced")
    samples = balanced.load(tmp_path)
    check(samples)
    assert np.bincount(samples.y[samples.train]).tolist() == [3] * 47
    assert np.bincount(samples.y[samples.test]).tolist() == [1] * 47
    outline = balanced.outline()
    assert (outline.num_classes, outline.train_rows, outline.test_rows) == (47, 141, 47)
    monkeypatch.setattr("netsim.data.sets.emnist.BALANCED", 5)
    with pytest.raises(DataError, match="4 rows of class 0; 5 of each"):
        Emnist(classes="balanced", split_seed=1).load(tmp_path)


@pytest.mark.parametrize("kind", sorted(k for k, s in FAMILY.items() if s.needs_files))
def test_missing_files_are_named_with_place_and_remedy(kind, tmp_path):
    with pytest.raises(DataError) as caught:
        FAMILY[kind]().load(tmp_path / "nowhere")
    text = str(caught.value)
    assert f'kind = "{kind}"' in text
    assert str(tmp_path / "nowhere") in text
    assert any(suffix in text for suffix in (".parquet", ".csv", ".json"))
    assert "NETSIM_DATA" in text
    assert "To get it: " in text


@pytest.mark.parametrize("kind", sorted(k for k, s in FAMILY.items() if s.needs_files))
def test_no_folder_at_all_is_told_apart(kind):
    with pytest.raises(DataError, match="no data folder was given"):
        FAMILY[kind]().load(None)


def write_pair(write_images, folder, pixels, columns, **more):
    for split in ("train", "test"):
        write_images(folder / f"{split}-00000-of-00001.parquet", pixels, columns, **more)


def test_a_file_that_is_not_parquet_is_named(tmp_path, write_images, grey):
    write_pair(write_images, tmp_path / "mnist", grey(3), {"label": [0, 1, 2]})
    broken = tmp_path / "mnist" / "test-00000-of-00001.parquet"
    broken.write_bytes(b"not a table")
    with pytest.raises(DataError, match=r"test-00000-of-00001\.parquet: can't be read"):
        Mnist().load(tmp_path)


def test_a_missing_column_is_named(tmp_path, write_images, grey):
    write_pair(write_images, tmp_path / "mnist", grey(3), {"target": [0, 1, 2]})
    with pytest.raises(DataError, match="no column label; it has image, target"):
        Mnist().load(tmp_path)


@pytest.mark.parametrize("bad", [-1, 10, None])
def test_labels_outside_the_classes_are_refused(tmp_path, write_images, grey, bad):
    write_pair(write_images, tmp_path / "mnist", grey(3), {"label": [0, 1, bad]})
    with pytest.raises(DataError, match="class numbers 0 to 9"):
        Mnist().load(tmp_path)


def test_images_of_another_size_are_refused(tmp_path, write_images, grey):
    write_pair(write_images, tmp_path / "mnist", grey(3, side=20), {"label": [0, 1, 2]})
    with pytest.raises(DataError, match="20 x 20, not 28 x 28"):
        Mnist().load(tmp_path)


def test_more_rows_than_the_files_have_are_refused(tmp_path, write_images, grey):
    write_pair(write_images, tmp_path / "mnist", grey(3), {"label": [0, 1, 2]})
    with pytest.raises(DataError, match="test_rows = 4: mnist has 3 such rows"):
        Mnist(test_rows=4).load(tmp_path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("kind", "shape", "train", "test"),
    [
        ("mnist", (1, 28, 28), 60_000, 10_000),
        ("fashion_mnist", (1, 28, 28), 60_000, 10_000),
        ("cifar10", (3, 32, 32), 50_000, 10_000),
        ("cifar100", (3, 32, 32), 50_000, 10_000),
        ("emnist", (1, 28, 28), 39_515, 13_172),
    ],
)
def test_real_images_have_their_published_sizes(data_root, kind, shape, train, test):
    """Limits keep it short; the sizes are those that the error of a limit too high tells."""
    samples = FAMILY[kind](train_rows=2000, test_rows=500).load(data_root)
    check(samples)
    assert samples.input_shape == shape
    # Mean and deviation of 2,000 images differ from those of all by a few hundredths.
    assert abs(samples.x.mean()) < 0.1
    assert abs(samples.x.std() - 1) < 0.1
    with pytest.raises(DataError, match=f"has {train} such rows"):
        FAMILY[kind](train_rows=10**6).load(data_root)
    with pytest.raises(DataError, match=f"has {test} such rows"):
        FAMILY[kind](test_rows=10**6).load(data_root)


@pytest.mark.slow
@pytest.mark.data
def test_real_emnist_leaves_a_hundred_test_rows_of_each_class(data_root):
    samples = Emnist().load(data_root)
    assert np.bincount(samples.y[samples.test], minlength=47).min() >= 100
    assert samples.class_names[36:] == tuple("abdefghnqrt")


def test_svhn_is_read_from_its_repository(tmp_path, write_images):
    colour = np.zeros((20, 32, 32, 3), dtype=np.uint8)
    folder = tmp_path / "svhn" / "cropped_digits"
    for part, count in (("train", 20), ("test", 10), ("extra", 10)):
        file = folder / f"{part}-00000-of-00001.parquet"
        write_images(file, colour[:count], {"label": np.arange(count) % 10})
    samples = Svhn().load(tmp_path)
    check(samples)
    assert (len(samples.train), len(samples.test), samples.input_shape) == (20, 10, (3, 32, 32))


def test_mini_imagenets_images_are_scaled_and_its_validation_part_tests(tmp_path, write_images):
    folder = tmp_path / "mini_imagenet" / "data"
    wide = np.full((4, 100, 150, 3), 255, dtype=np.uint8)
    tall = np.zeros((2, 90, 60, 3), dtype=np.uint8)
    write_images(folder / "train-00000-of-00001.parquet", wide, {"label": np.arange(4)})
    write_images(folder / "validation-00000-of-00001.parquet", tall, {"label": np.arange(2)})
    write_images(folder / "test-00000-of-00001.parquet", tall, {"label": np.arange(2)})
    samples = MiniImagenet().load(tmp_path)
    check(samples)
    assert (len(samples.train), len(samples.test), samples.input_shape) == (4, 2, (3, 84, 84))
    white = (1 - np.array(MiniImagenet.mean)) / np.array(MiniImagenet.std)
    assert np.allclose(samples.x[0].mean((1, 2)), white, atol=1e-5)


def test_femnist_has_writers_for_groups_and_holds_out_of_each(tmp_path, write_images, grey):
    """Two writers with ten images each, of which one is the capital A (class 10)."""
    file = tmp_path / "femnist" / "data" / "train-00000-of-00001.parquet"
    letters = np.array([10, *range(36, 45)] * 2)
    write_images(file, grey(20), {"character": letters})
    table = pq.read_table(file).append_column("writer_id", [["f1"] * 10 + ["f2"] * 10])
    pq.write_table(table, file)
    samples = Femnist(test_fraction=1 / 3).load(tmp_path)
    check(samples)
    assert samples.num_classes == 10
    assert np.bincount(samples.groups[samples.train]).tolist() == [6, 6]
    assert np.bincount(samples.groups[samples.test]).tolist() == [3, 3]
    pixels = samples.x[:, 0, 0, 0] * Femnist.std[0] + Femnist.mean[0]
    assert np.array_equal(np.round(pixels * 255).astype(int) % 10 - 1, samples.y)  # rows kept
    assert Femnist(letters="all", test_fraction=0.2).load(tmp_path).num_classes == 62


def test_yahoo_answers_are_numbers_of_words_by_how_often_they_are_used(tmp_path):
    """b is used three times, a and c twice, d once: with room for three words, d is unknown."""
    folder = tmp_path / "yahoo_answers" / "yahoo_answers_topics"
    folder.mkdir(parents=True)
    columns = {"topic": [0, 9], "question_title": ["B, b!", "c"], "question_content": ["a", None]}
    train = pa.table({**columns, "best_answer": ["b c d", "A"]})
    pq.write_table(train, folder / "train-00000-of-00001.parquet")
    pq.write_table(train.slice(1), folder / "test-00000-of-00001.parquet")
    samples = YahooAnswers(vocabulary=5, length=7).load(tmp_path)
    check(samples)
    assert samples.x.tolist() == [
        [2, 2, 3, 2, 4, 1, 0],
        [4, 3, 0, 0, 0, 0, 0],
        [4, 3, 0, 0, 0, 0, 0],
    ]
    assert samples.y.tolist() == [0, 9, 9]
    assert YahooAnswers(length=2).load(tmp_path).x.shape == (3, 2)


@pytest.mark.parametrize("edition", ["latest_small", "1m"])
def test_movielens_has_users_for_groups_and_ratings_for_classes(tmp_path, edition):
    rows = [(7, 10 * film, 1 + film % 5) for film in range(1, 11)] + [(9, 30, 5), (9, 20, 3)]
    if edition == "1m":
        file = tmp_path / "movielens" / "ml-1m" / "ratings.dat"
        text = "".join(f"{u}::{f}::{r}::0\n" for u, f, r in rows).encode()
    else:
        file = tmp_path / "tabular" / "movielens_latest_small" / "ratings.csv.gz"
        lines = "".join(f"{u},{f},{r - 0.5},0\n" for u, f, r in rows)
        text = gzip.compress(f"userId,movieId,rating,timestamp\n{lines}".encode())
    file.parent.mkdir(parents=True)
    file.write_bytes(text)
    samples = Movielens(edition=edition, test_fraction=0.5).load(tmp_path)
    check(samples)
    assert samples.x[:3].tolist() == [[0, 0], [0, 1], [0, 2]]
    assert samples.x[-2:].tolist() == [[1, 2], [1, 1]]
    stars = [float(samples.class_names[k]) for k in samples.y]
    assert stars == [r if edition == "1m" else r - 0.5 for *_, r in rows]
    assert np.bincount(samples.groups[samples.test]).tolist() == [5, 1]


@pytest.mark.data
def test_movielens_at_hand_is_what_its_outline_says(data_root):
    samples = Movielens().load(data_root)
    check(samples)
    outline = Movielens().outline()
    assert samples.input_shape == outline.input_shape
    assert samples.num_classes == outline.num_classes
    assert (len(samples.train), len(samples.test)) == (outline.train_rows, outline.test_rows)
    assert samples.x.max(axis=0).tolist() == [609, 9723]


def test_the_files_of_a_set_are_noted_though_it_was_read_before(tmp_path, write_images, grey):
    for split, n in (("train", 4), ("test", 2)):
        file = tmp_path / "mnist" / f"{split}-00000-of-00001.parquet"
        write_images(file, grey(n), {"label": [i % 10 for i in range(n)]})
    found = []
    for _ in range(2):
        with collect_files() as notes:
            Mnist().load(tmp_path)
        found.append(notes.hashed())
    assert found[0] == found[1]
    assert {Path(file.file).name[:5] for file in found[0]} == {"train", "test-"}
    assert all(file.bytes == Path(file.file).stat().st_size for file in found[0])
