"""The verbs by which a node shows what it has: models to measure, weights, values to keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from netsim.errors import ProtocolError
from netsim.learning.functions import require_module_level
from netsim.learning.refs import Ref

if TYPE_CHECKING:
    from netsim.node.run_state import Context


class Publication(NamedTuple):
    """The model that a node would predict with."""

    ref: Ref
    stage: str
    predict: Callable[..., Any] | None
    given: tuple[Any, ...]


class Showing:
    """The showing half of `netsim.node.training_verbs.Learner`."""

    id: int
    _ctx: Context

    def _init_showing(self) -> None:
        self.published: dict[str, Publication] = {}
        self._kept: dict[str, Ref] = {}

    def publish(
        self,
        ref: Ref,
        stage: str,
        predict: Callable[..., Any] | None = None,
        given: Sequence[Any] = (),
    ) -> None:
        """The model this node would predict with now; `stage` names it in the metrics.

        `predict(model, x, *given) -> (n, L)` replaces the plain forward pass; `given` are Refs and
        numbers that it needs beside the model.
        """
        for one in (ref, *given):
            if isinstance(one, Ref):
                one.require_owner(self.id)
        if ref.architecture is None:
            raise ProtocolError("publish: a whole model is needed here, not a part of one")
        if predict is not None:
            require_module_level(predict)
        self.published.pop(stage, None)  # so that the last one published is the last in order
        self.published[stage] = Publication(ref, stage, predict, tuple(given))

    def log_weights(
        self, ids: Sequence[int], weights: Ref | Sequence[float], node: int | None = None
    ) -> None:
        """The collaboration graph: this node's weights on `ids` from now on, one an id.

        A server that computes them for another node names that `node`.
        """
        given = weights.num_values if isinstance(weights, Ref) else len(weights)
        if given != len(ids):
            raise ProtocolError(f"log_weights: {len(ids)} ids but {given} weights")
        if isinstance(weights, Ref):
            weights.require_owner(self.id)
        whose = self.id if node is None else node
        self._ctx.weights_due.append((self._ctx.env.now, whose, tuple(ids), weights))

    def keep(self, name: str, ref: Ref) -> None:
        """Keep a value beyond the run: what was kept last under a name is written at its end.

        It goes to `kept/<name>.npz` in the run folder, each node's as an array `node_<id>`.
        """
        ref.require_owner(self.id)
        self._kept[name] = ref

    def kept_values(self) -> dict[str, Any]:
        """The numbers kept, as numpy arrays, once they are computed."""
        return {name: ref.tensor().detach().cpu().numpy() for name, ref in self._kept.items()}
