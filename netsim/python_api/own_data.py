"""Data of the user's own: arrays, or torch data sets, as a kind of data set."""

from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, create_model
from torch.utils.data import Dataset, TensorDataset

from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.errors import DataError
from netsim.registry import Index

Rows = tuple[NDArray[np.float32], NDArray[np.int64]]


class OwnData(DataSet):
    """Samples that were given as Python objects.

    Parameters
    ----------
    test_fraction : float
        Share of each class held out, unless training and test samples were given apart.
    split_seed : int
        Chooses the hold-out; it is not the scenario's seed.
    """

    kind: str
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.3
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False
    train_rows: ClassVar[Rows]
    test_rows: ClassVar[Rows | None]

    def outline(self) -> Outline:
        """What is known without reading anything."""
        samples = self.read(None)
        shape, classes = samples.input_shape, samples.num_classes
        return Outline(shape, classes, len(samples.train), len(samples.test))

    def load(self, folder: Path | None) -> Samples:
        """The samples; they are in memory, so nothing is read or kept."""
        return self.read(folder)

    def read(self, folder: Path | None) -> Samples:
        """The samples; `folder` is not looked at."""
        (x, y), apart = type(self).train_rows, type(self).test_rows
        if apart is None:
            train, test = hold_out(y, self.test_fraction, self.split_seed)
            notes = f"stratified hold-out of {self.test_fraction:g} by seed {self.split_seed}"
        else:
            more_x, more_y = apart
            train, test = np.split(np.arange(len(y) + len(more_y)), [len(y)])
            x, y = np.concatenate([x, more_x]), np.concatenate([y, more_y])
            notes = "training and test samples as given"
        num_classes = int(y.max()) + 1
        return Samples(
            x=x,
            y=y,
            train=train,
            test=test,
            num_classes=num_classes,
            class_names=tuple(map(str, range(num_classes))),
            name=self.kind,
            notes=notes,
        )


def data_kind(data: Any, name: str) -> type[OwnData]:
    """A kind of data set.

    Parameters
    ----------
    data : object
        Arrays or tensors `(x, y)`: inputs (n, ...) and class numbers (n,); a torch `Dataset` of
        such pairs; or two of these, `(train, test)`.
    name : str
        Of the kind.

    Raises
    ------
    DataError
        If it is nothing of the sort, or inputs and labels do not fit together.
    """
    apart = isinstance(data, list | tuple) and len(data) == 2 and all(map(_is_set, data))
    first, second = data if apart else (data, None)
    kind: Any = (Literal[name], name)
    made: type[OwnData] = create_model(name, __base__=OwnData, kind=kind)
    made.train_rows = _rows(first, name)
    made.test_rows = None if second is None else _rows(second, name)
    if made.test_rows is not None and made.test_rows[0].shape[1:] != made.train_rows[0].shape[1:]:
        raise DataError(
            f'[data] kind = "{name}": training inputs have shape {made.train_rows[0].shape[1:]}, '
            f"test inputs {made.test_rows[0].shape[1:]}; they must be alike"
        )
    return made


def _is_set(part: Any) -> bool:
    return isinstance(part, Dataset) or (isinstance(part, list | tuple) and len(part) == 2)


def _rows(part: Any, name: str) -> Rows:
    """Inputs and labels of one part."""
    if isinstance(part, TensorDataset):
        part = part.tensors
    elif isinstance(part, Dataset):
        if not isinstance(part, Sized):
            raise DataError(
                f'[data] kind = "{name}": has no length; give a map-style Dataset, or arrays'
            )
        pairs = [part[i] for i in range(len(part))]
        part = [np.stack([_array(x) for x, _ in pairs]), np.array([int(y) for _, y in pairs])]
    if not (isinstance(part, Sequence) and len(part) == 2):
        raise DataError(
            f'[data] kind = "{name}": is a {type(part).__name__}; give (inputs, labels), a torch '
            "Dataset, or two of these, (train, test)"
        )
    x, y = _array(part[0]), _array(part[1])
    _require_alike(x, y, name)
    return np.ascontiguousarray(x, dtype=np.float32), y.astype(np.int64)


def _array(value: Any) -> NDArray[Any]:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def _require_alike(x: NDArray[Any], y: NDArray[Any], name: str) -> None:
    """Refuse inputs and labels that are not a sample each."""
    where = f'[data] kind = "{name}"'
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not len(x):
        raise DataError(
            f"{where}: inputs have shape {x.shape}, labels {y.shape}; give (n, ...) and (n,) of as "
            "many samples"
        )
    if x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        raise DataError(f"{where}: inputs of dtype {x.dtype} are not all finite numbers")
    if y.dtype.kind not in "biuf" or (y < 0).any() or (y != y.astype(np.int64)).any():
        raise DataError(f"{where}: labels are not class numbers from 0 on")
