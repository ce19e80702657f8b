import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def data_root():
    folder = os.environ.get("NETSIM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NETSIM_DATA does not name a folder with the real data sets")
    return Path(folder)


def encoded(pixels, form="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, form)
    return buffer.getvalue()


@pytest.fixture
def write_images():
    """Write images (n, H, W[, 3]) uint8 and integer columns as `datasets` does."""

    def write(file, pixels, columns, image="image", names=None, form="PNG"):
        file.parent.mkdir(parents=True, exist_ok=True)
        cells = [{"bytes": encoded(p, form), "path": None} for p in pixels]
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        arrays = {image: pa.array(cells, kind)}
        arrays |= {name: pa.array(values, pa.int64()) for name, values in columns.items()}
        table = pa.table(arrays)
        if names:
            features = {k: {"names": v, "_type": "ClassLabel"} for k, v in names.items()}
            info = json.dumps({"info": {"features": features}})
            table = table.replace_schema_metadata({"huggingface": info})
        pq.write_table(table, file)

    return write


@pytest.fixture
def grey():
    """Grey images: image i has the value i (mod 256) in every pixel."""

    def make(n, side=28):
        return np.arange(n, dtype=np.uint8)[:, None, None] * np.ones((1, side, side), np.uint8)

    return make
