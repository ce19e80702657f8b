"""No value of a run outlives it: whatever held a model has let go of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from netsim.engine.invariants import Invariant
from netsim.errors import InvariantError
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Scheduler


class References(Invariant):
    """The rows of every slab are free, and no value is left, once the run has been dropped."""

    def left_behind(self) -> Callable[[], None]:
        scheduler = self.run.scheduler
        store = getattr(scheduler.backend, "store", None)
        return partial(_require_none, weakref.ref(scheduler), store)


def _require_none(scheduler: weakref.ref[Scheduler], store: Any) -> None:
    """Look for what is left; every value knows its scheduler, so it lives as long as they do."""
    left = scheduler()
    if left is not None:
        cells = [one for one in gc.get_referrers(left) if isinstance(one, Cell)]
        owners = {one.owner for one in gc.get_referrers(*cells) if isinstance(one, Ref)}
        if cells:
            whose = f"of node {min(owners)} first" if owners else "of no node"
            raise InvariantError(
                f"invariant references: {len(cells)} values of the run outlive it, {whose}, "
                f"against 0; a shape is {cells[0].shape}. Something keeps Refs: an algorithm must "
                "not, outside of its processes"
            )
    live = 0 if store is None else sum(slab.live for slab in store.slabs)
    if live:
        raise InvariantError(
            f"invariant references: {live} rows of models are taken after the run, against 0"
        )
