"""A few attempts at each packet; what is lost then leaves a hole."""

from typing import ClassVar, Literal

from netsim.channels.arq import Arq, Decode, Sending
from netsim.channels.arq.hole import Hole
from netsim.registry import Count


class Starting(Arq):
    """Attempts are sampled as `hole` does, a block of the channel at a time.

    Attributes
    ----------
    attempts : int
        At one packet, the first included.
    """

    kind: Literal["starting"] = "starting"
    attempts: Count = 3
    acknowledged: ClassVar[bool] = True

    @property
    def limit(self) -> int | None:
        """Attempts at one packet; None: any number."""
        return self.attempts

    def begin(self, packets: int, want_mask: bool = False, decode: Decode | None = None) -> Sending:
        """Begin a message; see `netsim.channels.arq.Sending` for a law of one's own."""
        return Hole(max_attempts=self.attempts).begin(packets, want_mask, decode)
