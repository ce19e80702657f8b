"""A table of the user's own: Parquet, Arrow, CSV or JSON lines, as hubs lay them out."""

from pathlib import Path
from typing import ClassVar, Literal

from netsim.data import files
from netsim.data.columns import Source
from netsim.data.sets import Samples
from netsim.data.sets._tables import TableSet
from netsim.errors import DataError

_PARTS = (
    "{part}-*.parquet",
    "data/{part}-*.parquet",
    "*/{part}-*.parquet",
    "{part}/*.parquet",
    "{part}/data-*.arrow",
    *(f"{place}{{part}}.{end}" for place in ("", "data/") for end in
      ("parquet", "csv", "csv.gz", "jsonl", "jsonl.gz", "ndjson")),
)  # fmt: skip
_WHOLE = ("data-*.arrow", "*.parquet", "data/*.parquet", "*.csv", "*.csv.gz", "*.jsonl", "*.ndjson")
"""One table without a test part, from which test rows are held out."""


class TableFiles(TableSet):
    """Rows of files in the data folder (`[data] path`, `--data`).

    Parameters
    ----------
    train, test : str, optional
        Patterns of the files, such as "clients/train-*.csv", below the data folder. Absent:
        `train-*.parquet` and `test-*.parquet` at the top, in `data/` or in the folder of a
        configuration, as on a hub; `train/` and `test/`, as `save_to_disk` writes; `train.csv`,
        `train.jsonl`, ...; else all files of one sort, from which test rows are held out.
    """

    kind: Literal["table"] = "table"
    train: str | None = None
    test: str | None = None

    needs_files: ClassVar[bool] = True

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        train = self._files(folder, "train", self.train)
        test = self._files(folder, "test", self.test)
        if train is None:
            how = "put train-*.parquet, train.csv or train.jsonl there, or name files by train"
            train = files.find_files("table", folder, ("",), _WHOLE, how, only="train")
            test = self._files(folder, "test", self.test)
        every = [*train, *(test or ())]
        own = files.read_parts(train)
        held = [] if test is None else files.read_parts(test)
        sizes = [part.num_rows for part in (*own, *held)]
        source = Source(
            train[0].name if len(train) == 1 else f"{train[0].name} ...",
            folder,
            tuple((file.name, file, rows) for file, rows in zip(every, sizes, strict=True)),
        )
        return self._samples(
            files.stack_tables(own), files.stack_tables(held) if held else None, source
        )

    def _files(self, folder: Path | None, part: str, pattern: str | None) -> list[Path] | None:
        """The files of a part; None where the usual places have none."""
        if pattern is not None:
            if Path(pattern).is_absolute() or not pattern:
                raise DataError(
                    f'[data] {part} = "{pattern}": is a pattern below the data folder; name that '
                    "by path"
                )
            return files.find_files("table", folder, ("",), (pattern,), f"name files by {part}")
        if folder is None:
            return None
        usual = [name.format(part=part) for name in _PARTS]
        if not any(next(folder.glob(name), None) for name in usual):
            return None
        return files.find_files("table", folder, ("",), usual, "", only=part)
