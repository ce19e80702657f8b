"""Differential privacy of local training: a clip of each sample's gradient, and noise."""

from typing import NamedTuple


class Privacy(NamedTuple):
    """DP-SGD's constants.

    Attributes
    ----------
    clip_norm : float
        C: largest L2 norm of one sample's gradient.
    noise_multiplier : float
        sigma: standard deviation of the noise over C.
    """

    clip_norm: float
    noise_multiplier: float
