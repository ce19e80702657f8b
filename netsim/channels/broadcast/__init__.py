"""Reactions of a sender to lost packets of a broadcast; one rule a file, named as its `kind`."""

from abc import abstractmethod

from netsim.registry import Component


class Broadcast(Component):
    """Base of the rules."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Greatest number of times that a packet is sent."""

    @property
    def feedback(self) -> int:
        """Bits with which each receiver tells, after a round, what it lacks."""
        return 0
