"""No radio sends and receives at once, or twice at once, where messages take radios as a whole."""

from netsim.engine.invariants import Invariant
from netsim.links.radio.mac.flight import Flight


class HalfDuplex(Invariant):
    """Check of the end of each radio's work, against the beginning of its next message.

    Not where the scenario changes on its way.
    """

    def watch(self) -> None:
        scenario = self.run.world.scenario
        self._until: dict[int, tuple[int, int]] = {}
        if scenario.radio is not None and scenario.radio.mac.exclusive and not scenario.changes:
            for link in self.run.radios:
                link.flights_ended.append(self._ended)

    def _ended(self, flight: Flight) -> None:
        now, begins_ns = self.run.clock.now, flight.begins_ns
        heard = [r.tx.dst for r in flight.receptions if r.unreachable is None]
        for node in (flight.src, *heard):
            until_ns, other = self._until.get(node, (0, -1))
            if begins_ns < until_ns:
                what = (
                    f"its radio was busy with a message of node {other} when one of node "
                    f"{flight.src} began, in ns"
                )
                self.broken(f"node {node}", now, what, begins_ns, until_ns)
            self._until[node] = max(until_ns, now), flight.src
