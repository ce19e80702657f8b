"""How far a run has come, for whoever watches it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """How far a run has come; `means`, by metric, are those of the last evaluation.

    `score` is the mean of the task's main metric, which is called `metric`.
    """

    virtual_s: float
    horizon_s: float
    events: int
    node_steps: int
    score: float | None
    wall_s: float
    means: Mapping[str, float] = field(default_factory=dict)
    evaluated_s: float = 0.0
    metric: str = "accuracy"


Watcher = Callable[[Progress], None]
