"""Progress of a run, for observers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Progress of a run; `means`, by metric, are those of the last evaluation.

    `score` is the mean of the task's main metric, which is called `metric`; `evaluation_wall_s` is
    what of `wall_s` evaluations took; `doing` says what is done before the first event and after
    the last.
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
    evaluation_wall_s: float = 0.0
    doing: str = ""


Watcher = Callable[[Progress], None]
Doing = Callable[[str], object]
"""Told in words what is done before the first run begins, such as `reading digits`."""
