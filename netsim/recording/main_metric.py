"""The metric that a run is judged by, and which of its metrics are better the lower they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netsim.recording.schema import ARRIVED, OUTCOMES

SHARES = ("accuracy", "iou")
"""Metrics with such a word in their name are shares, shown in percent."""

COSTS = frozenset(
    {"s", "j", "bits", "sent", "lost", "expired", "late", "old", "superseded", "ignored", "unread"}
    | {"skipped", "outages", "std", "variance"}
    | set(OUTCOMES).difference(ARRIVED)
)
"""Words of a last key of a summary: times, energy, what is sent, what gets lost, spreads."""

GAINS = frozenset({"delivered", "arrived", "same"})
"""Words of a last key of which more is better: what arrives, or goes to nodes of the same task."""

TABLES = frozenset(
    {"attack", "counts", "decisions", "delay", "diverged", "energy", "engine", "graph", "links"}
    | {"local_steps", "messages", "models_sent", "nodes", "outcomes", "seed", "sent_by_kind"}
    | {"staleness", "task", "topology", "uses", "virtual_s", "wakes", "wall_s"}
)
"""Keys of a summary that are no metrics."""


@dataclass(frozen=True)
class MainMetric:
    """Main metric of a task, as a run's summary has it."""

    name: str = "accuracy"  # the metric that runs are compared by
    # the metrics of which a lower value is better, by their names on a node's own test samples
    lower: frozenset[str] = frozenset({"loss"})

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> MainMetric:
        """Main metric of a run; accuracy where its summary is older than tasks."""
        task = summary.get("task")
        if not isinstance(task, Mapping) or not isinstance(task.get("metric"), str):
            return cls()
        lower = task.get("lower")
        return cls(task["metric"], frozenset(map(str, lower if isinstance(lower, list) else ())))

    @classmethod
    def reported(cls, name: str, is_lower_better: bool | None) -> MainMetric:
        """That of a run whose methods record it; None: its name says which values are better."""
        lower = "loss" in name or "error" in name if is_lower_better is None else is_lower_better
        return cls(name, frozenset({name} if lower else ()))

    @property
    def validation(self) -> str:
        """Name of the metric on a node's own validation samples."""
        return f"{self.name}_validation"

    @property
    def is_lower_better(self) -> bool:
        """Return whether lower values of it are better."""
        return self.prefers_lower(self.name)

    def prefers_lower(self, metric: str) -> bool:
        """Return whether lower values of a metric are better, on any samples."""
        name = metric.removeprefix("malicious_")
        return (
            "loss" in name
            or "error" in name
            or any(name == known or name.startswith(f"{known}_") for known in self.lower)
        )

    def is_lowest_best(self, path: str) -> bool:
        """Return whether the lowest is the best of the numbers at a path into a summary.

        `path`: a metric, or keys such as `delay.mean_s`, `accuracy.std`.
        """
        words = set(path.rpartition(".")[2].split("_"))
        if "malicious" in words and path.startswith("graph."):  # what attackers are given
            return True
        is_cost = bool(words & COSTS) and not words & {"delivered", "per"}
        return is_cost or self.prefers_lower(path.partition(".")[0])

    def knows_the_best(self, path: str) -> bool:
        """Return whether it is known which end of the numbers at a path into a summary is best.

        It is of metrics, and of what is gained or paid; not of other counts.
        """
        words = set(path.rpartition(".")[2].split("_"))
        is_metric = path.partition(".")[0] not in TABLES
        return is_metric or bool(words & GAINS) or self.is_lowest_best(path)

    def of_tests(self, metrics: Iterable[str]) -> list[str]:
        """Select the metrics that are this one on test samples."""
        return [m for m in metrics if m.startswith(self.name) and not m.endswith("_validation")]


def is_share(metric: str) -> bool:
    """Return whether a metric is a share, from 0 to 1."""
    return any(word in metric for word in SHARES)


ACCURACY = MainMetric()
"""That of a classification."""
