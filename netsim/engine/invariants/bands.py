"""The messages of a cell have no more than its band."""

from netsim.channels.mac.ofdma import Ofdma
from netsim.engine.invariants import Invariant
from netsim.links.radio.mac.flight import Flight

SLACK = 1e-6
"""Shares that were divided by their sum may add up to a little more."""

SLACK_NS = 10
"""Rounding, a message."""


class Bands(Invariant):
    """The parts of its band that each base station gives to messages, in each direction.

    At any instant they add up to one at most. Over time, the sum over messages that have ended of
    part times duration is at most the time since the first of them began. Not checked where the
    scheduler sets shares block by block, nor in scenarios with `[[changes]]`.
    """

    def watch(self) -> None:
        scenario = self.run.world.scenario
        mac = None if scenario.radio is None else scenario.radio.mac
        if not isinstance(mac, Ofdma) or mac.shares_change or scenario.changes:
            return
        self._used: dict[tuple[int, bool], tuple[int, int, int]] = {}
        for link in self.run.radios:
            self._link = link
            link.flights_ended.append(self._ended)

    def _ended(self, flight: Flight) -> None:
        now, cells = self.run.clock.now, self._link.cells
        for base_station, uplink, parts in cells.band_shares():
            if sum(parts) > 1.0 + SLACK:
                what = f"parts of the band of its {'up' if uplink else 'down'}link add up to"
                self.broken(f"node {base_station}", now, what, sum(parts), 1.0)
        key = cells.pool_of(flight)
        used_ns, since_ns, count = self._used.get(key, (0, flight.begins_ns, 0))
        since_ns = min(since_ns, flight.begins_ns)
        self._used[key] = used_ns + flight.airtime_ns, since_ns, count + 1
        if used_ns + flight.airtime_ns > (now - since_ns) * (1.0 + SLACK) + SLACK_NS * (count + 1):
            what = "its band has been used for longer than there was time, in ns"
            self.broken(f"node {key[0]}", now, what, used_ns + flight.airtime_ns, now - since_ns)
