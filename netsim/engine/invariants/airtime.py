"""No radio sends for longer than there is time."""

from netsim.engine.invariants import Invariant
from netsim.links.radio.mac.flight import Flight

SLACK_NS = 10
"""Rounding, a message."""


class Airtime(Invariant):
    """Time for which each radio has sent messages that have ended, against the time until then.

    Base stations send any number of messages at a time, each over a part of the band. Not where
    the scenario changes on its way.
    """

    def watch(self) -> None:
        scenario = self.run.world.scenario
        if scenario.radio is None or scenario.radio.mac.has_base_stations or scenario.changes:
            return
        self._sent_ns = [0] * len(self.run.parts)
        for link in self.run.radios:
            link.flights_ended.append(self._ended)

    def _ended(self, flight: Flight) -> None:
        now, node = self.run.clock.now, flight.src
        lasted_ns = now - flight.begins_ns
        if flight.airtime_ns > max(0, lasted_ns) + SLACK_NS:
            what = "a message has been on the air for longer than it took, in ns"
            self.broken(f"node {node}", now, what, flight.airtime_ns, lasted_ns)
        self._sent_ns[node] += flight.airtime_ns
        if self._sent_ns[node] > now * (1 + 1e-6) + SLACK_NS:
            what = "its radio has sent for longer than there was time, in ns"
            self.broken(f"node {node}", now, what, self._sent_ns[node], now)
