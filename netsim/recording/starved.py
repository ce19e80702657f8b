"""Find the nodes of a run that starved: the one rule for all outputs."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHARE = 0.25
"""A node is starved that was handed fewer messages than this share of what the median node was."""
ARRIVED = ("delivered", "partial")
"""Outcomes of messages that count as handed over."""


def starved(got: ArrayLike, roles: Any = None) -> NDArray[np.bool_]:
    """Nodes that were handed fewer messages than a quarter of what the median node was.

    A server is none, and no node is where the median node got nothing.

    Parameters
    ----------
    got : (N,) int
        Messages that came to each node.
    roles : (N,) str, optional
        None: there is no server.
    """
    came = np.asarray(got)
    judged = np.ones(len(came), dtype=np.bool_)
    if roles is not None:
        judged = np.array([str(role) != "server" for role in roles], dtype=np.bool_)
    if not judged.any():
        return np.zeros(len(came), dtype=np.bool_)
    return np.asarray(judged & (came < SHARE * np.median(came[judged])))
