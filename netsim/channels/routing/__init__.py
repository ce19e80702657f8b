"""One routing metric a file; the file's name is its `kind` in a scenario.

A metric gives each link a cost, from what the link is on average; a unicast goes the way of least
total cost, hop by hop (`netsim.links.radio.relaying`). Broadcasts go to those who hear them.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from netsim.registry import Component, Count, Positive


class LinkQuality(NamedTuple):
    """A link on average over its fading, without other senders.

    Attributes
    ----------
    reachable : bool
        Whether its mean SNR is at or over the radio's threshold.
    delivery : float
        d: probability that an attempt at a full packet gets through, in [0, 1].
    attempt_s : float
        Time of such an attempt at the rate of the mean SNR [s]; 0 where there is none.
    """

    reachable: bool
    delivery: float
    attempt_s: float


class Routing(Component):
    """Choice of whether messages are relayed, and by which way.

    Attributes
    ----------
    update_s : float
        Time after which the next message makes netsim compute the routes again [s], if links change
        or nodes are switched: from the mean SNRs at that moment, without the nodes that are off.
    max_hops : int
        Greatest number of hops of a message; one that has not reached its receiver by then is lost
        (`outage`).
    """

    relays: ClassVar[bool] = True
    update_s: Positive = 1.0
    max_hops: Count = 32

    def unread_keys(self) -> Mapping[str, str]:
        return {} if self.relays else dict.fromkeys(("update_s", "max_hops"), "nothing is relayed")

    @abstractmethod
    def cost(self, link: LinkQuality) -> float:
        """Cost of a link, over 0; `math.inf`: no route takes it."""
