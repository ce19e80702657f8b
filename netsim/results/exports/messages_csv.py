"""Every message of a run as CSV, in the order in which they ended; columns: `docs/timeline.md`."""

from pathlib import Path

import pyarrow.csv

from netsim.results.exports import _messages

SUFFIX = ".messages.csv"


def write_run(folder: Path, path: Path) -> None:
    """Write a row a message and receiver."""
    batches = _messages.batches(folder)
    first = next(batches)
    with pyarrow.csv.CSVWriter(path, _messages.SCHEMA) as file:
        file.write(first)
        for batch in batches:
            file.write(batch)
