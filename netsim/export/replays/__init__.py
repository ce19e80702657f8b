"""Files with which another simulator plays a run's messages again; one simulator a file.

A module states `write(run, folder)`, which fills a new folder and returns sentences on what the
other simulator plays otherwise. Beside the messages it writes what
netsim made of them, so that the two can be compared without the run folder.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.export.formats import Layout
from netsim.recording import run_folder
from netsim.recording.schema import ARRIVED
from netsim.recording.whole_files import require_place, written_whole
from netsim.registry import did_you_mean, public_modules
from netsim.scenario.tables import Scenario

_COLUMNS = ("t_sent_s", "t_done_s", "src", "dst", "bits", "outcome")


@dataclass(frozen=True, eq=False, kw_only=True)
class Messages:
    """A run's messages, in the order of sending.

    Attributes
    ----------
    t_sent_s, t_done_s : (M,) float64
    src, dst : (M,) int
    bytes : (M,) int
        Without headers.
    outcome : (M,) str
    left_out : int
        How many of the run are not among them, as nothing of them went out.
    broadcast : bool
        Whether some arrived by bits that are counted for another receiver.
    """

    t_sent_s: NDArray[np.float64]
    t_done_s: NDArray[np.float64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    bytes: NDArray[np.int64]
    outcome: NDArray[np.object_]
    left_out: int
    broadcast: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A run that is over.

    Attributes
    ----------
    folder : Path
        The run folder.
    scenario : Scenario
    layout : Layout
        Where its nodes were, and what linked them.
    """

    folder: Path
    scenario: Scenario
    layout: Layout

    def messages(self) -> Messages:
        """Its messages.

        Raises
        ------
        ScenarioError
            If they were not logged, or nothing was sent.
        """
        run_folder.require(self.folder, "messages")
        rows = run_folder.read(self.folder, "messages")
        if not len(rows["t_sent_s"]):
            raise ScenarioError(f"{self.folder}: has no messages: none had ended when the run did")
        bits = rows.get("bits_transmitted", rows["attempts"])  # older runs have none
        sent = (rows["attempts"] > 0) | (bits > 0)  # some links count bits and no attempts
        arrived = np.isin(rows["outcome"].astype(str), ARRIVED)
        order = np.lexsort((rows["src"], rows["t_sent_s"]))
        order = order[sent[order]]
        in_order = {name: rows[name][order] for name in _COLUMNS}
        return Messages(
            t_sent_s=in_order["t_sent_s"],
            t_done_s=in_order["t_done_s"],
            src=in_order["src"].astype(np.int64),
            dst=in_order["dst"].astype(np.int64),
            bytes=-(-in_order["bits"].astype(np.int64) // 8),
            outcome=in_order["outcome"],
            left_out=int((~sent).sum()),
            broadcast=bool((arrived & (bits == 0)).any()),
        )


def write(run: Run, wanted: str, folder: Path | None) -> tuple[Path, list[str]]:
    """Write what a simulator needs.

    Parameters
    ----------
    wanted : str
        The simulator's name.
    folder : Path or None
        None: NAME and the simulator's name, in the working folder.

    Returns
    -------
    folder : Path
    differs : list of str
        What that simulator plays otherwise than the run did.

    Raises
    ------
    ScenarioError
        If there is no such simulator, it can't play the run, or the folder is there already.
    """
    known = public_modules(__name__)
    module = known.get(wanted)
    if module is None:
        raise ScenarioError(
            f"--for {wanted}: no such simulator; there are {', '.join(known)}"
            + did_you_mean(wanted, known)
        )
    folder = Path(f"{run.layout.name}.{wanted}") if folder is None else folder
    require_place(folder, "--out")
    if folder.exists():
        raise ScenarioError(f"--out {folder}: is there already; name another folder")
    try:
        with written_whole(folder) as partial:
            differs: list[str] = module.write(run, partial)
    except OSError as error:
        raise ScenarioError(f"--out {folder}: can't be written: {error.strerror}") from error
    return folder, differs
