"""What the command line of a run says beside its scenario: kept while the run is unfinished."""

import json
from dataclasses import dataclass
from pathlib import Path

from netsim.errors import ScenarioError
from netsim.recording.run_folder import json_file
from netsim.recording.whole_files import make_folder, write_text

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
    components : tuple of Path
        Folders of components of the user's own.
    """

    sub_folders: bool
    timing_only: bool = False
    components: tuple[Path, ...] = ()

    def write(self, run_folder: Path) -> None:
        """Keep it in the folder of a run."""
        folder = run_folder / FOLDER
        make_folder(folder)
        text = json.dumps(
            {
                "sub_folders": self.sub_folders,
                "timing_only": self.timing_only,
                "components": [str(path.absolute()) for path in self.components],
            }
        )
        write_text(folder / FILE, text + "\n")

    @classmethod
    def read(cls, run_folder: Path) -> "Command":
        """How the run of a folder was begun, as far as that can be read."""
        try:
            found = json_file(run_folder / FOLDER / FILE, most_bytes=MOST_BYTES)
            return cls(
                found["sub_folders"], found["timing_only"], tuple(map(Path, found["components"]))
            )
        except (FileNotFoundError, KeyError, ScenarioError):
            return cls(sub_folders=not (run_folder / "environment.json").is_file())
