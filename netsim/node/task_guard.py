"""Check that an algorithm's own measures and losses fit the task at hand.

Training by the task's loss, losses, gradients, selections and mixtures mean the same in every task.
An algorithm that brings a loss of its own, or looks at outputs or samples, may take classes for
granted; so unless it says which tasks it learns, it does so in classifications alone.
"""

from netsim.errors import UnsuitableError
from netsim.learning.tasks import Task


class TaskGuard:
    """Refuses what an algorithm does by itself, in a task that it does not speak of.

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
