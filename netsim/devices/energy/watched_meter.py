"""An energy meter that also records when radios send and receive."""

from collections.abc import Sequence
from typing import Any

from netsim.devices.energy.meter import EnergyMeter
from netsim.recording.intervals import Intervals
from netsim.recording.schema import RECEIVE, TRANSMIT


class WatchedMeter(EnergyMeter):
    """Counts energy as any meter does, and tells the table of intervals.

    Parameters
    ----------
    intervals : Intervals
    *of_meter : object
        As `EnergyMeter` takes them.
    """

    def __init__(self, intervals: Intervals, *of_meter: Any) -> None:
        super().__init__(*of_meter)
        self._intervals = intervals

    def on_air(
        self,
        src: int,
        receivers: Sequence[int],
        from_ns: int,
        to_ns: int,
        airtime_ns: float,
        power: float = 1.0,
    ) -> None:
        """See `EnergyMeter.on_air`.

        Parameters
        ----------
        src, receivers, from_ns, to_ns, airtime_ns, power
            As there.
        """
        super().on_air(src, receivers, from_ns, to_ns, airtime_ns, power)
        now_ns, on_air = self._env.now, self._intervals.on_air
        on_air(now_ns, src, TRANSMIT, from_ns, to_ns, airtime_ns)
        for node in receivers:
            if node != src:
                on_air(now_ns, node, RECEIVE, from_ns, to_ns, airtime_ns)

    def count_reception(self, node: int, from_ns: int, to_ns: int, airtime_ns: float) -> None:
        """See `EnergyMeter.count_reception`.

        Parameters
        ----------
        node, from_ns, to_ns, airtime_ns
            As there.
        """
        super().count_reception(node, from_ns, to_ns, airtime_ns)
        self._intervals.on_air(self._env.now, node, RECEIVE, from_ns, to_ns, airtime_ns)
