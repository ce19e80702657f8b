"""Sleep of radios; one law a file, its name is its `kind`.

A radio that sleeps receives nothing; its node computes on. The rules are those of duty-cycled
medium access: a sender wakes its own radio (B-MAC: Polastre, Hill, Culler, SenSys 2004); a receiver
stays awake to the end of a message, and then follows its schedule again (S-MAC: Ye, Heidemann,
Estrin, INFOCOM 2002, section III); a sender does not know when others sleep.

What is sent to a node whose radio sleeps:

- The attempts of a unicast are lost until it wakes: with few attempts at a packet the message is
  lost before that (`asleep`), with `arq = "unlimited"` it is repeated until its receiver is awake,
  as in X-MAC (Buettner et al., SenSys 2006).
- A broadcast that begins while it sleeps is missed as a whole (`asleep`).
- A reply is received: a node that has asked stays awake until the answer comes.

The state of a radio is a function of (seed, node, time). A radio that stays awake to the end of a
message receives no other message that begins outside its schedule. Where messages take radios
(`netsim.channels.mac`), a message to a sleeping radio takes it, too, so its node can't send
meanwhile.
`discovery = "oracle"` does not know who sleeps.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from netsim.registry import Component
from netsim.rng import Streams


class Rhythm(NamedTuple):
    """Wake times of one radio: periodically, from the beginning of each period on.

    Attributes
    ----------
    period_ns, awake_ns : int
        Length of a period, and of the time awake at its beginning: 0 < `awake_ns` < `period_ns`.
    offset_ns : int
        How much of a period has passed at time 0.
    """

    period_ns: int
    awake_ns: int
    offset_ns: int

    @property
    def share_asleep(self) -> float:
        """Share of the time for which it sleeps."""
        return 1.0 - self.awake_ns / self.period_ns

    def wakes_ns(self, time_ns: int) -> int:
        """The first instant from one on at which the radio is awake."""
        within = (time_ns + self.offset_ns) % self.period_ns
        return time_ns if within < self.awake_ns else time_ns + self.period_ns - within

    def sleeps_ns(self, time_ns: int) -> int:
        """Time at which a radio that is awake at an instant falls asleep."""
        return time_ns + self.awake_ns - (time_ns + self.offset_ns) % self.period_ns

    def asleep_ns(self, from_ns: int, to_ns: int) -> int:
        """Return the time [ns] of an interval for which it sleeps."""
        return self._asleep_by(to_ns + self.offset_ns) - self._asleep_by(from_ns + self.offset_ns)

    def _asleep_by(self, time_ns: int) -> int:
        periods, within = divmod(time_ns, self.period_ns)
        return periods * (self.period_ns - self.awake_ns) + max(0, within - self.awake_ns)


class Sleep(Component):
    """Base of the laws of sleep."""

    @abstractmethod
    def rhythm(self, node: int, streams: Streams) -> Rhythm | None:
        """Return the wake times of a node's radio; None: it is always awake."""


def rhythms(laws: Sequence[Sleep], streams: Streams) -> tuple[Rhythm | None, ...]:
    """The rhythms of nodes 0, 1, ..., one a law; empty if none of them ever sleeps."""
    found = tuple(law.rhythm(node, streams) for node, law in enumerate(laws))
    return found if any(found) else ()
