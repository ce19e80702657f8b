"""The only randomness of an algorithm: draws keyed by seed, node, purpose and number."""

from collections import defaultdict
from collections.abc import Sequence

from netsim.rng import Streams


class Draws:
    """Random draws of one node, counted by purpose.

    Parameters
    ----------
    node_id : int
    streams : Streams
    """

    def __init__(self, node_id: int, streams: Streams) -> None:
        self._id, self._streams = node_id, streams
        self._drawn: dict[str, int] = defaultdict(int)

    def uniform(self, purpose: str, n: int, common: bool = False) -> list[float]:
        """See `Node.uniform`."""
        key, ids = ("common", ()) if common else ("node", (self._id,))
        name = f"{key}/{purpose}"
        first = self._drawn[name]
        self._drawn[name] = first + n
        draws = self._streams.uniforms(name, *ids, counters=range(first, first + n))
        return [float(u) for u in draws]

    def seed(self, purpose: str) -> int:
        """Return the next seed of a stream of seeds, below 2**63."""
        name = f"seed/{purpose}"
        count = self._drawn[name]
        self._drawn[name] = count + 1
        return self._streams.key(name, self._id, count) & 0x7FFFFFFFFFFFFFFF

    def permutation(self, purpose: str, ids: Sequence[int]) -> list[int]:
        """`ids` in a random order, a new one at every call."""
        draws = self.uniform(purpose, len(ids))
        return [ids[k] for k in sorted(range(len(ids)), key=draws.__getitem__)]
