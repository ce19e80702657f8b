"""The columns of exported messages, their types, units and meanings, and the rows part by part."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.node_states import nanoseconds

COLUMNS = (
    ("number", pa.int64(), "", "place in the log, from 1: messages stand in the order of ending"),
    ("t_sent_ns", pa.int64(), "ns", "when the sender's algorithm handed it over"),
    ("t_done_ns", pa.int64(), "ns", "when it had arrived, or was given up"),
    ("t_sent_s", pa.float64(), "s", "t_sent_ns in seconds"),
    ("delay_s", pa.float64(), "s", "from one to the other, waiting included"),
    ("src", pa.int32(), "", "sending node"),
    ("dst", pa.int32(), "", "receiving node; a broadcast has a row for each"),
    ("kind", pa.string(), "", "the message class's name"),
    ("round", pa.int32(), "", "the sender's wake-up number"),
    ("bits", pa.int64(), "bit", "payload, without headers"),
    (
        "bits_transmitted",
        pa.int64(),
        "bit",
        "with headers and repetitions; a broadcast: one row; empty: an older run",
    ),
    ("attempts", pa.int64(), "", "packet transmissions; 0: it never started"),
    ("packets_lost", pa.int64(), "", "packets that never arrived"),
    ("snr_db", pa.float64(), "dB", "mean over attempts; empty: no attempt, or no radio"),
    ("outcome", pa.string(), "", "delivered, partial, or what it was lost to"),
)
"""Name, type, unit, meaning."""

SCHEMA = pa.schema(
    [
        pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})
        for name, kind, unit, meaning in COLUMNS
    ]
)


def batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """The messages of a run, a part of its log at a time.

    Raises
    ------
    ScenarioError
        If it has none written.
    """
    if not run_folder.has(folder, "messages"):
        raise ScenarioError(
            f"{folder}: has no messages: [run] log_messages is false, or none were written yet"
        )
    number = 1
    for rows in map(run_folder.arrays, run_folder.tables(folder, "messages")):
        many = len(rows["src"])
        sent_ns, done_ns = nanoseconds(rows["t_sent_s"]), nanoseconds(rows["t_done_s"])
        rows |= {
            "number": np.arange(number, number + many),
            "t_sent_ns": sent_ns,
            "t_done_ns": done_ns,
            "delay_s": (done_ns - sent_ns) / 1e9,
        }
        number += many
        rows.setdefault("bits_transmitted", np.full(many, np.nan))
        yield pa.record_batch(
            [pa.array(rows[name], kind, from_pandas=True) for name, kind, _, _ in COLUMNS],
            schema=SCHEMA,
        )
