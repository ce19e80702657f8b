"""Time division: every node has a slot of its own in a frame.

A message waits for its sender's next slot, half a frame on average, and is then sent in one slot of
every frame, an attempt that does not fit into what is left of a slot over several: work of q slots
and a part r, 0 < r <= 1, of another takes q frames and r slots. Attempts meet the channel as if
they were spread evenly over the frames, so up to a frame early or late.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netsim.channels.mac import Mac, Medium, Turns
from netsim.errors import ScenarioError
from netsim.registry import Count, Duration
from netsim.units import NS_PER_S


class Tdma(Mac):
    """Each node sends in its own slot only, and listens in the slots of the others.

    Attributes
    ----------
    slot_s : float
        Length of a slot [s].
    slots : int or None
        Number of slots of a frame, at least one for each node. Absent: the number of nodes.
    """

    kind: Literal["tdma"] = "tdma"
    exclusive: ClassVar[bool] = False
    slot_s: Annotated[Duration, Field(le=1e6)] = 1e-3
    slots: Count | None = None

    def medium(self, contenders: int, nodes: int) -> Medium:
        """One slot of a frame, whether the others use theirs or not."""
        return Medium(slowdown=float(self._slots(nodes)))

    def wait_ns(self, node: int, nodes: int, time_ns: int) -> int:
        # The slot of node i begins i slots after the frame.
        slots, slot_ns = self._slots(nodes), self.slot_s * NS_PER_S
        frame_ns = round(slots * slot_ns)
        return (round(node * slot_ns) - time_ns) % frame_ns

    def turns(self, nodes: int) -> Turns:
        return Turns(self.slot_s * NS_PER_S, self._slots(nodes))

    def require_slots(
        self, nodes: int, distance_m: Callable[[int, int, int], float] | None
    ) -> None:
        if self.slots is None:
            return
        needed = max(self.slot_of_each(nodes, distance_m), default=0) + 1
        if self.slots < needed:
            raise ScenarioError(
                f"[radio.mac] slots = {self.slots}: is less than the {needed} that the {nodes} "
                f"nodes with a radio need; state {needed} or more, or leave it out"
            )

    def _slots(self, needed: int) -> int:
        return self.slots or needed
