"""The records that the kernel reads, as `src/call.h` has them: every field takes eight bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

OP_FIELDS = (
    *("kind", "flags"),
    *("source", "out", "source_gradient", "out_gradient", "second", "second_gradient"),
    *("channels", "height", "width", "pitch"),
    *("out_channels", "out_height", "out_width", "out_pitch"),
    *("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "groups"),
    *("tap_h", "tap_w", "taps_h", "taps_w"),
    *("weight", "weight_pitch", "bias", "running_mean", "running_var"),
    *("aux", "aux_gradient", "staged_height", "staged_pitch", "staged_step"),
    *("offsets", "count", "first", "step"),
)
OP_REALS = ("real1", "real2")

ABSENT = (
    *("source", "out", "source_gradient", "out_gradient", "second", "second_gradient"),
    *("weight", "bias", "running_mean", "running_var", "aux", "aux_gradient"),
)
"""Fields in which -1 says that there is none."""


class Kind(IntEnum):
    """Layers, in the order of the kernel's."""

    INPUT_MAP = 0
    INPUT_DENSE = 1
    LINEAR = 2
    CONV = 3
    RELU = 4
    ACTIVATION = 5
    RELU_MAX_POOL2 = 6
    MAX_POOL = 7
    AVG_POOL = 8
    FLATTEN = 9
    BATCH_NORM = 10
    GROUP_NORM = 11
    DROPOUT = 12
    ADD = 13
    COPY_CHANNELS = 14
    SPLIT = 15
    EXPORT = 16
    EMBEDDING = 17
    UNUSED = 18


class Flag(IntFlag):
    """Option of a layer beside its sizes."""

    DENSE = 1
    TRAINING = 2
    STAGED = 4
    PHASED = 8
    AFFINE_BY_VALUE = 16
    COUNT_PADDING = 32
    FINAL = 64
    ADAPTIVE = 128
    SMALL_MAP = 256
    TILES = 512


class Mode(IntEnum):
    """Purpose of a call."""

    LOOK = 0
    GRADIENT = 1
    TRAIN = 2
    SUM = 3


class Loss(IntEnum):
    """Loss that training minimises."""

    NONE = 0
    CROSS_ENTROPY = 1
    MEAN_SQUARED = 2
    GIVEN_GRADIENT = 3


STATUS = {1: "the number of a sample is not one of the data set's", 2: "a label is not a class"}
"""Why a job was not run."""

HEADER_BYTES = 64
"""Of a workspace, before its scalars."""


class Table(ctypes.Structure):
    """The layers for one number of samples."""

    _fields_ = [
        ("ops", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("num_ops", "samples", "id", "num_values")),
    ]


SEGMENT_FIELDS = (
    *("row_offset", "packed_offset", "rows", "columns", "pitch"),
    *("area", "kernel_w", "tap_h", "tap_w", "taps_h", "taps_w", "dead_offset"),
)

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class Call(ctypes.Structure):
    """Everything that the kernel is told."""

    _fields_ = [
        ("tables", _POINTER),
        ("segments", _POINTER),
        ("num_segments", _INTEGER),
        ("num_packed", _INTEGER),
        ("num_packed_parameters", _INTEGER),
        ("num_values", _INTEGER),
        ("num_parameters", _INTEGER),
        ("offsets", _POINTER),
        ("num_jobs", _INTEGER),
        ("first_step", _POINTER),
        ("step_table", _POINTER),
        ("step_start", _POINTER),
        ("step_masks", _POINTER),
        ("step_export", _POINTER),
        ("index", _POINTER),
        ("next", _POINTER),
        ("status", _POINTER),
        ("x", _POINTER),
        ("labels", _POINTER),
        ("targets", _POINTER),
        ("num_samples", _INTEGER),
        ("masks", _POINTER),
        ("draws", _POINTER),
        ("black", _POINTER),
        ("pad", _INTEGER),
        ("exports", _POINTER),
        ("given", _POINTER),
        ("export_width", _INTEGER),
        ("programs", _POINTER),
        ("step_program", _POINTER),
        ("loss_work", _INTEGER),
        ("loss_constants", _POINTER),
        ("loss_inputs", _POINTER),
        ("loss_inputs_pitch", _INTEGER),
        ("rows", _POINTER),
        ("rows_pitch", _INTEGER),
        ("source", _POINTER),
        ("first_source", _POINTER),
        ("source_weights", _POINTER),
        ("out", _POINTER),
        ("out_pitch", _INTEGER),
        ("target", _POINTER),
        ("anchors", _POINTER),
        ("anchors_pitch", _INTEGER),
        ("anchor", _POINTER),
        ("states", _POINTER),
        ("states_pitch", _INTEGER),
        ("state", _POINTER),
        ("states_out", _POINTER),
        ("states_out_pitch", _INTEGER),
        ("state_target", _POINTER),
        ("losses", _POINTER),
        ("sums", _POINTER),
        ("learning_rate", _POINTER),
        ("mode", _INTEGER),
        ("loss", _INTEGER),
        ("optimizer", _INTEGER),
        ("updates_buffers", _INTEGER),
        ("momentum", _REAL),
        ("weight_decay", _REAL),
        ("beta1", _REAL),
        ("beta2", _REAL),
        ("clip_norm", _REAL),
        ("anchor_strength", _REAL),
    ]


RECORD_BYTES = (
    8 * (len(OP_FIELDS) + len(OP_REALS)),
    ctypes.sizeof(Table),
    8 * len(SEGMENT_FIELDS),
    ctypes.sizeof(Call),
    8 * 33,
    8 * 10,
    8 * 6,
)
"""Sizes of an op, a table, a segment, a call, and of a loss an operation, a pass and a program,
which the library must agree with."""


def encode_records(records: Sequence[dict[str, Any]]) -> NDArray[np.int64]:
    """Records as the kernel reads them."""
    width = len(OP_FIELDS) + len(OP_REALS)
    found = np.zeros((len(records), width), dtype=np.int64)
    reals = found.view(np.float64)
    columns = {name: i for i, name in enumerate([*OP_FIELDS, *OP_REALS])}
    for name in ABSENT:
        found[:, columns[name]] = -1
    for row, real, record in zip(found, reals, records, strict=True):
        for name, value in record.items():
            if name in OP_REALS:
                real[columns[name]] = value
            else:
                row[columns[name]] = int(value)
    return found
