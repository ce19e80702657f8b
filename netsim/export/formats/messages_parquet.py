"""Every message of a run as one Parquet file; columns as in CSV, their units in the schema."""

from pathlib import Path

import pyarrow.parquet

from netsim.export.formats import _messages

SUFFIX = ".messages.parquet"


def write_run(folder: Path, path: Path) -> None:
    """Write one row per message and receiver."""
    batches = _messages.batches(folder)
    first = next(batches)
    with pyarrow.parquet.ParquetWriter(path, _messages.SCHEMA) as file:
        file.write_batch(first)
        for batch in batches:
            file.write_batch(batch)
