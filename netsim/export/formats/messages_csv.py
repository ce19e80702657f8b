"""Every message of a run as CSV, in the order in which they ended; columns: `docs/timeline.md`."""

from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from netsim.export.formats import _messages
from netsim.recording.csv_files import inert

SUFFIX = ".messages.csv"


def write_run(folder: Path, path: Path) -> None:
    """Write one row per message and receiver."""
    batches = _messages.batches(folder)
    first = next(batches)
    with pyarrow.csv.CSVWriter(path, _messages.SCHEMA) as file:
        for batch in chain([first], batches):
            kinds = pa.array(map(inert, batch.column("kind").to_pylist()), pa.string())
            place = batch.schema.get_field_index("kind")
            file.write(batch.set_column(place, batch.schema.field(place), kinds))
