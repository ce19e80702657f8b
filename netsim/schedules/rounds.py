"""Rounds with a barrier: the papers' synchronous setting."""

from typing import Annotated, ClassVar, Literal

from netsim.errors import ProtocolError
from netsim.registry import Duration, Plausible, Recurs
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule


class Rounds(Schedule):
    """All nodes wake together; a round ends when all are done or at its deadline.

    Attributes
    ----------
    interval_s
        Least virtual time of a round: an ideal network plays `horizon_s / interval_s` rounds if the
        nodes' work in a round takes no longer; otherwise the run warns. If a round would begin at
        the horizon, nodes wake once more, to mix what has arrived. Messages and steps that they
        begin then are counted, although they end after the run: 150 s of rounds of 10 s have local
        training 16 times.
    deadline_s
        Longest time of a round: it then ends without the nodes that are not done. Absent: it waits
        for all.
    """

    barrier: ClassVar[bool] = True
    schedule: Literal["rounds"] = "rounds"
    interval_s: Annotated[Duration, Recurs("rounds", per_node=True), Plausible(in_run=True)] = 1.0
    deadline_s: Duration | None = None

    def clock(self, streams: Streams, nodes: int) -> Clock:
        raise ProtocolError("rounds start when nodes are ready, not by a clock")
