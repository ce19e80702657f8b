"""Data of the user's own: arrays, or torch data sets, as a kind of data set."""

import hashlib
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field, create_model
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from netsim.data.columns import LARGEST, in_float32
from netsim.data.inspection import ColumnUse, numbers_rows
from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.errors import DataError, one_line
from netsim.registry import Index

_MOST_CLASSES = 1 << 20
_READ_AGAIN = 64
"""Items of a data set that are read twice."""
_COARSE = 0.01
"""Rounding, as a share of what a column spans, that is worth a word."""
_TOLD = 3
"""So many columns are named."""
_MOST_COLUMNS = 1000
"""Inputs of more columns are signals or pixels."""


class Rows(NamedTuple):
    """Samples as they were given."""

    x: NDArray[Any]
    """(n, ...) float32 or int64. Whole numbers stay whole: of words, ids."""
    y: NDArray[Any]
    """(n, ...) int64 or float64. Class numbers, or numbers to predict."""
    users: NDArray[np.int64] | None
    """(n,) int64. Number of the user that each sample is of."""


class Part(NamedTuple):
    """Training or test samples as they were read."""

    x: NDArray[Any]
    y: NDArray[Any]
    users: NDArray[Any] | None
    remarks: list[str]
    given: np.dtype[Any]
    """Type of the inputs as they were given."""
    columns: tuple[str, ...]
    """Names of the columns of a DataFrame."""


class OwnData(DataSet):
    """Samples that were given as Python objects.

    Parameters
    ----------
    test_fraction : float
        Share held out, unless training and test samples were given apart: of each user's samples,
        without users of each class.
    split_seed : int
        Chooses the hold-out; it is not the scenario's seed.
    """

    kind: str
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.3
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False
    sha256: ClassVar[str]
    train_rows: ClassVar[Rows]
    test_rows: ClassVar[Rows | None]
    remarks: ClassVar[list[str]]

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        samples = self.read(None)
        rows = len(samples.train), len(samples.test)
        return Outline(samples.input_shape, samples.num_classes, *rows, samples.input_limit)

    def load(self, folder: Path | None) -> Samples:
        """The samples; they are in memory, so nothing is read or kept."""
        return self.read(folder)

    def read(self, folder: Path | None) -> Samples:
        """The samples; `folder` is ignored."""
        (x, y, users), apart = type(self).train_rows, type(self).test_rows
        if apart is None:
            strata = y if y.ndim == 1 and y.dtype == np.int64 else np.zeros(len(y), dtype=np.int64)
            by = strata if users is None else users
            train, test = hold_out(by, self.test_fraction, self.split_seed)
            notes = f"stratified hold-out of {self.test_fraction:g} by seed {self.split_seed}"
        else:
            train, test = np.split(np.arange(len(y) + len(apart.y)), [len(y)])
            x, y = np.concatenate([x, apart.x]), np.concatenate([y, apart.y])
            if users is not None and apart.users is not None:
                users = np.concatenate([users, apart.users])
            notes = "training and test samples as given"
        num_classes = int(y.max()) + 1 if y.dtype == np.int64 else 1
        return Samples(
            x=x,
            y=y,
            train=train,
            test=test,
            num_classes=num_classes,
            class_names=tuple(map(str, range(num_classes))) if y.dtype == np.int64 else (),
            name=self.kind,
            notes=notes,
            groups=users,
            input_limit=int(x.max()) + 1 if x.dtype == np.int64 and x.min() >= 0 else None,
            sha256=type(self).sha256,
            columns=ColumnUse(remarks=self.remarks) if self.remarks else None,
        )


def data_kind(data: Any, name: str) -> type[OwnData]:
    """A kind of data set.

    Parameters
    ----------
    data : object
        Arrays or tensors `(x, y)` or `(x, y, users)`: inputs (n, ...), targets (n, ...) and whole
        numbers or texts (n,) that say whose a sample is; a map-style torch `Dataset` of such pairs
        or triples; or two of these, `(train, test)`. Whole numbers stay whole: inputs are tokens
        then, targets classes. Other targets are numbers to predict.
    name : str
        Of the kind.

    Raises
    ------
    DataError
        If it is nothing of the sort, or inputs and targets do not fit together.
    """
    apart = isinstance(data, list | tuple) and len(data) == 2 and all(map(_is_set, data))
    parts = list(data) if apart else [data]
    read = [_rows(part, name) for part in parts]
    found = _numbered(read, name)
    kind: Any = (Literal[name], name)
    made: type[OwnData] = create_model(name, __base__=OwnData, kind=kind)
    made.train_rows, made.test_rows = found[0], found[1] if apart else None
    made.sha256 = _digest(found)
    made.remarks = list(dict.fromkeys(text for part in read for text in part.remarks))
    if apart:
        names = [one.columns for one in read]
        if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
            raise DataError(
                f'[data] kind = "{name}": training and test inputs have their columns in another '
                "order; give test[train.columns]"
            )
        kinds = [str(one.given) for one in read]
        if kinds[0] != kinds[1] and "uint8" in kinds:
            raise DataError(
                f'[data] kind = "{name}": training inputs are of type {kinds[0]}, test inputs of '
                f"type {kinds[1]}, and bytes of pixels stay from 0 to 255; convert both alike"
            )
        for what, one, other in (
            ("inputs", found[0].x, found[1].x),
            ("targets", found[0].y, found[1].y),
        ):
            if one.shape[1:] != other.shape[1:] or one.dtype != other.dtype:
                raise DataError(
                    f'[data] kind = "{name}": training {what} have shape {one.shape[1:]} and type '
                    f"{one.dtype}, test {what} {other.shape[1:]} and {other.dtype}; they must be "
                    "alike"
                )
    return made


def _digest(parts: Sequence[Rows]) -> str:
    """SHA-256 of arrays with their types and shapes: they lie in no file that could be hashed."""
    digest = hashlib.sha256()
    for values in (values for part in parts for values in part):
        if values is None:
            digest.update(b"none")
            continue
        digest.update(f"{values.dtype.str} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def _is_set(part: Any) -> bool:
    return isinstance(part, Dataset) or (isinstance(part, list | tuple) and len(part) in (2, 3))


def _rows(part: Any, name: str) -> Part:
    """Inputs, targets and users of one part, and remarks."""
    where = f'[data] kind = "{name}"'
    if isinstance(part, TensorDataset):
        part = part.tensors
    elif isinstance(part, Dataset):
        part = _items(part, where)
    if not (isinstance(part, Sequence) and len(part) in (2, 3)):
        raise DataError(
            f"{where}: is a {type(part).__name__}; give (inputs, targets), a torch Dataset, or two "
            "of these, (train, test)"
        )
    given = dict(zip(("inputs", "targets", "users"), part, strict=False))
    _require_one_index(given, where)
    for what, values in given.items():
        _require_dense(values, what, where)
        _require_one_shape(values, what, where)
    x, y = _array(part[0]), _array(part[1])
    users = _array(part[2]) if len(part) == 3 else None
    _require_alike(x, y, where)
    if users is not None and (users.shape != (len(x),) or users.dtype.kind not in "biuU"):
        raise DataError(
            f"{where}: users have shape {users.shape} and type {users.dtype}; give (n,) whole "
            "numbers or texts"
        )
    if users is not None and users.dtype.kind == "U" and (np.char.strip(users) == "").any():
        row = int(np.argmax(np.char.strip(users) == ""))
        raise DataError(f"{where}: the user of sample {row} is empty; leave out such samples")
    is_whole = x.dtype.kind in "biu" and x.dtype != np.uint8
    remarks = [*_rounding("inputs", x), *(_rounding("targets", y) if y.dtype.kind == "f" else ())]
    # A copy: what becomes of the caller's arrays changes no scenario.
    inputs = np.array(x, dtype=np.int64 if is_whole else np.float32, order="C")
    targets = y.astype(np.int64 if y.dtype.kind in "biu" else np.float64)
    names = tuple(map(str, getattr(part[0], "columns", ())))
    return Part(inputs, targets, users, [*remarks, *_telling(x, y)], x.dtype, names)


def _require_one_index(given: Mapping[str, Any], where: str) -> None:
    """Refuse a DataFrame and Series of the same rows in another order: they go by their places."""
    found = [(what, getattr(values, "index", None)) for what, values in given.items()]
    known = [
        (what, list(index))
        for what, index in found
        if index is not None and hasattr(index, "equals")
    ]
    for what, index in known[1:]:
        first = known[0][1]
        if index != first and len(index) == len(first) and set(index) == set(first):
            raise DataError(
                f"{where}: {known[0][0]} and {what} have the same index in another order, and rows "
                f"go by their places here; give {what}.loc[{known[0][0]}.index]"
            )


def _telling(x: NDArray[Any], y: NDArray[Any]) -> list[str]:
    """Remarks on columns that number the rows or are the target, which a model need only read."""
    if x.ndim != 2 or y.ndim != 1 or x.shape[1] > _MOST_COLUMNS:
        return []
    found = []
    for k, values in enumerate(x.T):
        if numbers_rows(values, [len(values)]):
            found.append(f"inputs[:, {k}] number the rows: an index tells the class of sorted rows")
        elif np.ptp(values) and np.array_equal(values, y):
            found.append(f"inputs[:, {k}] are the targets")
    return found


def _rounding(what: str, values: NDArray[Any]) -> list[str]:
    """Remarks on columns whose offset takes the digits of their differences in float32."""
    flat = values.reshape(len(values), -1)
    if flat.dtype.kind != "f" or flat.dtype.itemsize < 4:
        return []
    low, high = flat.min(axis=0).astype(np.float64), flat.max(axis=0).astype(np.float64)
    steps = np.spacing(np.maximum(np.abs(low), np.abs(high)).astype(np.float32))
    coarse = np.flatnonzero((high > low) & (0.5 * steps > _COARSE * (high - low)))
    found = [
        f"{what}[:, {k}] span {high[k] - low[k]:,.6g} and are rounded to steps of {steps[k]:,.6g} "
        "(float32): subtract what all of them have in common"
        for k in coarse[:_TOLD]
    ]
    more = len(coarse) - _TOLD
    return [*found, f"{more:,} more columns of {what} are rounded so"] if more > 0 else found


def _items(data: Any, where: str) -> list[Any]:
    """All items of a torch data set, as arrays."""
    if isinstance(data, IterableDataset) or not isinstance(data, Sized):
        raise DataError(f"{where}: has no length; give a map-style Dataset, or arrays")
    count = len(data)
    if not count:
        raise DataError(f"{where}: is empty")
    items = [cast(Any, data)[i] for i in range(count)]
    if not all(isinstance(item, list | tuple) and len(item) in (2, 3) for item in items):
        raise DataError(
            f"{where}: its items are {type(items[0]).__name__}; an item must be (x, y), or "
            "(x, y, user)"
        )
    _require_same_again(data, items, where)
    columns = list(zip(*items, strict=False))
    for what, column in zip(("x", "y"), columns, strict=False):
        shapes = sorted({_array(value).shape for value in column})
        if len(shapes) > 1:
            raise DataError(
                f"{where}: {what} of its items have shapes {shapes[0]} and {shapes[1]}; give all "
                "one shape, such as by a transform or by filling up"
            )
    return [np.stack([_array(value) for value in column]) for column in columns]


def _require_same_again(data: Any, items: Sequence[Any], where: str) -> None:
    """Refuse a data set that draws: its items are read once, and would stay as they came."""
    for i in range(0, len(items), -(-len(items) // _READ_AGAIN)):
        first, again = items[i], cast(Any, data)[i]
        for one, other in zip(first, again, strict=True):
            a, b = _array(one), _array(other)
            if a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                raise DataError(
                    f"{where}: item {i} is another one each time it is read; items are read once, "
                    "for training and tests, so what a transform draws would stay as it came. Take "
                    "random transforms out, and augment minibatches in a loss, as "
                    "netsim.api.augmented_cross_entropy does"
                )


def _numbered(parts: list[Part], name: str) -> list[Rows]:
    """Parts whose users have numbers, the same in training and test samples."""
    given = [part.users for part in parts if part.users is not None]
    if not given:
        return [Rows(part.x, part.y, None) for part in parts]
    if len(given) < len(parts):
        raise DataError(f'[data] kind = "{name}": say users of test samples, too, or of none')
    known = np.unique(np.concatenate(given))
    numbers = [np.searchsorted(known, users).astype(np.int64) for users in given]
    return [Rows(part.x, part.y, of) for part, of in zip(parts, numbers, strict=True)]


def _array(value: Any) -> NDArray[Any]:
    """An array of a value; of an image by a table of colours, numbers would be places there."""
    if isinstance(value, Image.Image) and value.mode in ("P", "PA"):
        raise DataError(
            "[data]: images of mode P are numbers of colours in a table, and no colours; give "
            'image.convert("RGB"), such as by a transform'
        )
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    plain = value.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def _require_dense(values: Any, what: str, where: str) -> None:
    """Refuse arrays in which not every entry is a value: sparse ones, and masked entries."""
    is_tensor = isinstance(values, torch.Tensor)
    if (is_tensor and values.layout != torch.strided) or hasattr(values, "toarray"):
        name = "to_dense" if is_tensor else "toarray"
        raise DataError(f"{where}: {what} are sparse; give {what}.{name}()")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise DataError(
            f"{where}: {what} have masked entries, the first in sample {row}; leave out such "
            f"samples, or give {what}.filled(value)"
        )


def _require_one_shape(values: Any, what: str, where: str) -> None:
    """Refuse sequences in a sequence, or in an array of objects, that differ in length."""
    is_objects = isinstance(values, np.ndarray) and values.dtype == object
    if not is_objects and not isinstance(values, list | tuple):
        return
    try:
        shapes = [np.shape(cast(Any, _array(value))) for value in values]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{where}: {what} can't be made an array ({one_line(error)}); give all samples one "
            "shape, such as by filling up"
        ) from None
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is not None:
        raise DataError(
            f"{where}: {what} of sample {odd} have shape {shapes[odd]}, those of sample 0 "
            f"{shapes[0]}; give all samples one shape, such as by filling up"
        )


def _require_alike(x: NDArray[Any], y: NDArray[Any], where: str) -> None:
    """Refuse inputs and targets that are not a sample each."""
    if x.ndim < 2 or y.ndim < 1 or len(x) != len(y) or not len(x):
        raise DataError(
            f"{where}: inputs have shape {x.shape}, targets {y.shape}; give (n, ...) of as many "
            "samples"
        )
    for what, values in (("inputs", x), ("targets", y)):
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"{where}: {what} of dtype {values.dtype} are no numbers; give arrays of integers "
                "or floating-point numbers, of classes their numbers from 0 on"
            )
        sound = in_float32(values)
        if not sound.all():
            row = int(np.argwhere(~sound)[0][0])
            raise DataError(
                f"{where}: {what} of dtype {values.dtype} are not all finite numbers of at most "
                f"{LARGEST:.1g}, the first other is in sample {row}; leave out such samples"
            )
    if y.dtype.kind in "biu" and (y.min() < 0 or y.max() >= _MOST_CLASSES):
        raise DataError(
            f"{where}: targets of whole numbers are classes, from 0 to {_MOST_CLASSES - 1}; give "
            "numbers to predict as floating-point numbers"
        )
