"""One rate model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import ClassVar

from netsim.registry import Component


class Rate(Component):
    """Rate at which a sender sends the bits of an attempt: base of the models."""

    adapts: ClassVar[bool] = False
    """True if unicasts follow acknowledgements (`netsim.links.radio.mac.rate_adaptation`), not
    `bits_per_s`."""
    longest_bytes: ClassVar[int | None] = None
    """Longest packet, headers included, that its source has; None: it states none."""

    @property
    def choice_delay_s(self) -> float:
        """Age of the SNR by which a sender chooses the rate [s]; packets meet the present SNR."""
        return 0.0

    @abstractmethod
    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Rate that a sender chooses.

        Parameters
        ----------
        snr : float
            Signal-to-noise ratio over `bandwidth_hz` that the sender knows of, linear.
        bandwidth_hz : float
            Channel bandwidth [Hz].

        Returns
        -------
        float
            Rate [bit/s]; 0.0 where the link cannot be used.
        """

    def slowest_bps(self, bandwidth_hz: float) -> float | None:
        """Lowest rate [bit/s] that a sender chooses by its SNR; None: the rate ignores the SNR."""
        return None

    def overhead_s(self, packet_bits: int, bandwidth_hz: float) -> float:
        """Time that a packet of so many bits takes beside them [s], `attempt_overhead_s` aside."""
        return 0.0

    def needed_snr(self, rate_bps: float, bandwidth_hz: float) -> float | None:
        """Least SNR, linear, at which a rate [bit/s] is chosen; None: the rate ignores the SNR."""
        return None
