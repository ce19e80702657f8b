"""Arrays that algorithms save with `node.keep`: `kept/<name>.npz` in the run folder."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.whole_files import make_folder, write_whole

Arrays = Mapping[str, NDArray[Any]]


def write(folder: Path, kept: Mapping[int, Arrays]) -> None:
    """Write one file for each name, with one array `node_<id>` for each node that saved it.

    Parameters
    ----------
    folder : pathlib.Path
        Created if there is anything to write.
    kept : mapping of int to mapping of str to numpy.ndarray
        For each node its arrays by name.
    """
    by_name: dict[str, dict[str, NDArray[Any]]] = {}
    for node, arrays in kept.items():
        for name, values in arrays.items():
            by_name.setdefault(name, {})[f"node_{node}"] = values
    for name, columns in by_name.items():
        make_folder(folder)
        write_whole(folder / f"{name}.npz", partial(_save, columns))


def _save(arrays: Arrays, path: Path) -> None:
    with path.open("wb") as file:  # given a path, numpy would append .npz to it
        np.savez(file, **arrays)  # type: ignore[arg-type]
