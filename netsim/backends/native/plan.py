"""Lays out a graph for the kernel: a table of its layers for each number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from netsim.backends.native.graph import Graph, Layer, Value
from netsim.backends.native.packing import Packing, Taps, goes_by_tiles, round_up, row_pitch
from netsim.backends.native.records import Flag, Kind, encode_records

_IDS = count(1)

TILE_VALUES = 1 << 19
"""Numbers of the pixels and results of a block of tiles, which should stay in the second cache."""

TILE_SAMPLES = 512
"""Most samples of all tiles of a block."""

_IN_PLACE_AFTER = (Kind.LINEAR, Kind.CONV, Kind.BATCH_NORM, Kind.GROUP_NORM, Kind.ADD)
"""Layers that do not read their own result on the way back."""


class Table:
    """The layers for one number of samples.

    Parameters
    ----------
    graph : Graph
    packing : Packing
    lanes : int
    samples : int
    learns : bool
        Whether there is a way back.
    offsets : list of int
        The kernel's table of offsets, to which this one adds its own.

    Attributes
    ----------
    ops : (n, fields) int64
    id : int
        Unique in the process and never 0.
    num_values : int
        Scalars that the values take, those of passes beside them included.
    beside : int
        Where the values of passes beside these layers begin.
    """

    def __init__(
        self,
        graph: Graph,
        packing: Packing,
        lanes: int,
        samples: int,
        learns: bool,
        offsets: list[int],
    ) -> None:
        self._graph, self._packing, self._lanes = graph, packing, lanes
        self.samples, self._learns, self._offsets = samples, learns, offsets
        self.id, self.num_values, self.beside = next(_IDS), 0, 0
        self._records: list[dict[str, Any]] = []
        self._shared: list[tuple[dict[str, Any], int]] = []
        self._readers: dict[int, int] = {}
        self._last_reader: dict[int, Layer] = {}
        for layer in graph.layers:
            for source in layer.sources:
                self._readers[source] = self._readers.get(source, 0) + 1
                self._last_reader[source] = layer
        for number in graph.exports:
            self._readers[number] = self._readers.get(number, 0) + 1
        self._values: dict[int, int] = {}
        self._gradients: dict[int, int] = {}
        self._parts: dict[int, list[int]] = {}
        self._makers: dict[int, Layer] = {}
        self._waiting: dict[int, int] = {}
        for layer in graph.layers:
            if layer.out >= 0:
                self._waiting[layer.out] = self._waiting.get(layer.out, 0) + 1
        for layer in graph.layers:
            self._add_layer(layer)
        self._export()
        if self._shared:
            scratch = self._allocate(max(length for _, length in self._shared))
            for record, _ in self._shared:
                record["aux_gradient"] = scratch
        self.ops = encode_records(self._records)

    def pitch(self, value: Value) -> int:
        """Scalars from row to row: of a map's rows of pixels, of a dense value's samples."""
        if value.is_dense:
            return row_pitch(value.size, self._lanes)
        # A convolution reads whole vectors, which may end behind the last sample of a row.
        return round_up(value.shape[2] * self.samples, self._lanes) + self._lanes

    def _length(self, value: Value) -> int:
        if value.is_dense:
            return self.samples * self.pitch(value)
        return value.shape[0] * value.shape[1] * self.pitch(value)

    def _allocate(self, length: int) -> int:
        at = self.num_values
        self.num_values += round_up(length, 16)
        return at

    def _new_value(self, layer: Layer, value: Value) -> None:
        """Room for what a layer writes, the first time, and for its gradient.

        ReLU may write over what it reads, and the gradient of ReLU with pooling over its input.
        """
        number = value.number
        if number in self._values:
            return
        if layer.kind is Kind.RELU:
            source = layer.sources[0]
            maker = self._makers.get(source)
            if maker and maker.kind in _IN_PLACE_AFTER and self._readers[source] == 1:
                self._values[number] = self._values[source]
                if source in self._gradients:
                    self._gradients[number] = self._gradients[source]
                return
        self._values[number] = self._allocate(self._length(value))
        if not (value.learns and self._learns):
            return
        pooled = (
            layer.kind in _IN_PLACE_AFTER
            and self._readers.get(number) == 1
            and number in self._last_reader
            and self._last_reader[number].kind is Kind.RELU_MAX_POOL2
        )
        self._gradients[number] = (
            self._values[number] if pooled else self._allocate(self._length(value))
        )

    def _gradient_for(self, number: int) -> int:
        """Return the place where a reader of a value puts its gradient; -1 if nobody wants it."""
        if number not in self._gradients:
            return -1
        if self._readers[number] == 1:
            return self._gradients[number]
        return self._parts[number].pop()

    def _split_gradient(self, value: Value) -> None:
        """Plan a gradient for each reader of a value, and their sum."""
        readers = self._readers.get(value.number, 0)
        if value.number not in self._gradients or readers < 2:
            return
        into = self._gradients[value.number]
        parts = [self._allocate(self._length(value)) for _ in range(readers)]
        sums = [(parts[0], parts[1])] + [(into, part) for part in parts[2:]]
        for a, b in reversed(sums):  # the way back goes through the table from its end
            self._records.append(
                self._shape(value)
                | {
                    "kind": Kind.SPLIT,
                    "source_gradient": into,
                    "out_gradient": a,
                    "second_gradient": b,
                }
            )
        self._parts[value.number] = parts

    def _shape(self, value: Value, out: Value | None = None) -> dict[str, Any]:
        sizes = (value.size, 1, 1) if value.is_dense else value.shape
        record = dict(zip(("channels", "height", "width"), sizes, strict=True))
        record["pitch"] = self.pitch(value)
        record["flags"] = int(Flag.DENSE) if value.is_dense else 0
        if out is not None:
            sizes = (out.size, 1, 1) if out.is_dense else out.shape
            record |= dict(zip(("out_channels", "out_height", "out_width"), sizes, strict=True))
            record["out_pitch"] = self.pitch(out)
        return record

    def _add_layer(self, layer: Layer) -> None:
        graph, packing = self._graph, self._packing
        record: dict[str, Any] = {}
        if layer.out >= 0:
            out = graph.values[layer.out]
            source = graph.values[layer.sources[0]] if layer.sources else out
            record = self._shape(source, out)
            self._new_value(layer, out)
            record["out"] = self._values[layer.out]
            record["out_gradient"] = self._gradients.get(layer.out, -1)
            self._makers.setdefault(layer.out, layer)
        for prefix, number in zip(("source", "second"), layer.sources, strict=False):
            record[prefix] = self._values[number]
            record[f"{prefix}_gradient"] = self._gradient_for(number)
        if layer.kind is Kind.RELU and record["out"] == record["source"]:
            record["source_gradient"] = record["out_gradient"]
        record |= {k: v for k, v in layer.settings.items() if k != "flags"}
        record["kind"] = layer.kind
        record["flags"] = record.get("flags", 0) | int(layer.settings.get("flags", 0))
        for role, part in layer.tensors.items():
            at, pitch = packing.places[part.name]
            record[role] = at
            if role == "weight":
                record["weight_pitch"] = pitch
        special = _SPECIAL.get(layer.kind)
        if special is not None:
            special(self, layer, record)
        self._records.append(record)
        if layer.out >= 0:
            self._waiting[layer.out] -= 1
            if not self._waiting[layer.out]:
                self._split_gradient(graph.values[layer.out])

    def _export(self) -> None:
        at = 0
        for number in self._graph.exports:
            value = self._graph.values[number]
            record = self._shape(value)
            record |= {
                "kind": Kind.EXPORT,
                "source": self._values[number],
                "source_gradient": self._gradient_for(number),
                "first": at,
                "aux": self._allocate(self.pitch(value)),
            }
            self._records.append(record)
            at += value.size
        if self._graph.exports:
            self._records[-1]["flags"] |= int(Flag.FINAL)

    def add_offsets(self, offsets: Sequence[int]) -> int:
        """Add to the kernel's table of offsets; give where they begin."""
        at = len(self._offsets)
        self._offsets.extend(offsets)
        return at

    def conv(self, layer: Layer, record: dict[str, Any]) -> None:
        """Plan the staging of a convolution's input, and the inputs of its kernel's entries."""
        taps = self._packing.taps.get(layer.tensors["weight"].name)
        if goes_by_tiles(self._graph, layer):
            self._tiles(record, taps)
            return
        if taps is not None:
            self._small_conv(layer, record, taps)
            return
        r, samples = record, self.samples
        height, pitch, step = r["height"], r["pitch"], samples
        staged = 0
        padded, strided = r["pad_h"] or r["pad_w"], r["stride_w"] != 1
        if padded or strided:
            r["flags"] |= int(Flag.STAGED) | (int(Flag.PHASED) if strided else 0)
            height = r["height"] + 2 * r["pad_h"]
            if strided:
                step = round_up(r["out_width"] * samples, self._lanes)
                pitch = step * r["kernel_w"]
            else:
                pitch = round_up((r["width"] + 2 * r["pad_w"]) * samples, self._lanes) + self._lanes
            staged = round_up(r["channels"] * height * pitch, 16)
            if r["source_gradient"] >= 0:
                r["aux_gradient"] = self._allocate(staged)
        per_group = r["channels"] // r["groups"]
        kernel = per_group * r["kernel_h"] * r["kernel_w"]
        weights = r["out_channels"] * kernel  # its gradient, and the weights in another order
        learns = 1 + (r["source_gradient"] >= 0)
        r["aux"], r["count"] = self._allocate(staged + learns * weights), staged
        r |= {"staged_height": height, "staged_pitch": pitch, "staged_step": step}
        r["offsets"] = self.add_offsets(
            [
                (c * height + y) * pitch + x * step
                for c in range(per_group)
                for y in range(r["kernel_h"])
                for x in range(r["kernel_w"])
            ]
        )

    def _small_conv(self, layer: Layer, record: dict[str, Any], taps: Taps) -> None:
        """Plan a convolution whose pixels are gone through one by one."""
        r, name = record, layer.tensors["weight"].name
        r |= taps._asdict()
        r["flags"] |= int(Flag.SMALL_MAP)
        pitch = row_pitch(r["out_channels"], self._lanes)
        pixels = r["height"] * r["width"] * self.samples
        results = r["out_height"] * r["out_width"] * self.samples
        r["aux"], r["staged_pitch"] = self._allocate(pixels * r["weight_pitch"]), pitch
        self._shared.append((r, max(pixels * r["weight_pitch"], results * pitch)))
        r["offsets"] = self.add_offsets([o * r["weight_pitch"] for o in range(r["out_channels"])])
        if name in self._packing.dead:
            at, count = self._packing.dead[name]
            self._records.append({"kind": Kind.UNUSED, "weight": at, "count": count})

    def _tiles(self, record: dict[str, Any], taps: Taps | None) -> None:
        """Plan a convolution by tiles: all that it needs is scratch, see `Tiling` of the kernel."""
        r, samples = record, self.samples
        if taps is not None:
            r |= taps._asdict()
        r["flags"] |= int(Flag.TILES)
        channels, results = r["channels"], r["out_channels"]
        tiles = -(-r["out_height"] // 2) * -(-r["out_width"] // 2)
        most = TILE_VALUES // (16 * (channels + results))
        most = min(tiles, max(1, min(most, TILE_SAMPLES) // samples))
        vectors = -(-((most - 1) * samples + round_up(samples, self._lanes)) // self._lanes)
        pitch = (vectors + 1 - vectors % 2) * self._lanes
        weights = row_pitch(channels, self._lanes)
        r |= {"staged_height": weights, "staged_pitch": pitch, "staged_step": most}
        places = 16 * ((channels + results) * pitch + 2 * self._lanes)
        turned = max(most * samples, 0 if taps else 9 * results) * weights
        self._shared.append((r, 32 * results * weights + places + turned))

    def input_map(self, layer: Layer, record: dict[str, Any]) -> None:
        """Room for a row of each of some images, with what may lie around it."""
        record["aux"] = self._allocate(self._lanes * (3 * record["width"] + 2 * self._lanes))

    def linear(self, layer: Layer, record: dict[str, Any]) -> None:
        """Plan the begins of a linear layer's rows."""
        rows = range(record["out_channels"])
        record["offsets"] = self.add_offsets([n * record["pitch"] for n in rows])

    def batch_norm(self, layer: Layer, record: dict[str, Any]) -> None:
        """Room for mean and scale of each channel."""
        values = self.samples * record["height"] * record["width"]
        if record["flags"] & Flag.TRAINING and values < 2:
            raise ValueError("Expected more than 1 value per channel when training")
        dense = record["flags"] & Flag.DENSE
        record["aux"] = self._allocate(2 * record["pitch" if dense else "channels"])

    def group_norm(self, layer: Layer, record: dict[str, Any]) -> None:
        """Room for statistics of each sample and group, and for the gradient of scale and shift."""
        samples = (
            self.samples if record["flags"] & Flag.DENSE else round_up(self.samples, self._lanes)
        )
        record["aux"] = self._allocate(2 * record["groups"] * samples + 2 * record["count"])

    def embedding(self, layer: Layer, record: dict[str, Any]) -> None:
        """Room for the gradient."""
        record |= {"channels": layer.settings["channels"], "width": layer.settings["width"]}
        record["aux"] = self._allocate(record["count"] * record["width"])

    def plan_unused(self, layer: Layer, record: dict[str, Any]) -> None:
        """Plan the padded length of the tensor."""
        record["count"] = self._packing.lengths[layer.tensors["weight"].name]


_SPECIAL = {
    Kind.INPUT_MAP: Table.input_map,
    Kind.CONV: Table.conv,
    Kind.LINEAR: Table.linear,
    Kind.BATCH_NORM: Table.batch_norm,
    Kind.GROUP_NORM: Table.group_norm,
    Kind.EMBEDDING: Table.embedding,
    Kind.UNUSED: Table.plan_unused,
}
