"""Layout of a model's row in a workspace of the kernel."""

from __future__ import annotations

import numpy as np

from netsim.backends.native.graph import Graph
from netsim.backends.native.records import Kind


def up(n: int, to: int) -> int:
    """`n` rounded up to a multiple of `to`."""
    return -(-n // to) * to


def row_pitch(columns: int, lanes: int) -> int:
    """Distance of rows of so many values, in whole vectors.

    Rows a multiple of 16 vectors apart would fall on the same few sets of the processor's cache,
    and drive each other out.
    """
    vectors = -(-columns // lanes)
    return (vectors + (vectors % 16 == 0)) * lanes


class Packing:
    """Layout of a model's row in a workspace, each row of a matrix padded to whole vectors.

    Parameters
    ----------
    graph : Graph
    lanes : int
        Scalars of a vector.

    Attributes
    ----------
    segments : (n, 5) int64
        As the kernel's record says.
    places : dict of str to (int, int)
        Where a tensor begins, and how far apart its rows are.
    """

    def __init__(self, graph: Graph, lanes: int) -> None:
        matrices = {
            layer.tensors["weight"].name for layer in graph.layers if layer.kind is Kind.LINEAR
        }
        self.places: dict[str, tuple[int, int]] = {}
        self.lengths: dict[str, int] = {}
        segments, at, self.num_parameters = [], 0, 0
        for part in graph.slices:
            rows, columns, pitch = 1, part.stop - part.start, up(part.stop - part.start, lanes)
            if part.name in matrices:
                rows, columns = part.shape
                pitch = row_pitch(columns, lanes)
            segments.append((part.start, at, rows, columns, pitch))
            self.places[part.name] = at, pitch
            self.lengths[part.name] = rows * pitch
            at += rows * pitch
            if part.stop <= graph.num_parameters:
                self.num_parameters = at
        self.num_values = at
        self.segments = np.array(segments, dtype=np.int64).reshape(-1, 5)
