"""Layout of a model's row in a workspace of the kernel."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from netsim.backends.native.graph import Graph, Layer
from netsim.backends.native.records import SEGMENT_FIELDS, Kind

SMALL_MAP = 64
"""Pixels of a result up to which a convolution goes through them one by one."""

FEWEST_CHANNELS = 16
"""Of the input of such a convolution: they are the vectors."""

LARGEST_AREA = 128
"""Most entries of the kernel of such a convolution."""

TILES_GAIN = 1.3
"""Least ratio of the products that results take one by one to those that tiles take."""


def round_up(n: int, to: int) -> int:
    """`n` rounded up to a multiple of `to`."""
    return -(-n // to) * to


def row_pitch(columns: int, lanes: int) -> int:
    """Distance of rows of so many values, in whole vectors.

    Rows a multiple of 16 vectors apart would fall on the same few sets of the processor's cache,
    and drive each other out.
    """
    vectors = -(-columns // lanes)
    return (vectors + (vectors % 16 == 0)) * lanes


class Taps(NamedTuple):
    """Entries of a convolution's kernel that ever meet data, in both directions."""

    tap_h: int
    tap_w: int
    taps_h: int
    taps_w: int


def goes_by_tiles(graph: Graph, layer: Layer) -> bool:
    """Return whether a convolution is computed in tiles of 2x2 results, see `src/winograd.h`.

    That pays where a tile's 16 products are fewer than those of its results that meet data.
    """
    if layer.kind is not Kind.CONV or layer.settings["groups"] > 1:
        return False
    s, value = layer.settings, graph.values[layer.sources[0]]
    if (s["kernel_h"], s["kernel_w"], s["stride_h"], s["stride_w"]) != (3, 3, 1, 1):
        return False
    if min(value.shape[0], graph.values[layer.out].shape[0]) < FEWEST_CHANNELS:
        return False
    products, tiles = 1, 1
    for side, size in zip("hw", value.shape[1:], strict=True):
        results, pad = s[f"out_{'height' if side == 'h' else 'width'}"], s[f"pad_{side}"]
        meeting = [sum(0 <= r + k - pad < size for r in range(results)) for k in range(3)]
        if 0 in meeting:
            return False
        products *= sum(meeting)
        tiles *= -(-results // 2)
    return 16 * tiles * TILES_GAIN <= products


def taps_innermost(graph: Graph, layer: Layer) -> Taps | None:
    """Taps of a convolution whose channels are the innermost index; None for any other layer."""
    if goes_by_tiles(graph, layer):
        return Taps(0, 0, 3, 3)
    if layer.kind is not Kind.CONV or layer.settings["groups"] > 1:
        return None
    s, value = layer.settings, graph.values[layer.sources[0]]
    if s["out_height"] * s["out_width"] > SMALL_MAP or value.shape[0] < FEWEST_CHANNELS:
        return None
    if s["kernel_h"] * s["kernel_w"] > LARGEST_AREA:
        return None
    firsts, counts = [], []
    for side, size in zip("hw", value.shape[1:], strict=True):
        pad, stride, kernel = s[f"pad_{side}"], s[f"stride_{side}"], s[f"kernel_{side}"]
        results = s["out_height" if side == "h" else "out_width"]
        meet = [
            k
            for k in range(kernel)
            if any(0 <= r * stride + k - pad < size for r in range(results))
        ]
        firsts.append(meet[0] if meet else 0)
        counts.append(meet[-1] - meet[0] + 1 if meet else 0)
    if 0 in counts:
        return None
    return Taps(*firsts, *counts)


class Packing:
    """Layout of a model's row in a workspace, each row of a matrix padded to whole vectors.

    Weights of a convolution of small maps, or by tiles, are a matrix for each tap that ever meets
    data. Those of its other taps follow as they are; nothing reads them.

    Parameters
    ----------
    graph : Graph
    lanes : int
        Scalars of a vector.
    plain_rows : bool
        Whether every tensor keeps its order: no weights are a matrix a tap.

    Attributes
    ----------
    segments : (n, fields) int64
        As the kernel's record says.
    places : dict of str to (int, int)
        Where a tensor begins, and how far apart its rows are.
    taps : dict of str to Taps
        Of the weights that are a matrix a tap.
    dead : dict of str to (int, int)
        Where weights that only meet padding begin, and how many there are, padded.
    """

    def __init__(self, graph: Graph, lanes: int, plain_rows: bool = False) -> None:
        matrices = {
            layer.tensors["weight"].name for layer in graph.layers if layer.kind is Kind.LINEAR
        }
        read = Counter(part.name for layer in graph.layers for part in layer.tensors.values())
        self.taps: dict[str, Taps] = {}
        for layer in () if plain_rows else graph.layers:
            found = taps_innermost(graph, layer)
            if found is not None and read[layer.tensors["weight"].name] == 1:
                self.taps[layer.tensors["weight"].name] = found
        self.places: dict[str, tuple[int, int]] = {}
        self.lengths: dict[str, int] = {}
        self.dead: dict[str, tuple[int, int]] = {}
        segments, at, self.num_parameters = [], 0, 0
        for part in graph.slices:
            rows, columns, pitch = (
                1,
                part.stop - part.start,
                round_up(part.stop - part.start, lanes),
            )
            area, kernel_w, taps, dead = 1, 1, Taps(0, 0, 1, 1), 0
            if part.name in matrices:
                rows, columns = part.shape
                pitch = row_pitch(columns, lanes)
            elif part.name in self.taps:
                rows, columns, kernel_h, kernel_w = part.shape
                area, taps = kernel_h * kernel_w, self.taps[part.name]
                pitch = row_pitch(columns, lanes)
                dead = rows * columns * (area - taps.taps_h * taps.taps_w)
            self.places[part.name] = at, pitch
            length = taps.taps_h * taps.taps_w * rows * pitch
            dead_at = at + length
            segments.append((part.start, at, rows, columns, pitch, area, kernel_w, *taps, dead_at))
            self.lengths[part.name] = length
            if dead:
                self.dead[part.name] = dead_at, round_up(dead, lanes)
            at = dead_at + round_up(dead, lanes)
            if part.stop <= graph.num_parameters:
                self.num_parameters = at
        self.num_values = at
        self.segments = np.array(segments, dtype=np.int64).reshape(-1, len(SEGMENT_FIELDS))
