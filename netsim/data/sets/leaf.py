"""JSON files of LEAF: samples by user (Caldas et al., "LEAF: A Benchmark for Federated Settings").

A file is an object with `users` (names), `num_samples` (a number for each) and `user_data`
(`{user: {"x": [...], "y": [...]}}`).
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.data import files
from netsim.data.sets import DataSet, Samples
from netsim.data.split import hold_out
from netsim.errors import DataError, one_line
from netsim.registry import Count, Index
from netsim.traces import bounded
from netsim.traces.files import parsed_json

_HOW_TO_GET = (
    "run preprocess.sh of https://github.com/TalwalkarLab/leaf, and copy its data/train and "
    "data/test into the folder"
)
_LAYOUTS = ("{part}/*.json", "data/{part}/*.json", "{part}.json")


class Leaf(DataSet):
    """Samples by user; `groups` are the users. Read from the data folder (`[data] path`).

    Files are `train/*.json` and `test/*.json`, as LEAF's `preprocess.sh` writes them; where there
    is no `test`, samples of each user are held out. Inputs are numbers, or texts of one length
    (Shakespeare): then the characters and the one that follows are a sequence, for `next_token`.

    Parameters
    ----------
    shape : tuple of int, optional
        Shape of one input, into which a flat list of as many numbers is arranged. FEMNIST has (1,
        28, 28).
    learn : {"classes", "numbers"}, optional
        Type of targets. Absent: whole numbers and texts are classes, others are numbers.
    test_fraction : float
        Share of each user's samples held out, where there is no test file.
    split_seed : int
        Chooses them. It is not the scenario's seed.
    """

    kind: Literal["leaf"] = "leaf"
    shape: tuple[Count, ...] = ()
    learn: Literal["classes", "numbers"] | None = None
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    split_seed: Index = 0

    needs_files: ClassVar[bool] = True

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        layouts = [layout.format(part="train") for layout in _LAYOUTS]
        found = files.find_files("leaf", folder, ("",), [*layouts, "*.json"], _HOW_TO_GET)
        assert folder is not None
        test = [layout.format(part="test") for layout in _LAYOUTS]
        has_test = any(next(folder.glob(layout), None) for layout in test)
        held = files.find_files("leaf", folder, ("",), test, "") if has_test else []
        users: list[str] = []
        x: list[Any] = []
        y: list[Any] = []
        counts = []
        for part in (found, held):
            for file in part:
                if has_test and part is found and file in held:
                    continue
                _add(file, users, x, y)
            counts.append(len(y))
        names, groups = np.unique(np.array(users, dtype=str), return_inverse=True)
        if not len(names):
            raise DataError(f"{found[0]}: has no samples")
        groups = groups.astype(np.int64)
        if has_test:
            train, rest = np.split(np.arange(counts[1]), [counts[0]])
            note = "training and test samples as the files have them"
        else:
            train, rest = hold_out(groups, self.test_fraction, self.split_seed)
            note = f"hold-out of {self.test_fraction:g} of each user's by seed {self.split_seed}"
        if not len(train) or not len(rest):
            raise DataError(f"{found[0]}: {len(train)} training and {len(rest)} test samples")
        inputs, targets, classes = self._arrays(found[0], x, y)
        return Samples(
            x=inputs,
            y=targets,
            train=train,
            test=rest,
            num_classes=max(1, len(classes)),
            class_names=classes,
            name="leaf",
            notes=f"{len(names)} users; {note}",
            groups=groups,
            input_limit=int(inputs.max()) + 1 if inputs.dtype == np.int64 else None,
        )

    def _arrays(
        self, file: Path, x: Sequence[Any], y: Sequence[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], tuple[str, ...]]:
        """Inputs, targets and names of classes.

        Parameters
        ----------
        file : Path
            For messages.
        x, y : sequence
            As the files have them.
        """
        if all(isinstance(text, str) for text in x):
            return _sequences(file, x, y), np.zeros(len(x), dtype=np.int64), ("text",)
        try:
            inputs = np.array(x, dtype=np.float32)
        except (ValueError, TypeError):
            raise DataError(
                f"{file}: x are not lists of equally many numbers; texts of many lengths and names "
                "of images have to be made into numbers first"
            ) from None
        inputs = inputs.reshape(len(inputs), -1)
        if not np.isfinite(inputs).all():
            raise DataError(f"{file}: x has values that are nan or infinite")
        if self.shape:
            if math.prod(self.shape) != inputs.shape[1]:
                raise DataError(
                    f"[data] shape = {list(self.shape)}: {file.name} has {inputs.shape[1]} numbers "
                    f"a sample, not {math.prod(self.shape)}"
                )
            inputs = inputs.reshape(len(inputs), *self.shape)
        if not all(isinstance(value, int | float | str) for value in y):
            raise DataError(f"{file}: y are not numbers or texts, one a sample")
        is_text = any(isinstance(value, str) for value in y)
        targets = np.array([str(value) for value in y] if is_text else y)
        if is_text and self.learn == "numbers":
            raise DataError(f'[data] learn = "numbers": {file.name} has texts for y')
        numbers = targets.dtype.kind == "f" if self.learn is None else self.learn == "numbers"
        if numbers:
            return inputs, targets.astype(np.float64), ()
        known, ranks = np.unique(targets, return_inverse=True)
        return inputs, ranks.astype(np.int64), tuple(map(str, known.tolist()))


def _sequences(file: Path, x: Sequence[str], y: Sequence[Any]) -> NDArray[np.int64]:
    """Characters of each text and of what follows it, as numbers in the order of code points."""
    whole = [text + str(after) for text, after in zip(x, y, strict=True)]
    lengths = {len(text) for text in whole}
    if len(lengths) > 1 or lengths <= {0, 1}:
        raise DataError(
            f"{file}: x are texts of {min(lengths) - 1} to {max(lengths) - 1} characters; they "
            "have to be of one length"
        )
    codes = np.array(whole).view(np.uint32).reshape(len(whole), -1)
    return np.unique(codes, return_inverse=True)[1].reshape(codes.shape).astype(np.int64)


def _add(file: Path, users: list[str], x: list[Any], y: list[Any]) -> None:
    """Append the samples of a file, and the user of each.

    Parameters
    ----------
    file : Path
    users, x, y : list
        One entry a sample.

    Raises
    ------
    DataError
        If it is not of the format.
    """
    try:
        content = bounded.read_plain_file(file, str(file), bounded.MOST_BYTES)
        found = parsed_json(content)
    except (*bounded.BROKEN, RecursionError) as error:
        raise bounded.unreadable_error(str(file), error) from error
    for key, kind in (("users", list), ("user_data", dict)):
        if not isinstance(found, dict) or not isinstance(found.get(key), kind):
            raise DataError(
                f'{file}: has no "{key}"; a file of LEAF has users, num_samples and user_data'
            )
    sizes = found.get("num_samples", [None] * len(found["users"]))
    if not isinstance(sizes, list) or len(sizes) != len(found["users"]):
        raise DataError(f"{file}: num_samples must have a number for each of users")
    named = Counter(map(str, found["users"])).most_common(1)
    if named and named[0][1] > 1:
        raise DataError(
            f"{file}: users has {one_line(named[0][0])} {named[0][1]} times, whose samples would "
            "count as often; name each once"
        )
    for user, size in zip(found["users"], sizes, strict=True):
        own = found["user_data"].get(user) if isinstance(user, str) else None
        inputs, targets = (own.get(k) if isinstance(own, dict) else None for k in "xy")
        if not isinstance(inputs, list) or not isinstance(targets, list):
            raise DataError(f"{file}: user {one_line(user)} has no lists x and y in user_data")
        if len(inputs) != len(targets) or size not in (None, len(targets)):
            raise DataError(
                f"{file}: user {one_line(user)} has {len(inputs)} x and {len(targets)} y, "
                f"num_samples says {size}"
            )
        users += [user] * len(targets)
        x += inputs
        y += targets
