"""One rate model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod

from netsim.registry import Component


class Rate(Component):
    """How fast bits leave the sender during an attempt."""

    @abstractmethod
    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Rate at which a link of this quality is used.

        Parameters
        ----------
        snr : float
            Signal-to-noise ratio over `bandwidth_hz`, linear.
        bandwidth_hz : float
            Channel bandwidth [Hz].

        Returns
        -------
        float
            Rate [bit/s]; 0.0 where the link cannot be used.
        """
