"""Fading over time and frequency: Rayleigh in every resource block, alike in neighbouring ones.

A tapped delay line whose taps are independent complex Gaussians of powers p_l (their sum is 1) and
delays tau_l has the frequency response H(f) = sum of a_l exp(-2 pi j f tau_l): at every f
|H|^2 is Exp(1), and between two frequencies that lie df apart

    E[H(f) H*(f + df)] = sum of p_l exp(2 pi j df tau_l)

The response at the middles of K resource blocks is drawn from exactly this covariance: its
eigenvectors, scaled, times independent complex Gaussians. Profiles:

- `exponential`: p(tau) = exp(-tau / s) / s, whose covariance is 1 / (1 - 2 pi j df s); of the
  powers, 1 / (1 + (2 pi df s)^2);
- `tdl_a`, `tdl_b`, `tdl_c`: the lines without sight of 3GPP TR 38.901, tables 7.7.2-1 to -3, delays
  times s;
- `independent`: every block fades by itself, as many papers assume.

A packet spans all blocks. What it meets is one effective SNR (`netsim.channels.effective_snr`):
`eesm` with the beta of the rate in use, or `capacity`; a Shannon rate is always the mean over the
blocks. `capacity` is also what rate adaptation sees as SNR.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from netsim.channels import Real
from netsim.channels.effective_snr import beta_of, capacity, eesm
from netsim.channels.fading import Fading
from netsim.registry import NonNegative, OffClock, Positive

Profile = Literal["exponential", "tdl_a", "tdl_b", "tdl_c", "independent"]

TDL_DELAYS_AND_POWERS_DB: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "tdl_a": (
        (0.0, 0.3819, 0.4025, 0.5868, 0.4610, 0.5375, 0.6708, 0.5750, 0.7618, 1.5375, 1.8978,
         2.2242, 2.1718, 2.4942, 2.5119, 3.0582, 4.0810, 4.4579, 4.5695, 4.7966, 5.0066, 5.3043,
         9.6586),
        (-13.4, 0.0, -2.2, -4.0, -6.0, -8.2, -9.9, -10.5, -7.5, -15.9, -6.6, -16.7, -12.4, -15.2,
         -10.8, -11.3, -12.7, -16.2, -18.3, -18.9, -16.6, -19.9, -29.7),
    ),
    "tdl_b": (
        (0.0, 0.1072, 0.2155, 0.2095, 0.2870, 0.2986, 0.3752, 0.5055, 0.3681, 0.3697, 0.5700,
         0.5283, 1.1021, 1.2756, 1.5474, 1.7842, 2.0169, 2.8294, 3.0219, 3.6187, 4.1067, 4.2790,
         4.7834),
        (0.0, -2.2, -4.0, -3.2, -9.8, -1.2, -3.4, -5.2, -7.6, -3.0, -8.9, -9.0, -4.8, -5.7, -7.5,
         -1.9, -7.6, -12.2, -9.8, -11.4, -14.9, -9.2, -11.3),
    ),
    "tdl_c": (
        (0.0, 0.2099, 0.2219, 0.2329, 0.2176, 0.6366, 0.6448, 0.6560, 0.6584, 0.7935, 0.8213,
         0.9336, 1.2285, 1.3083, 2.1704, 2.7105, 4.2589, 4.6003, 5.4902, 5.6077, 6.3065, 6.6374,
         7.0427, 8.6523),
        (-4.4, -1.2, -3.5, -5.2, -2.5, 0.0, -2.2, -3.9, -7.4, -7.1, -10.7, -11.1, -5.1, -6.8, -8.7,
         -13.2, -13.9, -13.9, -15.8, -17.1, -16.0, -15.7, -21.6, -22.8),
    ),
}  # fmt: skip
"""Delays over the delay spread, and powers [dB]."""

_LEAST_POWER = 1e-9
"""Share of the power that the eigenvectors which are left out have, each."""


class FrequencySelective(Fading):
    """Block fading in resource blocks.

    Attributes
    ----------
    resource_blocks : int
        K, number of resource blocks of the band; 50 are 10 MHz of LTE. At most 275, the greatest
        number of NR.
    profile : str
        Power over delay: exponential, one of the lines of TR 38.901, or blocks that fade
        independently. Source: 3GPP TR 38.901, tables 7.7.2-1 to -3.
    delay_spread_s : float
        s, root mean square of the delays; 0: all blocks are alike. Source: 3GPP TR 38.901, table
        7.7.3-1: 100 ns is its "nominal" one.
    mapping : {"eesm", "capacity"}
        Rule that combines the SNRs of the blocks into one.
    beta : float or None
        beta of EESM, at every rate. Absent: that of the NR scheme whose efficiency is nearest to
        the rate's.
    """

    kind: Literal["frequency_selective"] = "frequency_selective"
    resource_blocks: Annotated[int, Field(ge=1, le=275)] = 50
    profile: Profile = "exponential"
    delay_spread_s: Annotated[NonNegative, OffClock()] = 100e-9
    mapping: Literal["eesm", "capacity"] = "eesm"
    beta: Positive | None = None

    def unread_keys(self) -> Mapping[str, str]:
        found = dict(super().unread_keys())
        if self.profile == "independent":
            found["delay_spread_s"] = 'with profile = "independent" blocks fade by themselves'
        return found

    @model_validator(mode="after")
    def _in_blocks_of_time(self) -> Self:
        if self.process != "blocks":
            raise ValueError('process: frequency_selective fading has process = "blocks" only')
        if self.beta is not None and self.mapping != "eesm":
            raise ValueError('beta is read only with mapping = "eesm"')
        return self

    def power_gain(self, u: Real) -> Real:
        """Quantile of one block's gain, Exp(1); what several amount to is milder."""
        gain: Real = -np.log1p(-u)
        return gain

    def draws(self, bandwidth_hz: float) -> int:
        """Number of uniforms that a pair needs for a block of time."""
        return 2 * int(self._response(bandwidth_hz).shape[1])

    def block_gains(self, u: NDArray[np.float64], bandwidth_hz: float) -> NDArray[np.float64]:
        """Power gains of the resource blocks.

        Parameters
        ----------
        u : (pairs, draws) array
            Uniform in [0, 1).
        bandwidth_hz : float
            Of all blocks together [Hz].

        Returns
        -------
        (pairs, K) array
            Linear, each of mean 1.
        """
        amplitude, phase = np.sqrt(-np.log1p(-u[:, 0::2])), 2.0 * np.pi * u[:, 1::2]
        h = (amplitude * np.exp(1j * phase)) @ self._response(bandwidth_hz).T
        return np.asarray(h.real**2 + h.imag**2)

    def effective_snr(
        self, snr: NDArray[np.float64], efficiency: float | None = None
    ) -> NDArray[np.float64]:
        """The SNR of a flat channel on which a packet fares alike.

        Parameters
        ----------
        snr : (..., K) array
            Of the resource blocks, linear.
        efficiency : float or None
            Of the rate in use [bit/s/Hz]; None: of the most robust one.

        Returns
        -------
        (...) array
            Linear.
        """
        if self.mapping == "capacity":
            return capacity(snr)
        return eesm(snr, beta_of(efficiency) if self.beta is None else self.beta)

    def _response(self, bandwidth_hz: float) -> NDArray[np.complex128]:
        return _response(self.profile, self.delay_spread_s, self.resource_blocks, bandwidth_hz)


@lru_cache(maxsize=16)
def _response(
    profile: Profile, delay_spread_s: float, blocks: int, bandwidth_hz: float
) -> NDArray[np.complex128]:
    """Response in K blocks of r independent Gaussians of mean square 1: (K, r)."""
    if profile == "independent":
        return np.eye(blocks, dtype=np.complex128)
    spacing = 2.0j * np.pi * np.arange(blocks) * (bandwidth_hz / blocks) * delay_spread_s
    if profile == "exponential":
        correlation = 1.0 / (1.0 - spacing)
    else:
        delays, powers_db = (np.array(x) for x in TDL_DELAYS_AND_POWERS_DB[profile])
        powers = 10.0 ** (powers_db / 10.0)
        correlation = np.exp(spacing[:, None] * delays) @ (powers / powers.sum())
    lag = np.subtract.outer(np.arange(blocks), np.arange(blocks))
    covariance = np.where(lag <= 0, correlation[np.abs(lag)], correlation[np.abs(lag)].conj())
    power, vectors = np.linalg.eigh(covariance)
    taken = power > _LEAST_POWER * blocks
    found = vectors[:, taken] * np.sqrt(power[taken])
    # Rounding and what was left out must not change a block's mean gain.
    scaled: NDArray[np.complex128] = found / np.sqrt((np.abs(found) ** 2).sum(axis=1))[:, None]
    return scaled
