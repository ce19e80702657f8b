"""Base of path losses that a file states link by link: how matrices become links over time."""

from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.path_loss import PathLoss
from netsim.errors import ScenarioError
from netsim.registry import Duration, Finite, Index
from netsim.traces.arrays import Arrays
from netsim.traces.gains import Gains
from netsim.traces.moments import LATEST_S, file_time_of_start
from netsim.units import to_ns

TABLE = "radio.path_loss"
_CARRIER = 0.01
"""Greatest relative difference of a file's carrier from the radio's."""


class PathLossFromFile(PathLoss):
    """Gains from a file.

    Attributes
    ----------
    between : {"hold", "linear"}
        Gain between two times of the file: the earlier one, or on a straight line in dB.
    step_s : float
        With "linear", time for which a gain counts as constant [s].
    after : {"hold", "loop"}
        Gains after the last time of the file: the last ones, or those from its start again. In a
        loop the last matrix lasts as long as the one before it.
    nodes : tuple of int
        Nodes of the file that are nodes 0, 1, ... of the scenario; empty: the first ones.
    start_s : float, optional
        Time of the file at which the run starts. Absent: its first.
    """

    between: Literal["hold", "linear"] = "hold"
    step_s: Duration = 0.1
    after: Literal["hold", "loop"] = "hold"
    nodes: tuple[Index, ...] = ()
    start_s: Finite | None = None

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> NoReturn:
        """Not defined: a file knows pairs of nodes, not distances."""
        raise ScenarioError(
            f'[{TABLE}] kind = "{self.model_dump()["kind"]}": states gains of pairs of nodes, and '
            "a loss by distance is asked for"
        )

    def checked_gains(
        self,
        t_s: NDArray[np.float64],
        gain_db: NDArray[np.float64],
        nodes: int,
        arrays: Arrays,
        member: str,
        faded: bool = False,
    ) -> Gains:
        """The gains of the scenario's nodes, checked.

        Parameters
        ----------
        t_s : (T,) float64
        gain_db : (T, M, M) float64
            Of the file's nodes; the diagonal is not read.
        nodes : int
            How many nodes the scenario has.
        arrays : Arrays
            For errors, with `member`.
        member : str
        faded : bool

        Raises
        ------
        DataError
            If a gain is no number or greater than 0 dB, times don't ascend, or nodes are missing.
        """
        theirs = gain_db.shape[1]
        chosen = list(self.nodes) or list(range(nodes))
        if len(chosen) != nodes:
            raise arrays.error(
                f"nodes names {len(chosen)} of its nodes, and the scenario has [nodes] count = "
                f"{nodes}; name one a node"
            )
        if max(chosen) >= theirs:
            raise arrays.error(
                f"has {theirs} nodes, and node {max(chosen)} is asked for ([nodes] count = "
                f"{nodes}); lower the count, or choose with nodes",
                member,
            )
        found = np.array(gain_db[:, chosen][:, :, chosen], dtype=np.float64)
        found[:, np.arange(nodes), np.arange(nodes)] = -np.inf
        bad = np.isnan(found) | (found > 0.0)
        if bad.any():
            k, i, j = (int(x[0]) for x in np.nonzero(bad))
            raise arrays.error(
                f"the gain from node {chosen[i]} to node {chosen[j]} at time {t_s[k]:g} s is "
                f"{found[k, i, j]:g} dB; a gain is received over sent power, at most 0 dB (a loss "
                "with its sign changed), and -inf where nothing arrives",
                member,
            )
        if not np.isfinite(t_s).all() or (np.diff(t_s) <= 0).any():
            raise arrays.error("times must be finite and ascend", "t_s")
        if np.abs(t_s).max() > LATEST_S:
            raise arrays.error("times are too late for s; they may count ms: divide", "t_s")
        repeats = self.after == "loop"
        begins_s = file_time_of_start(
            arrays.where,
            float(t_s[0]),
            float(t_s[-1]),
            self.start_s,
            "gains stay as they are",
            repeats=repeats and len(t_s) > 1,
        )
        if begins_s < t_s[0] and repeats:
            raise arrays.error(
                f"start_s = {begins_s:g} is before its first time, {t_s[0]:g} s, and "
                'after = "loop" needs one of its times',
                "t_s",
            )
        offset_s, t_s = begins_s - float(t_s[0]), t_s - t_s[0]
        if len({to_ns(t) for t in t_s.tolist()}) < len(t_s):
            raise arrays.error("two times are less than 1 ns apart; they count in seconds", "t_s")
        step_s = self.step_s if self.between == "linear" else None
        return Gains.from_matrices(t_s, found, repeats, step_s, faded, offset_s)


def matrix_times(arrays: Arrays, count: int, member: str, name: str = "t_s") -> NDArray[np.float64]:
    """The times of matrices [s]: (count,); 0 for a single one without any.

    Parameters
    ----------
    arrays : Arrays
    count : int
        How many there must be.
    member : str
        What they are the times of, for errors.
    name : str
        The member that holds them.
    """
    if name not in arrays and count == 1:
        return np.zeros(1)
    t_s = arrays.get(name).ravel().astype(np.float64)
    if len(t_s) != count:
        raise arrays.error(f"has {len(t_s)} times, and {member} has {count} matrices", name)
    return t_s


def require_carrier(arrays: Arrays, carrier_hz: float) -> None:
    """Raise DataError if the file says that it was made for another carrier."""
    if "carrier_hz" not in arrays:
        return
    of_file = arrays.get("carrier_hz")
    if of_file.size != 1:
        raise arrays.error(f"must be one number, not {of_file.size}", "carrier_hz")
    made_for = float(of_file.item())
    if not abs(made_for - carrier_hz) <= _CARRIER * carrier_hz:
        raise arrays.error(
            f"is {made_for:g}, and [radio] carrier_hz = {carrier_hz:g}; set that to it",
            "carrier_hz",
        )
