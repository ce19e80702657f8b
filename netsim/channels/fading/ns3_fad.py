"""Fading from a trace of ns-3's LTE module (`TraceFadingLossModel`, `.fad`).

A text file: one line a resource block, one column a sample of 1 ms, in dB. As in ns-3, every pair
follows the trace from a random sample on, for a window of 0.5 s, and then from another one. Unlike
there, a pair has the same fade both ways, and a band has one gain: the mean over its resource
blocks of the linear gains. A trace is played as it is, not scaled to a mean gain of 1.
"""

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr, model_validator

from netsim.channels import Real
from netsim.channels.fading import Fading
from netsim.registry import Count, Duration, FilePath
from netsim.traces.fad import read_fading
from netsim.traces.files import read_text


class Ns3Trace(Fading):
    """Fading as recorded; the keys of other fading models have no effect.

    Attributes
    ----------
    path : str
        The `.fad` file; `.gz` is unpacked.
    sample_s : float
        Time from one sample to the next [s].
    window_s : float
        Time for which a pair follows the trace before it continues at another place of it [s].
    resource_blocks : int or None
        Number of the trace's resource blocks in the band, from the first on. Absent: all.
    """

    kind: Literal["ns3_fad"] = "ns3_fad"
    path: FilePath
    sample_s: Duration = 1e-3
    window_s: Duration = 0.5
    resource_blocks: Count | None = None
    _gain: NDArray[np.float64] | None = PrivateAttr(default=None)
    _sorted: NDArray[np.float64] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _has_a_time_of_its_own(self) -> Self:
        for key in ("coherence_s", "doppler_hz", "speed_m_per_s"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is not read: the trace says how fast it changes")
        if self.process != "blocks" or self.hold != "coherence":
            raise ValueError("process and hold are not read: the trace is a function of time")
        return self

    def open_file(self, folder: Path | None) -> None:
        text = read_text(self.path, folder, "radio.fading")
        gain = (10.0 ** (read_fading(text, self.resource_blocks) / 10.0)).mean(axis=0)
        self._gain, self._sorted = gain, np.sort(gain)

    @property
    def gain(self) -> NDArray[np.float64]:
        """Mean linear gain of the band at each sample: (samples,)."""
        if self._gain is None:
            self.open_file(None)
        assert self._gain is not None
        return self._gain

    @property
    def continuous(self) -> bool:
        """True: the gain is a function of time."""
        return True

    @property
    def tone_draws(self) -> int:
        """Two: they give the start of every window."""
        return 2

    def constant_s(self, carrier_hz: float) -> float:
        """Time from one sample to the next."""
        return self.sample_s

    def power_gain(self, u: Real) -> Real:
        """Quantile of the trace's gains."""
        if self._sorted is None:
            self.open_file(None)
        values: Any = self._sorted
        found = values[np.minimum((np.asarray(u) * len(values)).astype(np.int64), len(values) - 1)]
        return float(found) if isinstance(u, float) else np.asarray(found)

    def gain_at(
        self, u: NDArray[np.float64], doppler_hz: float | None, times_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gain of the sample that a pair is at.

        Window w starts at the part frac(u_0 + w u_1) of the trace: uniform, and of any two windows
        independent.

        Parameters
        ----------
        u : (pairs, 2) array
            Uniform in [0, 1).
        doppler_hz : float or None
            Not read.
        times_s : (times,) array
            In s.
        """
        gain = self.gain
        sample = np.floor(times_s / self.sample_s + 1e-6).astype(np.int64)
        length = max(1, round(self.window_s / self.sample_s))
        window, passed = np.divmod(sample, length)
        starts = max(1, len(gain) - length)
        start = np.floor(((u[:, :1] + window * u[:, 1:]) % 1.0) * starts).astype(np.int64)
        return np.asarray(gain[(start + passed) % len(gain)])
