"""Sampling of the nodes that take part in a round: the sampled clients of FedAvg."""

from typing import Annotated

from pydantic import Field

from netsim.errors import UnsuitableError
from netsim.node.node import Node
from netsim.registry import Table


class SamplingParams(Table):
    """Share of the nodes that take part in a round; for the schedule `rounds`.

    Attributes
    ----------
    sampled
        Part of the nodes that train in a round, at least one node; the others take over the result.
        Absent: all train.
    """

    sampled: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None


class Sampling:
    """The nodes of each round, the same draw at every node.

    Parameters
    ----------
    node : Node
    params : SamplingParams

    Raises
    ------
    UnsuitableError
        If a part is asked for under a schedule without rounds.

    Examples
    --------
    >>> sampling = Sampling(node, params)
    >>> while True:
    ...     yield node.wakeup()
    ...     if sampling.takes_part(node.id): ...
    """

    def __init__(self, node: Node, params: SamplingParams) -> None:
        if params.sampled is not None and node.schedule != "rounds":
            raise UnsuitableError(
                f"[algorithm]: sampled is for the schedule rounds, here it is {node.schedule}"
            )
        servers = {*node.servers, *([node.id] if node.role == "server" else [])}
        self._node, self._part = node, params.sampled
        self._clients = [i for i in range(node.num_nodes) if i not in servers]
        self._drawn: list[frozenset[int]] = []

    def takes_part(self, i: int) -> bool:
        """Return whether node i takes part in the round that this node is in."""
        if self._part is None:
            return True
        while len(self._drawn) < self._node.round:
            draws = self._node.uniform("sampled", len(self._clients), common=True)
            order = sorted(range(len(self._clients)), key=draws.__getitem__)
            count = max(1, round(self._part * len(self._clients)))
            self._drawn.append(frozenset(self._clients[k] for k in order[:count]))
        return i in self._drawn[self._node.round - 1]
