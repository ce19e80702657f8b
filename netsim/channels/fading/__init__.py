"""One fading model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import Literal

from netsim.channels import Real
from netsim.registry import Component, Positive


class Fading(Component):
    """Small-scale fading: the factor by which a received power differs from its mean.

    A model is the inverse of a distribution function and holds no state. Whoever asks draws `u`
    keyed by the unordered pair and the block of time, so that the gain is reciprocal and is a
    function of time, however often and in whatever order it is asked for.

    Attributes
    ----------
    hold : {"coherence", "exchange"}
        How long one gain lasts: `coherence` for a block of `coherence_s`, as channels do;
        `exchange` from a wake-up until its broadcast has ended, as the KD-PDFL paper implies.
    coherence_s : float
        Length of a block [s].
    """

    hold: Literal["exchange", "coherence"] = "coherence"
    coherence_s: Positive = 0.1

    @abstractmethod
    def power_gain(self, u: Real) -> Real:
        """Power gain with mean 1.

        Parameters
        ----------
        u : float or ndarray
            Uniform in [0, 1).

        Returns
        -------
        float or ndarray
            Linear gain, increasing in `u`, shaped alike.
        """
