"""Arrays that algorithms save with `node.keep`: `kept/<name>.npz` in the run folder."""

from collections.abc import Mapping
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.whole_files import make_folder, write_whole

Arrays = Mapping[str, NDArray[Any]]


def write(folder: Path, kept: Mapping[int, Arrays]) -> None:
    """Write one file for each name, with one array `node_<id>` for each node that saved it.

    `folder`: created if there is anything to write. `kept`: for each node its arrays by name.
    """
    by_name: dict[str, dict[str, NDArray[Any]]] = {}
    for node, arrays in kept.items():
        for name, values in arrays.items():
            by_name.setdefault(name, {})[f"node_{node}"] = values
    for name, columns in by_name.items():
        make_folder(folder)

        def save(file: RawIOBase, columns: Arrays = columns) -> None:
            np.savez(file, **columns)  # type: ignore[arg-type]

        write_whole(folder / f"{name}.npz", save)
