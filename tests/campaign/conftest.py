"""The folder of a run that is done, written by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write_run() -> Callable[..., None]:
    """(folder of an algorithm, state, summary) -> what a run of that state leaves behind."""

    def write(folder: Path, state: str = "done", **summary: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "status.json").write_text(json.dumps({"state": state}))
        if state == "done":
            (folder / "summary.json").write_text(json.dumps(summary))
            (folder / "checksums.json").write_text(json.dumps({"sha256": {}}))

    return write
