"""Services of the table sets: columns for inputs, targets and users; scaling."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from netsim.data import columns, inspection
from netsim.data.columns import Source, Targets
from netsim.data.inspection import ColumnUse
from netsim.data.sets import DataSet, Samples, Scale
from netsim.data.sets._images import normalise_pixels
from netsim.data.split import hold_out, limit_rows
from netsim.errors import DataError
from netsim.registry import Count, Index

Rows = NDArray[np.int64]


class TableSet(DataSet):
    """Samples that are rows of a table.

    Parameters
    ----------
    input : str or tuple of str
        The column that models see, or several of one number each. Without it: the first column of
        images, else all columns of numbers that are neither targets nor users. A column may hold
        images (encoded, or names of files below the data folder), lists of numbers, or a number.
    target : str or tuple of str
        The column to be learned; several: as many numbers. `[]`: none, for `next_token`.
    learn : {"classes", "numbers"}, optional
        Type of targets. Absent: whole numbers and texts are classes, others are numbers.
    user : str, optional
        The column with the owner of a row (client, hospital, device): the groups of the partitions
        `by_user` and `by_group`. Absent: rows have no owner.
    image_shape : (C, H, W), optional
        Size to which images are scaled. Absent: all have the size and colours of the first.
    tokens : bool
        Inputs are numbers of words or ids and stay whole numbers.
    scale : {"standard", "raw"}
        "standard" subtracts mean and divides by standard deviation of the training rows: by column,
        of images by channel, of lists in lists over all. "raw" leaves numbers as they are, pixels
        in [0, 1].
    test_fraction : float
        Share held out if the files have no test part: of each user's rows, or of each class if
        there are no users.
    split_seed : int
        Chooses the hold-out and the rows taken. It is not the scenario's seed, so runs over several
        seeds are measured on the same rows.
    train_rows, test_rows : int, optional
        Number of rows used, the same share of each class. Absent: all.
    """

    input: str | tuple[str, ...] = ()
    target: str | tuple[str, ...] = "label"
    learn: Literal["classes", "numbers"] | None = None
    user: str | None = None
    image_shape: tuple[Literal[1, 3], Count, Count] | None = None
    tokens: bool = False
    scale: Literal["standard", "raw"] = "standard"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    split_seed: Index = 0
    train_rows: Count | None = None
    test_rows: Count | None = None

    needs_files: ClassVar[bool] = True

    def _samples(self, train: pa.Table, test: pa.Table | None, source: Source) -> Samples:
        """Samples of a training table and a test table, or of one that is split here.

        Parameters
        ----------
        train : pyarrow.Table
        test : pyarrow.Table or None
        source : Source

        Raises
        ------
        DataError
            If a column that a key names is missing or not what it should be.
        """
        table, use = self._table(train, test, source)
        found = self._targets(table, source)
        trained = train.num_rows if test is not None else table.num_rows
        if not use.inputs:
            use.inputs = inspection.default_inputs(table, trained, found.y, use, source)
        if not found.class_names:
            names = use.targets
            for target, values in zip(names, found.y.reshape(len(found.y), -1).T, strict=False):
                inspection.remark_on_numbers(target, values, trained, use)
        if found.y.ndim == 1 and found.class_names and use.targets:
            inspection.remark_on_classes(found.y, found.class_names, trained, use)
        of = None if self.user is None else columns.user_numbers(table, self.user, source)
        strata = np.zeros(table.num_rows, dtype=np.int64) if found.y.ndim > 1 else found.y
        if not np.issubdtype(strata.dtype, np.integer):
            strata = np.zeros(table.num_rows, dtype=np.int64)
        if test is None:
            by = strata if of is None else of
            rows, held = hold_out(by, self.test_fraction, self.split_seed)
            note = f"hold-out of {self.test_fraction:g} by seed {self.split_seed}"
        else:
            rows, held = np.split(np.arange(table.num_rows), [train.num_rows])
            note = "training and test rows as the files have them"
        name, seed = source.name, self.split_seed
        rows = limit_rows(strata, rows, self.train_rows, seed, "train_rows", name)
        held = limit_rows(strata, held, self.test_rows, seed, "test_rows", name)
        if not len(rows) or not len(held):
            raise DataError(
                f"[data] {name}: {len(rows)} training and {len(held)} test rows are too few"
            )
        chosen = np.concatenate([rows, held])
        x, scale = self._inputs(table, use, chosen, len(rows), source)
        kept = None if of is None else np.unique(of[chosen], return_inverse=True)[1]
        return Samples(
            x=x,
            y=np.ascontiguousarray(found.y[chosen]),
            train=np.arange(len(rows)),
            test=np.arange(len(rows), len(chosen)),
            num_classes=max(1, len(found.class_names)),
            class_names=found.class_names,
            name=str(getattr(self, "kind", "table")),
            notes=f"{name}: {note}"
            + ("" if kept is None else f"; {kept.max() + 1} users by {self.user}"),
            scale=scale,
            groups=None if kept is None else kept.astype(np.int64),
            input_limit=int(x.max()) + 1 if self.tokens else None,
            columns=use,
        )

    def _table(
        self, train: pa.Table, test: pa.Table | None, source: Source
    ) -> tuple[pa.Table, ColumnUse]:
        """All rows, training rows first, and the columns that keys name.

        Parameters
        ----------
        train, test, source
            As of `_samples`.
        """
        given = (self.input,) if isinstance(self.input, str) else self.input
        targets = (self.target,) if isinstance(self.target, str) else self.target
        use = ColumnUse(given, targets, self.user)
        for key, names in (("input", given), ("target", targets)):
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice is not None:
                raise source.error(key, twice, "names this column twice; name it once")
        for name in (*targets, self.user):
            if name in given:
                what = "the user" if name == self.user else "the target"
                use.remarks.append(f'column "{name}" is an input and {what}: models see it')
        table = inspection.normalise_table(train, source.name)
        if test is not None:
            needed = {*given, *targets, *(() if self.user is None else (self.user,))}
            other = inspection.normalise_table(test, source.name)
            table = inspection.stack_parts(table, other, needed if given else None, source)
        if not table.num_rows:
            raise DataError(f"[data] {source.name}: has no rows")
        for name in targets:
            column = columns.column_without_gaps(table, name, "target", source)
            inspection.require_names(column, name, "target", source)
            if self.learn != "classes":
                inspection.require_no_spoilt_numbers(table, name, "target", source)
        if self.user is not None:
            column = columns.column_without_gaps(table, self.user, "user", source)
            inspection.require_names(column, self.user, "user", source)
        return table, use

    def _targets(self, table: pa.Table, source: Source) -> Targets:
        names = (self.target,) if isinstance(self.target, str) else self.target
        if not names:
            return Targets(np.zeros(table.num_rows, dtype=np.int64), (source.name,))
        if len(names) == 1:
            as_numbers = None if self.learn is None else self.learn == "numbers"
            return columns.target_column(table, names[0], source, as_numbers)
        each = [columns.target_column(table, name, source, True).y for name in names]
        return Targets(_stack_columns(each, names, "target", source), ())

    def _inputs(
        self,
        table: pa.Table,
        use: ColumnUse,
        chosen: Rows,
        trained: int,
        source: Source,
    ) -> tuple[NDArray[Any], Scale | None]:
        """Inputs of the chosen rows.

        Parameters
        ----------
        table : pyarrow.Table
        use : ColumnUse
            The columns that models see; it is told of those that lose digits.
        chosen : int64 array
            Rows, of which the first `trained` are trained on.
        trained : int
        source : Source
        """
        names = use.inputs
        kind = columns.column_without_gaps(table, names[0], "input", source).type
        if len(names) == 1 and (columns.holds_images(kind) or pa.types.is_string(kind)):
            pixels = columns.image_column(table.take(chosen), names[0], self.image_shape, source)
            return _standard_images(pixels, trained, self.scale == "standard")
        if self.image_shape is not None:
            raise source.error("input", names[0], "has no images; leave image_shape out")
        each = [columns.number_column(table, name, "input", source) for name in names]
        x = (each[0] if len(names) == 1 else _stack_columns(each, names, "input", source))[chosen]
        if self.tokens:
            if not np.issubdtype(x.dtype, np.integer) or x.min() < 0 or x.ndim < 2:
                raise source.error(
                    "input",
                    names[0],
                    "tokens are lists of whole numbers from 0 on; leave tokens out",
                )
            return x.astype(np.int64), None
        for name, values in zip(names, each, strict=True):
            if values.ndim == 1:
                inspection.remark_on_rounding(name, values, self.scale, use)
        x = x.reshape(len(x), -1) if x.ndim == 1 else x
        return (_standardise(x, trained) if self.scale == "standard" else x).astype(
            np.float32
        ), None


def _stack_columns(
    each: list[NDArray[Any]], names: tuple[str, ...], key: str, source: Source
) -> NDArray[Any]:
    for name, values in zip(names, each, strict=True):
        if values.ndim > 1:
            raise source.error(
                key, name, f"has lists; several columns of {key} have a number a row each"
            )
    return np.stack(each, axis=1)


def _standard_images(
    pixels: NDArray[np.uint8], trained: int, standard: bool
) -> tuple[NDArray[np.float32], Scale]:
    """Pixels (n, C, H, W) as inputs, and by what they were standardised."""
    some = pixels[:trained]
    mean = tuple(some.mean(axis=(0, 2, 3), dtype=np.float64) / 255)
    std = tuple(float(value) or 1.0 for value in some.std(axis=(0, 2, 3), dtype=np.float64) / 255)
    if not standard:
        mean, std = (0.0,) * len(mean), (1.0,) * len(std)
    scale = tuple(map(float, mean)), tuple(map(float, std))
    return normalise_pixels(pixels, *scale), scale


def _standardise(x: NDArray[Any], trained: int) -> NDArray[np.float64]:
    """Numbers less their mean, over their deviation; what is constant becomes 0."""
    values = x.astype(np.float64)
    axes = 0 if values.ndim == 2 else tuple(range(values.ndim))
    some = values[:trained]
    mean, std = some.mean(axis=axes), some.std(axis=axes)
    varies = np.ptp(some, axis=axes) > 0  # the deviation of a constant is only nearly 0
    found: NDArray[np.float64] = np.where(varies, (values - mean) / np.where(varies, std, 1.0), 0.0)
    return found
