"""Command line of a run beside its scenario: kept while the run is unfinished."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from netsim.recording import checksums
from netsim.recording.json_files import json_file
from netsim.recording.whole_files import make_folder, write_text

FOLDER, FILE, SCENARIO = checksums.JOURNAL, "command.json", "scenario.json"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Command:
    """Command that began a run."""

    sub_folders: bool  # whether each algorithm has a folder of its own
    timing_only: bool = False  # without tensor work
    # whether figures and a page are drawn at its end
    figures: bool = True
    report: bool = True
    # whether an agent of the caller's takes decisions, which only the caller has
    agent: bool = False
    # of a fork: `original`, the folder of its run, `at_s` and `set`, the change
    fork: Mapping[str, Any] | None = None

    def write(self, run_folder: Path) -> None:
        """Keep it in the folder of a run."""
        folder = run_folder / FOLDER
        make_folder(folder)
        write_text(folder / FILE, json.dumps(asdict(self)) + "\n")

    @classmethod
    def read(cls, run_folder: Path) -> "Command":
        """Read how the run of a folder was begun, as far as it is kept.

        Raises
        ------
        ScenarioError
            If what is there is not what a run writes.
        """
        try:
            found = json_file(run_folder / FOLDER / FILE, most_bytes=MOST_BYTES)
            sub_folders, known = found.pop("sub_folders"), {one.name for one in fields(cls)}
            return cls(sub_folders, **{name: found[name] for name in known & found.keys()})
        except (FileNotFoundError, KeyError):
            of_one = ("environment.json", "status.json", f"{FOLDER}/checkpoint-*.json")
            return cls(sub_folders=not any(any(run_folder.glob(name)) for name in of_one))
