"""Files that a run was made of, by its `environment.json`: inputs, its algorithm, components."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.traces.input_files import InputFile

SORTS = {"inputs": "input file", "algorithm": "algorithm", "components": "component"}
"""Lists of files in `environment.json`, and what one of each is called."""


def files(environment: Mapping[str, Any], name: str) -> Iterator[InputFile]:
    """Yield the files of one list.

    `name`: one of `SORTS`.

    Raises
    ------
    ScenarioError
        If it is no list of files.
    """
    for entry in environment.get(name, ()):
        try:
            yield InputFile(entry["file"], entry["bytes"], entry["sha256"])
        except KeyError:
            raise ScenarioError(f"environment.json: {name} is no list of files") from None


class Changes:
    """Files that are others now than when runs were played; each is read once.

    One that is missing is none: a run may have been played on another machine.
    """

    def __init__(self) -> None:
        self._seen: dict[InputFile, bool] = {}

    def since(self, run: Path, *sorts: str) -> list[str]:
        """Describe what has changed since a run was begun, one a file.

        `*sorts`: of `SORTS`.

        Raises
        ------
        ScenarioError
            If its `environment.json` is not what a run writes.
        """
        environment = run_folder.environment(run)
        return [
            f"{SORTS[sort]} {file.file}"
            for sort in sorts
            for file in files(environment, sort)
            if self._has_changed(file)
        ]

    def _has_changed(self, file: InputFile) -> bool:
        if file not in self._seen:
            try:
                self._seen[file] = not file.is_as_it_was()
            except (OSError, ValueError):
                self._seen[file] = False
        return self._seen[file]
