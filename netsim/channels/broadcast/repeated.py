"""A reliable broadcast: packets that a receiver lacks are sent again, in rounds.

In the first round all packets are sent; then every receiver reports the packets that it lacks, and
the next round has the packets that at least one of them lacks. A receiver keeps every packet of a
round that it lacks and decodes. With n receivers that lose a packet with probability p each time, a
packet is sent

    E = sum over k from 0 to R - 1 of 1 - (1 - p^k)^n

times in the mean, R being the limit (Towsley, Kurose and Pingali, "A comparison of sender-initiated
and receiver-initiated reliable multicast protocols", IEEE J. Sel. Areas Commun. 1997, with R
infinite): it is sent a (k + 1)-th time unless each of the n has it after k times.

A round has the rate that suits the receivers that still lack packets; it waits for its sender's
radio as any message does, behind those that wait already. Receivers that are busy, asleep or off
miss the round; the next round serves them. Reports are never lost. A broadcast that asks for
replies is sent once, because the replies report what has arrived.
"""

from typing import Literal

from netsim.channels.broadcast import Broadcast
from netsim.registry import Count, Index


class Repeated(Broadcast):
    """Rounds until every receiver has every packet.

    Attributes
    ----------
    max_rounds : int
        Greatest number of times that a packet is sent.
    feedback_bits : int
        Size of the feedback of each listening receiver after each round; it takes the time of an
        attempt of that size, which counts as airtime of the sender. 0: none, as with
        acknowledgements that are part of `attempt_overhead_s`.
    """

    kind: Literal["repeated"] = "repeated"
    max_rounds: Count = 7
    feedback_bits: Index = 0

    @property
    def rounds(self) -> int:
        """`max_rounds`."""
        return self.max_rounds

    @property
    def feedback(self) -> int:
        """`feedback_bits`."""
        return self.feedback_bits
