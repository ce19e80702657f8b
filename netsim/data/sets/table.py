"""A table of the user's own: Parquet, Arrow, CSV or JSON lines, as hubs lay them out."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from netsim.data import files
from netsim.data.columns import Source
from netsim.data.sets import Samples
from netsim.data.sets._tables import TableSet
from netsim.errors import DataError, one_line
from netsim.traces.files import quote

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
_HELD_OUT = re.compile(
    r"(?:^|[^a-z])(?:test(?:s|ing|set|data)?|val|valid|validation|dev|eval|evaluation|holdout)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Words in names of files whose rows are not for training."""
_NAMED = 3
_TABLES = (".parquet", ".arrow", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".ndjson")


class TableFiles(TableSet):
    """Rows of files in the data folder (`[data] path`, `--data`).

    Parameters
    ----------
    train, test : str, optional
        Patterns of the files, such as "clients/train-*.csv", below the data folder. Absent:
        `train-*.parquet` and `test-*.parquet` at the top, in `data/` or in the folder of a
        configuration, as on a hub; `train/` and `test/`, as `save_to_disk` writes; `train.csv`,
        `train.jsonl`, ...; else all files of one sort, less those of a test part. Without a test
        part test rows are held out.
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
            train = [file for file in train if file not in (test or ())] or train
            _require_one_part(train)
        elif test is not None and self.test is None and set(test) == set(train):
            test = None  # they are named for training
        _require_apart(train, test or ())
        every = [*train, *(test or ())]
        own = files.read_parts(train)
        held = [] if test is None else files.read_parts(test)
        sizes = [part.num_rows for part in (*own, *held)]
        source = Source(
            train[0].name if len(train) == 1 else f"{train[0].name} ...",
            folder,
            tuple((file.name, file, rows) for file, rows in zip(every, sizes, strict=True)),
        )
        samples = self._samples(
            files.stack_tables(own), files.stack_tables(held) if held else None, source
        )
        if samples.columns is not None and (self.train is None or self.test is None):
            samples.columns.remarks.extend(_unread_beside(every))
        return samples

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


def _require_apart(train: Sequence[Path], test: Sequence[Path]) -> None:
    """Raise if a file is of both parts: its rows would be trained on and tested."""
    both = next((file for file in train if file in test), None)
    if both is not None:
        name = one_line(both.name)
        raise DataError(
            f'[data] kind = "table": {name} is of the training and of the test part; name the '
            "files of each by train and test"
        )


def _require_one_part(taken: Sequence[Path]) -> None:
    """Raise if the names of files that become one table say that some are not for training."""
    held = {file: bool(_HELD_OUT.search(file.name)) for file in taken}
    if any(held.values()) and not all(held.values()):
        one, other = (next(f for f in taken if held[f] is is_held) for is_held in (False, True))
        raise DataError(
            f'[data] kind = "table": {one_line(one.name)} and {one_line(other.name)} in '
            f"{one_line(one.parent)} would be one table, from which test rows are drawn; say which "
            f"files are for what by train and test, such as train = {quote(one.name)}"
        )


def _unread_beside(read: Sequence[Path]) -> list[str]:
    """A remark on tables beside those that are read, as of a part for validation."""
    beside = sorted(
        {
            one_line(file.name)
            for folder in dict.fromkeys(file.parent for file in read)
            for file in folder.iterdir()
            if file.name.endswith(_TABLES) and file not in read
        }
    )
    if not beside:
        return []
    more = f" and {len(beside) - _NAMED} more" if len(beside) > _NAMED else ""
    return [
        f"{', '.join(beside[:_NAMED])}{more} beside {read[0].name} "
        f"{'is' if len(beside) == 1 else 'are'} not read"
    ]
