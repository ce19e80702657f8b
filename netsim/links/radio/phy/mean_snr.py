"""The mean SNR of every link as a function of time: path loss, shadowing and motion, not fading.

Nothing here has a state that advances: the mean SNR of a pair depends on the seed, on the pair and
on where its two ends are, never on what was asked before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.topology.mobility import HighTrack, SpaceTrack, Track
from netsim.traces.gains import Gains
from netsim.units import db_to_linear, to_ns

Nodes = Sequence[int] | NDArray[np.int64]

EVERY_PAIR_UP_TO = 1000
"""With more nodes than these, pairs beyond the radio's range are left out."""

_LONGEST = 1 << 20
"""Steps for which the mean SNR of a pair that is left out holds, at most."""
_SLACK = 0.25
"""Factor by which a search for neighbours is wider than the range, so that it holds in motion."""


_STEP_M = 1.0
"""Time is divided into steps in which no node moves farther than this."""
_STEP_OF_DECORRELATION = 0.1
"""... nor, with shadowing, than this fraction of its decorrelation distance."""


def lengths_m(vectors_m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of vectors, (n, 2) or (n, 3) [m]."""
    found: NDArray[np.float64] = reduce(np.hypot, vectors_m.T)
    return found


class MeanSnr(ABC):
    """Mean SNR of every link, without fading; of a node to itself, what its own sending drowns.

    Attributes
    ----------
    moving : bool
        Whether any of them ever changes.
    pairs_left_out : int
        Unordered pairs that are beyond the range at the start, and have mean SNR 0.
    """

    moving: bool = False
    pairs_left_out: int = 0

    @abstractmethod
    def snr(self, src: int, others: Nodes, time_ns: int) -> NDArray[np.float64]:
        """Mean SNR from one node to others.

        Parameters
        ----------
        src : int
        others : sequence or array of int
        time_ns : int

        Returns
        -------
        (len(others),) float64
            Linear; 0 for a pair that is left out.
        """

    def snr_towards(self, dst: int, senders: Nodes, time_ns: int) -> NDArray[np.float64]:
        """Mean SNR from some nodes to one.

        Parameters
        ----------
        dst : int
        senders : sequence or array of int
        time_ns : int

        Returns
        -------
        (len(senders),) float64
            Linear; 0 for a pair that is left out.
        """
        return np.array([self.pair_snr(int(i), dst, time_ns) for i in senders])

    @abstractmethod
    def pair_snr(self, src: int, dst: int, time_ns: int) -> float:
        """Mean SNR of one link.

        Parameters
        ----------
        src, dst : int
        time_ns : int

        Returns
        -------
        float
            Linear; 0 for a pair that is left out.
        """

    def nodes_in_range(self, src: int, others: Sequence[int], time_ns: int) -> Sequence[int]:
        """Nodes to which the link is not left out, in O(neighbours within range).

        Parameters
        ----------
        src : int
        others : sequence of int
            Among which to look.
        time_ns : int
        """
        return others

    def holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        """Return the next time [ns] at which the mean SNR of a link may change.

        Parameters
        ----------
        src, dst : int
        time_ns : int
            Now.

        Returns
        -------
        int or None
            [ns]; None: never.
        """
        return None

    def step_ends_ns(self, time_ns: int) -> int | None:
        """Return the next time [ns] at which the mean SNR of any link may change; None: never."""
        return None


class IidMeanSnr(MeanSnr):
    """Mean SNR of nodes without places: equal but for shadowing and transmit power.

    Parameters
    ----------
    radio : Radio
    mean_snr_db : tuple of float
        Of each sender [dB].
    streams : Streams
    """

    def __init__(self, radio: Radio, mean_snr_db: tuple[float, ...], streams: Streams) -> None:
        self._radio, self._streams = radio, streams
        self._mean_snr_db = mean_snr_db
        self._shadowed = radio.shadowing.drawn
        self._pair = lru_cache(maxsize=1 << 16)(self._of_pair)

    def snr(self, src: int, others: Nodes, time_ns: int) -> NDArray[np.float64]:
        mean = np.full(len(others), db_to_linear(self._mean_snr_db[src]))
        if self._shadowed:
            low, high = np.minimum(src, others), np.maximum(src, others)
            mean *= 10.0 ** (-shadow_db(self._radio, self._streams, low, high) / 10.0)
        return mean

    def pair_snr(self, src: int, dst: int, time_ns: int) -> float:
        return self._pair(src, dst)

    def _of_pair(self, src: int, dst: int) -> float:
        return float(self.snr(src, (dst,), 0)[0])


class PlacedMeanSnr(MeanSnr):
    """Mean SNR of nodes with places, which may move.

    Parameters
    ----------
    radio : Radio
    powers_dbm : tuple of float
        Transmit power of each node [dBm].
    positions_m : (N, 2) or (N, 3) float64
        Where they start [m].
    streams : Streams
    range_m : float
        With more than `EVERY_PAIR_UP_TO` nodes, `nodes_in_range` looks no farther than this, and
        pairs farther apart are left out; not so where senders interfere, which they do at any
        distance.
    track : Track or None
        How they move; None: none does.
    heights_m : sequence of float
        Of each node [m], if `track` has none; empty: distances are those along the ground.

    Raises
    ------
    ScenarioError
        If shadowing is to change with places and nothing says over what distance.
    """

    def __init__(
        self,
        radio: Radio,
        powers_dbm: tuple[float, ...],
        positions_m: NDArray[np.float64],
        streams: Streams,
        range_m: float,
        track: Track | None = None,
        heights_m: Sequence[float] = (),
    ) -> None:
        self._radio, self._streams, self._powers_dbm = radio, streams, powers_dbm
        self._dbm, self._noise_dbm = np.array(powers_dbm), radio.noise_dbm
        self._same_power = len(set(powers_dbm)) == 1
        self._positions_m = positions_m
        self._heights_m = np.array(heights_m) if len(heights_m) else None
        self._range_m = range_m
        self._many = len(positions_m) > EVERY_PAIR_UP_TO
        self._searches = self._many and math.isfinite(range_m)
        self._cut = self._searches and not radio.mac.interferes
        self.moving = track is not None and track.fastest_m_per_s > 0
        self._track = track if self.moving else None
        self._space = track if isinstance(track, SpaceTrack) else None
        self._high = track if isinstance(track, HighTrack) else None
        self._fastest_m_per_s = track.fastest_m_per_s if track is not None else 0.0
        self._step_ns = self._epoch_ns = 0
        if self.moving:
            step_m = longest_step_m(radio) if self._space is None else self._space.step_m
            step_s = step_m / self._fastest_m_per_s
            self._step_ns = max(1, to_ns(step_s))
            # Two nodes that move towards each other approach at twice the speed.
            steps = max(1, int(_SLACK * range_m / (2.0 * step_m))) if self._searches else 1
            self._epoch_ns = steps * self._step_ns
        self._row = lru_cache(maxsize=EVERY_PAIR_UP_TO)(self._of_all)
        self._pair = lru_cache(maxsize=1 << 16)(self._of_pair)
        self._tree = lru_cache(maxsize=2)(self._tree_at)
        self._around = lru_cache(maxsize=1 << 14)(self._nodes_around)
        self._asked: dict[int, tuple[Sequence[int], frozenset[int]]] = {}
        shadowing = radio.shadowing
        self._field_draws = np.empty((0, 0))
        if shadowing.shared:
            counters = np.arange(shadowing.draws_in_motion)
            self._field_draws = streams.uniforms("shadowing field", counters=counters)[None]
        if self._cut:
            nodes, tree = len(positions_m), self._tree(0)
            within = (int(tree.count_neighbors(tree, range_m)) - nodes) // 2
            self.pairs_left_out = nodes * (nodes - 1) // 2 - within

    def snr(self, src: int, others: Nodes, time_ns: int) -> NDArray[np.float64]:
        if self._track is None and not self._many:
            which = others if isinstance(others, np.ndarray) else list(others)
            found: NDArray[np.float64] = self._row(src)[which]
            return found
        return self._of_some(src, np.asarray(others), self._step(time_ns))

    def snr_towards(self, dst: int, senders: Nodes, time_ns: int) -> NDArray[np.float64]:
        # Links are alike both ways but for the transmit power.
        found = self.snr(dst, senders, time_ns)
        if self._same_power:
            return found
        over_db = self._dbm[np.asarray(senders, np.int64)] - self._powers_dbm[dst]
        return found * 10.0 ** (over_db / 10.0)

    def pair_snr(self, src: int, dst: int, time_ns: int) -> float:
        if self._track is None and not self._many:
            return float(self._row(src)[dst])
        return self._pair(src, dst, self._step(time_ns))

    def nodes_in_range(self, src: int, others: Sequence[int], time_ns: int) -> Sequence[int]:
        if not self._searches:
            return others
        asked = self._asked.get(src)
        if asked is None or asked[0] is not others:  # most calls are about the same peers
            asked = self._asked[src] = (others, frozenset(others))
        epoch = time_ns // self._epoch_ns if self._epoch_ns else 0
        return [j for j in self._around(src, epoch) if j in asked[1]]

    def holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        if self._track is None:
            return None
        steps = 1
        if self._cut and self.pair_snr(src, dst, time_ns) == 0.0:
            ends_m = self._at([src, dst], self._step(time_ns))
            distance_m = float(lengths_m(np.diff(ends_m, axis=0))[0])
            closing_m = 2.0 * self._fastest_m_per_s * self._step_ns * 1e-9
            steps = max(1, min(_LONGEST, int((distance_m - self._range_m) / closing_m)))
        return (self._step(time_ns) + steps) * self._step_ns

    def step_ends_ns(self, time_ns: int) -> int | None:
        return (self._step(time_ns) + 1) * self._step_ns if self.moving else None

    def _step(self, time_ns: int) -> int:
        """Number of the step that holds an instant; 0 where none moves."""
        return time_ns // self._step_ns if self._step_ns else 0

    def _at(self, nodes: Sequence[int] | NDArray[np.int64], step: int) -> NDArray[np.float64]:
        """Positions of nodes at a step [m]: (len(nodes), 2) or (len(nodes), 3)."""
        if self._track is None:
            return np.asarray(self._positions_m[nodes])
        return self._track.at([int(i) for i in nodes], step * self._step_ns)

    def _heights_at(self, nodes: NDArray[np.int64], step: int) -> NDArray[np.float64] | None:
        """Heights of nodes at a step [m]; None where none has one."""
        if self._high is not None:
            return self._high.heights_m([int(i) for i in nodes], step * self._step_ns)
        return None if self._heights_m is None else np.asarray(self._heights_m[nodes])

    def _of_all(self, src: int) -> NDArray[np.float64]:
        return self._of_some(src, np.arange(len(self._positions_m)), 0)

    def _of_pair(self, src: int, dst: int, step: int) -> float:
        return float(self._of_some(src, np.array([dst]), step)[0])

    def _of_some(self, src: int, others: NDArray[np.int64], step: int) -> NDArray[np.float64]:
        radio, streams = self._radio, self._streams
        ends = np.append(others, src)
        at = self._at(ends, step)
        mine, theirs = at[-1], at[:-1]
        distance_m = lengths_m(theirs - mine)
        low, high = np.minimum(src, others), np.maximum(src, others)
        sight = streams.uniform_array("sight", low, high) if radio.path_loss.sighted else 0.0
        heights_m = self._heights_at(ends, step)
        if heights_m is None:
            loss_db = radio.path_loss.loss_db(distance_m, radio.carrier_hz, sight)
        else:
            loss_db = radio.path_loss.loss_between_db(
                distance_m, heights_m[:-1], heights_m[-1], radio.carrier_hz, sight
            )
        if radio.shadowing.drawn:
            ends_m = np.where(
                (others < src)[:, None],
                np.column_stack([theirs, np.broadcast_to(mine, theirs.shape)]),
                np.column_stack([np.broadcast_to(mine, theirs.shape), theirs]),
            )
            loss_db = loss_db + self._shadow_db(low, high, ends_m, distance_m, sight)
        snr = np.asarray(10.0 ** ((self._powers_dbm[src] - loss_db - self._noise_dbm) / 10.0))
        if self._cut:
            snr[distance_m > self._range_m] = 0.0
        if self._space is not None:
            begins_ns = step * self._step_ns
            ends_ns = begins_ns + self._step_ns
            in_sight = self._space.in_sight(src, others, begins_ns, ends_ns)
            snr[~in_sight & (others != src)] = 0.0
        return snr

    def _shadow_db(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        ends_m: NDArray[np.float64],
        distance_m: NDArray[np.float64],
        sight: NDArray[np.float64] | float,
    ) -> NDArray[np.float64]:
        model, path_loss = self._radio.shadowing, self._radio.path_loss
        in_sight = sight < path_loss.sight_probability(distance_m)
        sigma_db, decorrelation_m = (
            np.where(in_sight, with_sight, without)
            for with_sight, without in shadowing_sizes(self._radio)
        )
        if model.shared:
            deviations = model.in_motion(self._field_draws, ends_m, decorrelation_m)
        elif self._track is None:
            deviations = model.still(self._streams.uniform_array("shadowing", low, high))
        else:
            counters = np.arange(model.draws_in_motion)
            u = self._streams.uniform_table("shadowing waves", low, high, counters=counters)
            deviations = model.in_motion(u, ends_m, decorrelation_m)
        return np.asarray(sigma_db * deviations)

    # -- neighbours within range -----------------------------------------------------------------

    def _tree_at(self, epoch: int) -> scipy.spatial.cKDTree:
        """Positions at the beginning of an epoch, for searching."""
        if self._track is None:
            return scipy.spatial.cKDTree(self._positions_m)
        everybody = range(len(self._positions_m))
        return scipy.spatial.cKDTree(self._track.at(everybody, epoch * self._epoch_ns))

    def _nodes_around(self, src: int, epoch: int) -> tuple[int, ...]:
        """Ids of the nodes that may be within range of `src` during an epoch, ascending."""
        tree = self._tree(epoch)
        moved_m = 2.0 * self._fastest_m_per_s * self._epoch_ns * 1e-9
        found = tree.query_ball_point(tree.data[src], self._range_m + moved_m)
        return tuple(sorted(j for j in found if j != src))


class GivenMeanSnr(MeanSnr):
    """Mean SNR of nodes whose gains are known pair by pair, wherever they are.

    Parameters
    ----------
    radio : Radio
    powers_dbm : tuple of float
        Transmit power of each node [dBm].
    gains : Gains
    """

    def __init__(self, radio: Radio, powers_dbm: tuple[float, ...], gains: Gains) -> None:
        self._gains = gains
        self._sent_over_noise_db = tuple(p - radio.noise_dbm for p in powers_dbm)
        self.moving = gains.is_changing
        heard = np.isfinite(gains.gain_db).any(axis=0)
        self.pairs_left_out = int(np.triu(~(heard | heard.T), k=1).sum())
        self._pair = lru_cache(maxsize=1 << 16)(self._of_pair)

    def snr(self, src: int, others: Nodes, time_ns: int) -> NDArray[np.float64]:
        return self._of_some(self._gains.step_at(time_ns), src, others)

    def pair_snr(self, src: int, dst: int, time_ns: int) -> float:
        return self._pair(self._gains.step_at(time_ns), src, dst)

    def holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        return self._gains.holds_until_ns(time_ns)

    def step_ends_ns(self, time_ns: int) -> int | None:
        return self._gains.holds_until_ns(time_ns)

    def _of_pair(self, step: int, src: int, dst: int) -> float:
        return float(self._of_some(step, src, (dst,))[0])

    def _of_some(self, step: int, src: int, others: Nodes) -> NDArray[np.float64]:
        gains_db = self._gains.gains_to(step, src, others)
        gains_db = np.where(np.asarray(others) == src, 0.0, gains_db)  # which no file has
        return np.asarray(10.0 ** ((gains_db + self._sent_over_noise_db[src]) / 10.0))


def shadow_db(
    radio: Radio, streams: Streams, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Shadowing of pairs of nodes without places: one draw a pair.

    Parameters
    ----------
    radio : Radio
    streams : Streams
    low, high : (P,) int64
        The ends of each pair, the lower id first.

    Returns
    -------
    (P,) float64
        In dB.
    """
    u = streams.uniform_array("shadowing", low, high)
    return np.asarray((radio.shadowing.sigma_db or 0.0) * radio.shadowing.still(u))


def shadowing_sizes(radio: Radio) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shadowing: (sigma [dB], decorrelation distance [m]), each (in sight, out of sight)."""
    own = radio.path_loss.own_shadowing
    sigma_db, decorrelation_m = radio.shadowing.sigma_db, radio.shadowing.decorrelation_m
    return (
        (sigma_db, sigma_db)
        if sigma_db is not None or own is None
        else (own[0].sigma_db, own[1].sigma_db),
        (decorrelation_m or math.inf,) * 2
        if decorrelation_m is not None or own is None
        else (own[0].decorrelation_m, own[1].decorrelation_m),
    )


def longest_step_m(radio: Radio) -> float:
    """Largest distance that a node may move in one step [m]."""
    if not radio.shadowing.drawn:
        return _STEP_M
    shortest_m = min(shadowing_sizes(radio)[1])
    if math.isinf(shortest_m):
        raise ScenarioError(
            f'[radio.shadowing] decorrelation_m: path_loss "{radio.path_loss.kind}" states none '
            "of its own, and nodes move; say over what distance shadowing changes"
        )
    return min(_STEP_M, _STEP_OF_DECORRELATION * shortest_m)
