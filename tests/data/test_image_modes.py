"""Pixels are those of the files: what can't be held is refused, whatever a decoder makes of it."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from netsim.data.sets.table import TableFiles
from netsim.errors import DataError
from netsim.python_api.own_data import data_kind

GREY = (np.arange(16, dtype=np.uint8) * 16).reshape(4, 4)
COLOUR = np.stack([GREY, GREY.T, 255 - GREY], axis=-1)
OPAQUE = np.full((4, 4, 1), 255, dtype=np.uint8)
HALF = OPAQUE // 2


def png(image, form="PNG", **more):
    buffer = io.BytesIO()
    image.save(buffer, form, **more)
    return buffer.getvalue()


def table(tmp_path, *images):
    """A table whose images come again and again, so that both parts have each."""
    cells = [{"bytes": images[i % len(images)], "path": None} for i in range(4 * len(images))]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = {"image": pa.array(cells, kind), "label": pa.array([i % 2 for i in range(len(cells))])}
    for part in ("train", "test"):
        pq.write_table(pa.table(rows), tmp_path / f"{part}-00000-of-00001.parquet")
    return tmp_path


def pixels(folder, **keys):
    """The first image, (H, W) or (H, W, 3), from 0 to 255."""
    x = TableFiles(scale="raw", **keys).load(folder).x[0] * 255
    return x[0] if len(x) == 1 else x.transpose(1, 2, 0)


ADAPTIVE = Image.fromarray(COLOUR).quantize(16)


@pytest.mark.parametrize(
    ("image", "seen"),
    [
        (Image.fromarray(GREY), GREY),
        (Image.fromarray(GREY > 100), 255 * (GREY > 100)),
        (Image.fromarray(COLOUR), COLOUR),
        (Image.fromarray(np.concatenate([COLOUR, OPAQUE], axis=-1)), COLOUR),
        (Image.fromarray(np.concatenate([GREY[..., None], OPAQUE], axis=-1)), GREY),
        (ADAPTIVE, np.asarray(ADAPTIVE.convert("RGB"))),
    ],
    ids=["grey", "black and white", "colour", "opaque", "opaque grey", "palette"],
)
def test_pixels_are_those_of_the_file(image, seen, tmp_path):
    assert pixels(table(tmp_path, png(image))) == pytest.approx(np.asarray(seen), abs=1e-3)


def stack():
    one, other = Image.fromarray(GREY), Image.fromarray(GREY.T)
    return png(one, "TIFF", save_all=True, append_images=[other])


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (png(Image.fromarray(GREY.astype(np.uint16) * 257)), "16 bits a pixel"),
        (png(Image.fromarray(GREY.astype(np.int32) << 20), "TIFF"), "32 bits a pixel"),
        (png(Image.fromarray(GREY / np.float32(255)), "TIFF"), "32 bits a pixel"),
        (png(Image.fromarray(np.concatenate([COLOUR, HALF], axis=-1))), "transparent pixels"),
        (png(Image.fromarray(np.concatenate([GREY[..., None], HALF], axis=-1))), "transparent"),
        (png(ADAPTIVE, transparency=3), "transparent pixels"),
        (stack(), "2 frames"),
    ],
    ids=["16 bits", "whole numbers", "real numbers", "alpha", "grey alpha", "palette", "frames"],
)
def test_what_8_bits_a_channel_do_not_hold_is_refused(image, words, tmp_path):
    with pytest.raises(DataError, match=rf"row \d+ has {words}"):
        pixels(table(tmp_path, image))


def test_colours_among_grey_images_are_refused_until_one_says_which(tmp_path):
    folder = table(tmp_path, png(Image.fromarray(GREY)), png(Image.fromarray(COLOUR)))
    with pytest.raises(DataError, match="is in colour, and the first image is grey; set image_sh"):
        pixels(folder)
    assert pixels(folder, image_shape=(1, 4, 4)).shape == (4, 4)
    assert pixels(folder, image_shape=(3, 4, 4)).shape == (4, 4, 3)


def test_a_shape_of_images_is_refused_where_there_are_none(tmp_path):
    for part in ("train", "test"):
        rows = pa.table({"a": [0.5, 1.5, 2.5, 3.5], "label": [0, 1, 0, 1]})
        pq.write_table(rows, tmp_path / f"{part}.parquet")
    with pytest.raises(DataError, match="has no images; leave image_shape out"):
        pixels(tmp_path, image_shape=(3, 4, 4))


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_images_from_python_are_their_pixels(mode):
    images = [Image.fromarray(COLOUR).convert(mode)] * 4
    found = data_kind((images, [0, 1, 0, 1]), "own").train_rows.x
    assert (found == np.stack([np.asarray(image) for image in images])).all()


def test_numbers_of_colours_in_a_table_are_no_inputs():
    """As an array an image of mode P is the numbers of its colours."""
    with pytest.raises(DataError, match=r'mode P .* give image.convert\("RGB"\)'):
        data_kind(([ADAPTIVE] * 4, [0, 1, 0, 1]), "own")
