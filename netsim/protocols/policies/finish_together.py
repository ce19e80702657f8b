"""Shares with which all finish at one time, the earliest at which all can have finished."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import UnsuitableError
from netsim.node.decisions import Decision, Shares
from netsim.protocols.policies import Policy


def finish_together(work: ArrayLike, before: ArrayLike) -> NDArray[np.float64]:
    """Shares that minimise the time at which the last one finishes.

    One that begins at `before` and needs `work` of the whole finishes at before + work / share. The
    last one is earliest where all finish at the time T at which the sum of work / (T - before) is
    1: a share taken from any of them would make that one later. T is found by bisection.

    Source: Shi, Zhou, Niu, Jiang and Geng, "Joint Device Scheduling and Resource Allocation for
    Latency Constrained Wireless Federated Learning", IEEE Trans. Wireless Commun. 20(1), 2021,
    arXiv:2007.07174.

    Parameters
    ----------
    work, before : (n,) float
        Finite and not negative; those without work have no share, and don't count.

    Returns
    -------
    (n,) float64
        They sum to one; all 0 where nobody has work.
    """
    each, start = np.asarray(work, dtype=np.float64), np.asarray(before, dtype=np.float64)
    shares: NDArray[np.float64] = np.zeros(each.shape)
    has = each > 0.0
    if not has.any():
        return shares
    each, start = each[has], start[has]
    # T - the last beginning: the time of those who begin last at least, of all at most.
    ahead = start.max() - start
    early, late = 0.0, float(each.sum())
    while early < (middle := early + 0.5 * (late - early)) < late:
        if (each / (ahead + middle)).sum() > 1.0:
            early = middle
        else:
            late = middle
    shares[has] = each / (ahead + late)
    shares /= shares.sum()
    return shares


class FinishTogetherPolicy(Policy):
    """Shares of a divisible whole with which all who have work finish at the same time.

    Attributes
    ----------
    work
        Name of the observation of the time that each needs with the whole.
        Example: `"upload_s"`
    before
        Name of the observation of the time before which each can't begin. Absent: all can now.
        Example: `"compute_s"`
    """

    kind: Literal["finish_together"] = "finish_together"
    work: str
    before: str | None = None

    def choose(self, decision: Decision) -> Any:
        """Return an action; see the base class."""
        space, observation = decision.action, decision.observation
        if not isinstance(space, Shares):
            raise UnsuitableError(
                f'policy kind = "finish_together": has no shares among {type(space).__name__}; '
                'take "random"'
            )
        found = {}
        for key, name in (("work", self.work), ("before", self.before)):
            if name is None:
                found[key] = np.zeros(space.n)
            elif name not in observation or np.shape(observation[name]) != (space.n,):
                fits = [one for one, value in observation.items() if np.shape(value) == (space.n,)]
                raise UnsuitableError(
                    f'policy {key} = "{name}": must be an observation of {space.n} numbers: '
                    f"{', '.join(fits) or 'there is none'}"
                )
            else:
                found[key] = observation[name]
        return finish_together(np.maximum(found["work"], 0.0), np.maximum(found["before"], 0.0))
