"""One fading model a file; the file's name is its `kind` in a scenario.

How fast a channel changes is stated by exactly one of `coherence_s`, `doppler_hz` (the largest
Doppler shift fD) and `speed_m_per_s` (v; fD = v f / c); without any, a block lasts 0.1 s.

`process = "blocks"`: independent gains for blocks of `coherence_s`, else of 0.423 / fD. With that
length the gains average out as fast as those of the Clarke spectrum for a message of some three
periods of fD; to match the variance of the time that a message takes, shorter messages would need
0.2 / fD, messages of tens of periods 0.6 / fD. One length for all makes the gain a function of
time, the same for every message; it is also the customary coherence time (Rappaport,
Wireless Communications, 2002, eq. 5.40.c).

`process = "sum_of_sinusoids"`: the Clarke spectrum itself, exact in time: the model of Xiao, Zheng
and Beaulieu ("Novel sum-of-sinusoids simulation models for Rayleigh and Rician fading channels",
IEEE Trans. Wireless Commun. 2006), a function of the pair's tones and of time. Messages see it in
steps of 0.05 / fD.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from netsim.channels import Real
from netsim.registry import Component, Plausible, Positive, Recurs
from netsim.units import SPEED_OF_LIGHT_M_PER_S

COHERENCE_S = 0.1
"""Length of a block where the scenario states nothing."""
BLOCK_PERIODS = 0.423
"""Length of a block in periods of fD."""
STEP_PERIODS = 0.05
"""Length of a step of the sum of sinusoids: the gain's correlation over one is J0(0.1 pi)^2."""


class Fading(Component):
    """Small-scale fading: the factor by which a received power differs from its mean.

    A model has no state. Its caller draws the uniforms, keyed by the unordered pair and, for
    blocks, by the block of time. So the gain is reciprocal and a function of time, however often
    and in whatever order it is asked for.

    Attributes
    ----------
    hold : {"coherence", "exchange"}
        Time for which one gain lasts: for the coherence time, or from a wake-up of either end to
        the next ("exchange"), as the KD-PDFL paper implies.
    coherence_s : float or None
        Coherence time: length of a block of constant gain. Absent: that of `doppler_hz` or
        `speed_m_per_s`, else 0.1 s.
    doppler_hz : float or None
        fD, the largest Doppler shift, in place of `coherence_s`. Absent: `coherence_s` or
        `speed_m_per_s` hold. Source: Rappaport, Wireless Communications, 2002, eq. 5.40.c: a block
        lasts 0.423 / fD.
    speed_m_per_s : float or None
        v, relative speed of the two ends, in place of `coherence_s`: fD = v f / c. It does not move
        nodes. Absent: `coherence_s` or `doppler_hz` hold.
    process : {"blocks", "sum_of_sinusoids"}
        Course of gains over time: independent draws for blocks of the coherence time ("blocks"), or
        the Clarke spectrum ("sum_of_sinusoids"). Source: Xiao, Zheng and Beaulieu, IEEE Trans.
        Wireless Commun. 2006.
    tones : int
        Number of sinusoids of a pair with `process = "sum_of_sinusoids"`: with fewer than 64, long
        averages vary too little.
    """

    hold: Literal["exchange", "coherence"] = "coherence"
    coherence_s: Annotated[Positive, Recurs("blocks of fading")] | None = None
    doppler_hz: Annotated[Positive, Recurs("blocks of fading", rate=True)] | None = None
    speed_m_per_s: Annotated[Positive | None, Plausible(most=350.0, why="faster than sound")] = None
    process: Literal["blocks", "sum_of_sinusoids"] = "blocks"
    tones: Annotated[int, Field(ge=64)] = 64

    @model_validator(mode="after")
    def _one_measure_of_time(self) -> Self:
        said = [
            key
            for key in ("coherence_s", "doppler_hz", "speed_m_per_s")
            if getattr(self, key) is not None
        ]
        if len(said) > 1:
            raise ValueError(f"{' and '.join(said)} say the same thing; leave all but one out")
        if said and said[0] != "coherence_s" and self.hold == "exchange":
            raise ValueError(
                f'{said[0]} is read only with hold = "coherence": a gain that is held for an '
                "exchange lasts from one wake-up to the next"
            )
        if self.process == "sum_of_sinusoids":
            if not said or said[0] == "coherence_s":
                raise ValueError('process = "sum_of_sinusoids" needs doppler_hz or speed_m_per_s')
            if self.dominant is None:
                raise ValueError(
                    'process = "sum_of_sinusoids" is for "rayleigh" and "rician"; '
                    'use process = "blocks"'
                )
        return self

    def unread_keys(self) -> Mapping[str, str]:
        found = {}
        if self.process == "blocks":
            found["tones"] = 'it is read with process = "sum_of_sinusoids"'
        if self.hold == "exchange":
            found["coherence_s"] = 'with hold = "exchange" a gain lasts from wake-up to wake-up'
        return found

    def open_file(self, folder: Path | None) -> None:
        """Read the file that the model is made of, if it is; it lies there, or in `folder`."""
        return

    @property
    def continuous(self) -> bool:
        """Return whether the gain is `gain_at` of tones and time, not one draw a block."""
        return self.process == "sum_of_sinusoids"

    def doppler(self, carrier_hz: float) -> float | None:
        """Largest Doppler shift fD [Hz]; None if the scenario states none."""
        if self.speed_m_per_s is not None:
            return self.speed_m_per_s * carrier_hz / SPEED_OF_LIGHT_M_PER_S
        return self.doppler_hz

    def constant_s(self, carrier_hz: float) -> float:
        """Time for which the gain counts as constant [s]: a block, or a step of the sinusoids."""
        doppler_hz = self.doppler(carrier_hz)
        if doppler_hz is None:
            return self.coherence_s or COHERENCE_S
        periods = BLOCK_PERIODS if self.process == "blocks" else STEP_PERIODS
        return periods / doppler_hz

    @property
    def dominant(self) -> float | None:
        """Power of a dominant path over that of all others, linear; None: not a model of paths."""
        return None

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

    @property
    def tone_draws(self) -> int:
        """Number of uniforms that a pair needs for `gain_at`."""
        return 2 * self.tones + 2

    def gain_at(
        self, u: NDArray[np.float64], doppler_hz: float | None, times_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Power gain as a function of time: |h(t)|^2, see `amplitude_at`; where `continuous`.

        Parameters
        ----------
        u : (pairs, tone_draws) array
            Uniform in [0, 1).
        doppler_hz : float or None
            fD [Hz]; None where the scenario states none, for models that don't need it.
        times_s : (times,) array
            In s.

        Returns
        -------
        (pairs, times) array
            Of mean 1.
        """
        assert doppler_hz is not None
        h = self.amplitude_at(u, doppler_hz, times_s)
        gain: NDArray[np.float64] = h.real**2 + h.imag**2
        return gain

    def amplitude_at(
        self, u: NDArray[np.float64], doppler_hz: float, times_s: NDArray[np.float64]
    ) -> NDArray[np.complex128]:
        """Complex amplitude as a function of time: a sum of sinusoids.

        h(t) = Ns^(-1/2) sum exp(j (2 pi fD t cos a_n + phi_n)), a_n = (2 pi n + theta_n) / Ns, all
        theta_n, phi_n uniform in [-pi, pi); a dominant path is one more tone.

        Parameters
        ----------
        u : (pairs, tone_draws) array
            Uniform in [0, 1).
        doppler_hz : float
        times_s : (times,) array

        Returns
        -------
        (pairs, times) array of complex
            Of mean square 1.
        """
        k = self.dominant
        assert k is not None
        turns = 2.0 * math.pi * u - math.pi
        theta, phi = turns[:, : self.tones], turns[:, self.tones : 2 * self.tones]
        arrival = (2.0 * math.pi * np.arange(1, self.tones + 1) + theta) / self.tones
        passed = 2.0 * math.pi * doppler_hz * times_s
        phase = passed[:, None] * np.cos(arrival)[:, None, :] + phi[:, None, :]
        h: NDArray[np.complex128] = np.cos(phase).sum(axis=-1) + 1j * np.sin(phase).sum(axis=-1)
        h /= math.sqrt(self.tones * (k + 1.0))
        if k > 0.0:
            direct = passed * np.cos(turns[:, -2:-1]) + turns[:, -1:]
            h += math.sqrt(k / (k + 1.0)) * np.exp(1j * direct)
        return h
