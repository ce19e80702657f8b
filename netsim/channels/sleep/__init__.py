"""When radios sleep; one law a file, its name is its `kind`.

A radio that sleeps hears nothing; its node computes on. The rules are those of duty-cycled medium
access: who has something to send wakes its own radio for it (B-MAC: Polastre, Hill, Culler, SenSys
2004); who hears a message stays awake to its end and only then follows its schedule again (S-MAC:
Ye, Heidemann, Estrin, INFOCOM 2002, section III); a sender does not know when others sleep.

What is sent to one that sleeps:

- The attempts of a unicast are lost until it wakes, and from then on heard: with few attempts a
  packet the message is lost before that (`asleep`), with `arq = "unlimited"` it is repeated until
  its receiver is awake, as in X-MAC (Buettner et al., SenSys 2006) and its like.
- A broadcast that begins while it sleeps is missed as a whole (`asleep`), as by one that is busy.
- A reply is heard: who has asked listens until it comes.

The state of a radio is a function of (seed, node, time). One that stays awake to the end of a
message hears by it no other that begins beyond its schedule. Where messages take radios
(`netsim.channels.mac`), one to a sleeper takes that one's, too: it sends when that is over.
`discovery = "oracle"` does not know who sleeps.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from netsim.registry import Component
from netsim.rng import Streams


class Rhythm(NamedTuple):
    """When one radio is awake: periodically, from the beginning of each period on.

    Attributes
    ----------
    period_ns, awake_ns : int
        0 < `awake_ns` < `period_ns`.
    offset_ns : int
        How much of a period has passed at time 0.
    """

    period_ns: int
    awake_ns: int
    offset_ns: int

    @property
    def share_asleep(self) -> float:
        """For how much of the time it sleeps."""
        return 1.0 - self.awake_ns / self.period_ns

    def wakes_ns(self, time_ns: int) -> int:
        """The first instant from one on at which the radio is awake."""
        within = (time_ns + self.offset_ns) % self.period_ns
        return time_ns if within < self.awake_ns else time_ns + self.period_ns - within

    def asleep_ns(self, from_ns: int, to_ns: int) -> int:
        """For how much of an interval it sleeps."""
        return self._asleep_by(to_ns + self.offset_ns) - self._asleep_by(from_ns + self.offset_ns)

    def _asleep_by(self, time_ns: int) -> int:
        periods, within = divmod(time_ns, self.period_ns)
        return periods * (self.period_ns - self.awake_ns) + max(0, within - self.awake_ns)


class Sleep(Component):
    """Base of the laws of sleep."""

    @abstractmethod
    def rhythm(self, node: int, streams: Streams) -> Rhythm | None:
        """When the radio of a node is awake; None: always."""


def rhythms(laws: Sequence[Sleep], streams: Streams) -> tuple[Rhythm | None, ...]:
    """Those of nodes 0, 1, ... by the law of each; empty if none of them ever sleeps."""
    found = tuple(law.rhythm(node, streams) for node, law in enumerate(laws))
    return found if any(found) else ()
