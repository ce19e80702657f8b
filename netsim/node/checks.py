"""Checks of what algorithms ask for, shared by several verbs.

`MixingCheck` tells of mixtures of models whose weights do not sum to one and that are used as
models all the same. Differences of models and steps along them have such weights, too, and are
right; so only a mixture that is published or trained further is told of.

`TaskGuard` refuses an algorithm's own measures and losses in a task that it does not speak of.
Training by the task's loss, losses, gradients, selections and mixtures mean the same in every task.
An algorithm that brings a loss of its own, or looks at outputs or samples, may take classes for
granted; so unless it says which tasks it learns, it does so in classifications alone.
"""

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from netsim.errors import ProtocolError, UnsuitableError
from netsim.learning.architecture import Architecture
from netsim.learning.calling_line import calling_line
from netsim.learning.refs import NEEDS_A_MODEL, Cell, Ref
from netsim.learning.shards import Shards
from netsim.learning.tasks import Task
from netsim.recording.run_warnings import RunWarnings
from netsim.units import to_s

TOLERANCE = 1e-3
"""Greatest difference of a sum of weights from one: shares are often rounded."""


def architecture_of(ref: Ref) -> Architecture:
    """The architecture of a whole model.

    Raises
    ------
    ProtocolError
        If the Ref is a part of a model or another value.
    """
    if ref.architecture is None:
        raise ProtocolError(f"{NEEDS_A_MODEL}{calling_line()}")
    return ref.architecture


SPLITS = ("train", "validation", "test")


def require_samples(shards: Shards, node_id: int, split: str) -> int:
    """Refuse a node without samples in one of its splits.

    Parameters
    ----------
    shards : Shards
    node_id : int
    split : {"train", "validation", "test"}

    Returns
    -------
    int
        The number of the shard that the node has now.

    Raises
    ------
    ProtocolError
    """
    if split not in SPLITS:
        raise ProtocolError(f"split is {split!r}; it is {' or '.join(SPLITS)}{calling_line()}")
    shard = shards.held[node_id]
    if len(getattr(shards.rows[shard], split)) == 0:
        raise ProtocolError(
            f"node {node_id} has no {split} samples; set [data] validation to cut some, or to a "
            "larger share"
        )
    return shard


class MixingCheck:
    """Record of the mixtures of one run whose weights do not sum to one.

    Parameters
    ----------
    warnings : RunWarnings
        Is told of the first that is used as a model.

    Attributes
    ----------
    is_needed : bool
        Whether there has been one: before, nobody need tell of uses.
    """

    def __init__(self, warnings: RunWarnings) -> None:
        self._warnings = warnings
        self._noted: WeakKeyDictionary[Cell, tuple[float, str]] = WeakKeyDictionary()
        self.is_needed = False

    def note_mixture(
        self, mixture: Ref, refs: Sequence[Ref], weights: Sequence[float], now_ns: int
    ) -> None:
        """Note a mixture of whole models if its weights do not sum to one.

        What is mixed may be such a mixture itself: a difference of two models counts as none.

        Parameters
        ----------
        mixture : Ref
        refs : sequence of Ref
            What is mixed; gradients and parts of models may have any weights.
        weights : sequence of float
        now_ns : int
            Virtual time [ns].
        """
        noted = self._noted
        if self.is_needed:
            masses = [noted[ref.cell][0] if ref.cell in noted else 1.0 for ref in refs]
            total = math.fsum(w * m for w, m in zip(weights, masses, strict=True))
        else:
            total = math.fsum(weights)
        if abs(total - 1.0) > TOLERANCE and all(ref.architecture is not None for ref in refs):
            self.is_needed = True
            noted[mixture.cell] = (
                total,
                f"node {mixture.owner} at {to_s(now_ns):g} s{calling_line()}: the weights of a "
                f"mixture of models sum to {total:g}, not 1",
            )

    def warn_of_use(self, ref: Ref, how: str) -> None:
        """Warn if weights of a mixture used as a model do not sum to 1; `how` names the use."""
        if (found := self._noted.get(ref.cell)) is not None:
            self._warnings.once("mixing weights", f"{found[1]}, and it is {how}")


class TaskGuard:
    """Refusal of own computations of an algorithm in a task that its declaration does not name.

    Parameters
    ----------
    task : Task
    stated : tuple of str or None
        The tasks that the algorithm says it learns; None: it does not say.
    """

    def __init__(self, task: Task, stated: tuple[str, ...] | None) -> None:
        self._task = task
        self._is_open = stated is not None or task.has_classes

    def require(self, what: str) -> None:
        """Refuse something that has to be stated.

        Raises
        ------
        UnsuitableError
        """
        if not self._is_open:
            kind = self._task.kind  # type: ignore[attr-defined] # of every task
            raise UnsuitableError(
                f"the algorithm uses {what} and does not say that it learns [task] kind = "
                f'"{kind}"; '
                f'write @netsim.api.algorithm(tasks=("{kind}",)) above processes if it does: '
                "batch.loss(outputs) is the loss of any task"
            )
