import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.data.sets.iot import Iot, _standardise
from netsim.errors import DataError
from netsim.models.iot_mlp import IotMlp

NAMES = ["watch", "TV", "water_sensor"]


def rows(start, n):
    """Rows of (first, ds_field_A, second, device_category); `first` numbers them."""
    for i in range(start, start + n):
        yield [i, 0, 1e9 + (i % 2) * 5e8, NAMES[i % len(NAMES)]]


def write(folder, train=60, test=30, header="first,ds_field_A,second,device_category"):
    folder.mkdir(parents=True)
    for part, start, n in (("train", 0, train), ("test", train, test)):
        lines = [header, *(",".join(map(str, row)) for row in rows(start, n))]
        file = folder / f"iot_device_{part}.csv.gz"
        file.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_the_published_files_are_pooled_without_water_sensor(tmp_path):
    write(tmp_path / "iot_device_identification")
    samples = Iot(scale="raw").load(tmp_path)
    assert samples.class_names == ("TV", "watch")
    assert samples.x.shape == (60, 2)  # 20 of 60 and 10 of 30 rows are water sensors
    numbers = samples.x[:, 0].astype(int)
    assert numbers.tolist() == [i for i in range(90) if i % 3 != 2]
    assert samples.y.tolist() == [1 if i % 3 == 0 else 0 for i in numbers]


def test_a_training_row_is_never_a_test_row(tmp_path):
    write(tmp_path / "iot_device_identification")
    samples = Iot(test_fraction=0.3).load(tmp_path)
    assert np.array_equal(
        np.sort(np.concatenate([samples.train, samples.test])), np.arange(len(samples.y))
    )
    assert np.bincount(samples.y[samples.test]).tolist() == [9, 9]


def test_the_scale_is_fitted_on_training_rows_only(tmp_path):
    write(tmp_path / "iot_device_identification")
    samples = Iot().load(tmp_path)
    # 30 float32 values: their mean is exact to about 1e-6.
    assert np.allclose(samples.x[samples.train].mean(0), 0, atol=1e-5)
    assert np.allclose(samples.x[samples.train].std(0), 1, atol=1e-5)
    assert not np.allclose(samples.x[samples.test].mean(0), 0, atol=1e-5)


def test_a_feature_that_training_rows_do_not_vary_in_becomes_zero_everywhere():
    """First feature: training mean 2, deviation 1. Second: 5 in both training rows, 9 elsewhere."""
    x = np.array([[1.0, 5.0], [3.0, 5.0], [2.5, 9.0]])
    scaled = _standardise(x, train=np.array([0, 1]))
    assert scaled.tolist() == [[-1, 0], [1, 0], [0.5, 0]]


def test_parquet_files_are_read_too(tmp_path):
    folder = tmp_path / "iot"
    folder.mkdir()
    for part, start in (("train", 0), ("test", 60)):
        first, constant, second, label = zip(*rows(start, 30), strict=True)
        columns = {"first": first, "ds_field_A": constant, "second": second}
        table = pa.table(columns | {"device_category": label})
        pq.write_table(table, folder / f"{part}-00000-of-00001.parquet")
    assert len(Iot().load(tmp_path).y) == 40


def test_a_table_without_the_label_is_refused(tmp_path):
    write(tmp_path / "iot", header="first,ds_field_A,second,device")
    with pytest.raises(DataError, match="no column device_category"):
        Iot().load(tmp_path)


def test_a_missing_value_is_refused(tmp_path):
    write(tmp_path / "iot")
    file = tmp_path / "iot" / "iot_device_test.csv.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    file.write_bytes(gzip.compress(text.replace("60,0,", ",0,").encode()))
    with pytest.raises(DataError, match="column first has missing or infinite values"):
        Iot().load(tmp_path)


@pytest.mark.slow
@pytest.mark.data
def test_real_table_is_the_papers(data_root):
    samples = Iot().load(data_root)
    assert samples.x.shape == (1800, 296)
    assert samples.num_classes == 9
    assert np.bincount(samples.y[samples.train]).tolist() == [100] * 9
    assert np.bincount(samples.y[samples.test]).tolist() == [100] * 9
    assert samples.x.dtype == np.float32
    assert np.isfinite(samples.x).all()
    network = IotMlp().build(samples.input_shape, samples.num_classes)
    assert sum(p.numel() for p in network.parameters()) == 39_769


@pytest.mark.slow
@pytest.mark.data
def test_real_copies_of_a_row_stay_on_one_side(data_root):
    samples = Iot(scale="raw").load(data_root)
    train = {row.tobytes() for row in samples.x[samples.train]}
    assert not any(row.tobytes() in train for row in samples.x[samples.test])
