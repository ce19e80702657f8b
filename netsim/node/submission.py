"""Recording a node's jobs with the scheduler, and the checks that several verbs share."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from netsim.errors import ProtocolError
from netsim.learning.architecture import Architecture
from netsim.learning.calling_place import Place, calling_line
from netsim.learning.refs import NEEDS_A_MODEL, Cell, Ref
from netsim.learning.scheduler import Scheduler
from netsim.learning.shards import Shards


class Submission:
    """Recorder of the jobs of one node.

    Parameters
    ----------
    node_id : int
    scheduler : Scheduler
    """

    def __init__(self, node_id: int, scheduler: Scheduler) -> None:
        self._id, self._scheduler = node_id, scheduler

    def submit(
        self,
        work: Any,
        inputs: tuple[Ref, ...],
        shapes: Sequence[Any],
        models: Sequence[Any] = (),
        place: Place | None = None,
    ) -> list[Ref]:
        """Record a job; Refs to its results, which are computed when they are needed.

        Parameters
        ----------
        work : Work
            What is to be done.
        inputs : tuple of Ref
            The node's own.
        shapes : sequence of tuple of int
            One a result.
        models : sequence of Architecture or None
            One a result: set where it is a whole model. May be shorter than `shapes`.
        place : Place or None
            The calling line, for jobs that may fail when they run.

        Raises
        ------
        ProtocolError
            If an input is another node's.
        """
        me, scheduler = self._id, self._scheduler
        for ref in inputs:
            if ref.owner != me:
                ref.require_owner(me)
        cells = [
            Cell(scheduler, tuple(shape), architecture)
            for shape, architecture in zip_longest(shapes, models)
        ]
        scheduler.submit(work, me, inputs, cells, place)
        return [Ref(me, cell) for cell in cells]


def architecture_of(ref: Ref) -> Architecture:
    """The architecture of a whole model.

    Raises
    ------
    ProtocolError
        If the Ref is a part of a model or another value.
    """
    if ref.architecture is None:
        raise ProtocolError(f"{NEEDS_A_MODEL}{calling_line()}")
    return ref.architecture


def require_samples(shards: Shards, node_id: int, split: str) -> int:
    """Refuse a node without samples in one of its splits.

    Parameters
    ----------
    shards : Shards
    node_id : int
    split : {"train", "validation", "test"}

    Returns
    -------
    int
        The number of the shard that the node has now.

    Raises
    ------
    ProtocolError
    """
    shard = shards.held[node_id]
    if len(getattr(shards.rows[shard], split, ())) == 0:
        raise ProtocolError(
            f"node {node_id} has no {split} samples; set [data] validation to cut some, or to a "
            "larger share"
        )
    return shard
