"""What the command line of a run says beside its scenario: kept while the run is unfinished."""

import json
from dataclasses import dataclass
from pathlib import Path

from netsim.recording.whole_files import write_text

FOLDER, FILE = "journal", "command.json"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Command:
    """How a run was begun.

    Attributes
    ----------
    sub_folders : bool
        Whether each algorithm has a folder of its own.
    timing_only : bool
        Without tensor work.
    algorithms : Path or None
        A folder of the user's own algorithm files.
    """

    sub_folders: bool
    timing_only: bool = False
    algorithms: Path | None = None

    def write(self, run_folder: Path) -> None:
        """Keep it in the folder of a run."""
        folder = run_folder / FOLDER
        folder.mkdir(exist_ok=True)
        path = None if self.algorithms is None else str(self.algorithms.absolute())
        text = json.dumps(
            {
                "sub_folders": self.sub_folders,
                "timing_only": self.timing_only,
                "algorithms": path,
            }
        )
        write_text(folder / FILE, text + "\n")

    @classmethod
    def read(cls, run_folder: Path) -> "Command":
        """How the run of a folder was begun, as far as that can be read."""
        try:
            with (run_folder / FOLDER / FILE).open("rb") as file:
                found = json.loads(file.read(MOST_BYTES))
            path = found["algorithms"]
            return cls(
                found["sub_folders"] is True,
                found["timing_only"] is True,
                None if path is None else Path(path),
            )
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return cls(sub_folders=not (run_folder / "environment.json").is_file())
