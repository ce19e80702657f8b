"""One packet_error model a file; the file's name is its `kind` in a scenario."""

import math
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from netsim.registry import Component


class PacketError(Component):
    """The decoding rule of a link: a link has one, never two at once."""

    per_rate: ClassVar[bool] = False
    """True if its threshold is that of the rate in use."""

    by_rate: ClassVar[bool] = False
    """True if it has another rule at another rate: then `at_rate` comes first."""

    by_snr: ClassVar[bool] = True
    """False if its losses are the same whatever the SNR, and so whoever interferes."""

    def open_file(self, folder: Path | None) -> None:
        """Read the file that the rule is made of, if it is; it lies there, or in `folder`."""
        return

    def at_rate(self, rate_bps: float) -> "PacketError":
        """The rule for attempts at one rate [bit/s]."""
        return self

    @abstractmethod
    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        """Probability that one attempt at one packet fails.

        Parameters
        ----------
        snr : float
            Signal-to-noise ratio during the attempt, linear.
        packet_bits : int
            Size of the packet [bit].
        threshold : float
            The radio's SNR threshold, linear; if `per_rate`, that of the rate in use where the
            rate model has one.

        Returns
        -------
        float
            In [0, 1]. Attempts within one fade fail independently of each other with this same
            probability.
        """


def of_packet(part_error: float, parts: float) -> float:
    """Loss probability of a packet whose parts (bits) fail independently: 1 - (1 - p)^parts."""
    if part_error >= 1.0:
        return 1.0
    return -math.expm1(parts * math.log1p(-part_error))
