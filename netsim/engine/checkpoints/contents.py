"""Contents of a checkpoint of a run, as written to `journal/checkpoint-*.json`."""

from typing import Any, Literal

from netsim.learning.scheduler import Counters
from netsim.recording.parquet_parts import Extent
from netsim.registry import Index, Table

FORMAT = 2


class WrittenFile(Table):
    """A file of the journal, and what shows that it is whole.

    Attributes
    ----------
    name : str
    bytes : int
    sha256 : str
    """

    name: str
    bytes: Index
    sha256: str


class Group(Table):
    """Values of one type and shape, which lie one after the other in a file of values.

    Attributes
    ----------
    dtype : str
        As torch names it.
    shape : tuple of int
    strides : tuple of int or None
        In entries; None: contiguous.
    cells : tuple of int
        The number of each value's cell.
    """

    dtype: str
    shape: tuple[Index, ...]
    strides: tuple[Index, ...] | None
    cells: tuple[Index, ...]


class Moment(Table):
    """Position of a run between two events.

    Attributes
    ----------
    events, evaluations : int
        How many there had been.
    time_ns : int
    accuracy : float or None
        The task's main metric at the last evaluation.
    wall_s, evaluation_wall_s : float
        What the run, and evaluations in it, had taken.
    """

    events: Index
    evaluations: Index
    time_ns: Index
    accuracy: float | None
    wall_s: float
    evaluation_wall_s: float


class Checkpoint(Table):
    """All of a run that playing its events again without tensor work does not bring back.

    Attributes
    ----------
    format : int
    number : int
        How many checkpoints of the run there were before it.
    moment : Moment
    event_log_sha256 : str
        Of the events so far.
    extents : dict of str to Extent
        How far each table had been written.
    written : dict of str to str
        SHA-256 of every file of the run so far, by its name in the folder, as it was written.
    counters : Counters
        Of the scheduler.
    submitted : int
        Cells for which jobs had been submitted.
    pending : tuple of int
        Numbers of the jobs that had not run.
    again : tuple of int
        Cells whose values were left for later: their jobs run again.
    numbers : int
        Numbers that `node.value` had given.
    values : tuple of WrittenFile
        Where these numbers are.
    groups : tuple of Group
        The values that existed, in the order in which they lie in `cells`.
    cells : WrittenFile
    made_with : dict
        Versions and machine.
    """

    format: Literal[2] = 2
    number: Index
    moment: Moment
    event_log_sha256: str
    extents: dict[str, Extent]
    written: dict[str, str]
    counters: Counters
    submitted: Index
    pending: tuple[Index, ...]
    again: tuple[Index, ...]
    numbers: Index
    values: tuple[WrittenFile, ...]
    groups: tuple[Group, ...]
    cells: WrittenFile
    made_with: dict[str, Any]
