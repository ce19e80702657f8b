"""Places for nodes that have none: linked nodes near each other."""

import numpy as np
from numpy.typing import NDArray

_EXACT = 300
"""Of more nodes a sample of the others pushes each away."""


def spring(
    nodes: int, a: NDArray[np.int64], b: NDArray[np.int64], rounds: int = 60
) -> NDArray[np.float64]:
    """Positions in the unit square by attraction along links and repulsion (Fruchterman, Reingold).

    Parameters
    ----------
    nodes : int
    a, b : (L,) int64
        The ends of each link.
    rounds : int
        Steps of the layout, each shorter than the last.

    Returns
    -------
    (N, 2) float64
        The same for the same links.
    """
    angle = 2 * np.pi * np.arange(nodes) / max(nodes, 1)
    at = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if nodes > 2 and len(a):
        draws = np.random.default_rng(nodes)
        near = np.sqrt(np.pi / nodes)
        for step in np.linspace(0.15, 0.005, rounds):
            others = (
                np.broadcast_to(np.arange(nodes), (nodes, nodes))
                if nodes <= _EXACT
                else draws.integers(nodes, size=(nodes, _EXACT))
            )
            apart = at[:, None] - at[others]
            squared = np.maximum((apart**2).sum(axis=2), 1e-6)
            scale = nodes / others.shape[1]
            push = (apart * (near**2 / squared)[..., None]).sum(axis=1) * scale
            along = at[a] - at[b]
            pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
            for axis in range(2):
                push[:, axis] -= np.bincount(a, pull[:, axis], nodes)
                push[:, axis] += np.bincount(b, pull[:, axis], nodes)
            push -= 0.3 * at  # parts that are not linked stay on the page
            length = np.maximum(np.linalg.norm(push, axis=1), 1e-9)
            at = at + push / length[:, None] * np.minimum(length, step)[:, None]
    low, extent = at.min(axis=0), np.ptp(at, axis=0)
    return np.asarray((at - low) / np.where(extent > 0, extent, 1.0), dtype=np.float64)
