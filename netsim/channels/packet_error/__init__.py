"""One packet_error model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod

from netsim.registry import Component


class PacketError(Component):
    """The decoding rule of a link: a link has one, never two at once."""

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
            The radio's SNR threshold, linear.

        Returns
        -------
        float
            In [0, 1]. Attempts within one fade fail independently of each other with this same
            probability.
        """
