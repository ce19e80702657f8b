"""Data sets of the Hugging Face hub by name, read with the library `datasets` (an extra)."""

import importlib
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from netsim.data.columns import Source
from netsim.data.sets import Samples
from netsim.data.sets._tables import TableSet
from netsim.errors import DataError, one_line
from netsim.traces.bounded_tables import MOST_TABLE_BYTES
from netsim.traces.input_files import note_files


class HuggingFace(TableSet):
    """A data set that `datasets.load_dataset` gives; kept in that library's cache.

    Code of a repository is never run.

    Parameters
    ----------
    name : str
        Name on the hub, such as "ylecun/mnist", or a folder that the library can read.
    config : str, optional
        Configuration of the set. Absent: its only one, or its default.
    revision : str, optional
        Commit or tag. State one to be able to repeat the run after the repository has changed.
        Absent: the newest one.
    train_split, test_split : str
        Split, in the form of that library, such as "train" or "train[:10000]". With `test_split =
        ""` test rows are held out of the training split.
    """

    kind: Literal["huggingface"] = "huggingface"
    name: str
    config: str | None = None
    revision: str | None = None
    train_split: str = "train"
    test_split: str = "test"

    needs_files: ClassVar[bool] = False

    def read(self, folder: Path | None) -> Samples:
        """Read the samples; called by `load`."""
        library = self._library()
        train = self._split(library, self.train_split)
        test = self._split(library, self.test_split) if self.test_split else None
        return self._samples(train, test, Source(self.name, None))

    @staticmethod
    def _library() -> Any:
        try:
            return importlib.import_module("datasets")
        except ImportError:
            raise DataError(
                '[data] kind = "huggingface" needs the library datasets, which is not installed: '
                "pip install 'netsim-dfl[datasets]'; or copy the files and read them by "
                'kind = "table"'
            ) from None

    def _split(self, library: Any, split: str) -> pa.Table:
        """One split as a table, with the names of classes in its schema."""
        where = f'[data] name = "{one_line(self.name)}"'
        library.disable_progress_bars()
        try:
            found = library.load_dataset(
                self.name, self.config, split=split, revision=self.revision
            )
        except Exception as error:  # the library's, those of the hub, of the network
            raise DataError(f"{where}: {_reason(error, split)}") from error
        size = found.data.nbytes
        if size > MOST_TABLE_BYTES:
            raise DataError(
                f"{where}: split {split} takes {size / 2**30:.3g} GiB, at most "
                f"{MOST_TABLE_BYTES / 2**30:g} GiB are read; take a part, such as "
                f'"{split}[:10000]"'
            )
        note_files(Path(file["filename"]) for file in found.cache_files)
        table = found.with_format("arrow")[:]
        return table.replace_schema_metadata(found.features.arrow_schema.metadata)


def _reason(error: Exception, split: str) -> str:
    """Return the reason of a failure, and the remedy."""
    names = {kind.__name__ for kind in type(error).__mro__}
    text = one_line(error).split("\\n")[0][:300]
    if names & {
        "ConnectionError",
        "OfflineModeIsEnabled",
        "ConnectError",
        "LocalEntryNotFoundError",
    }:
        return (
            "can't be fetched: the hub is out of reach, and the set is not in the cache of "
            "datasets; go online once, set HF_HOME to a cache that has it, or copy its files and "
            'read them by kind = "table"'
        )
    if "DatasetNotFoundError" in names:
        return f"no such data set can be had ({text}); look at its name, and whether it is private"
    if "Unknown split" in text or 'split "' in text.lower():
        return f'has no split "{split}" ({text}); name others by train_split and test_split'
    return f"datasets can't read it ({type(error).__name__}: {text})"
