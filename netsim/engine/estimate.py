"""Estimate the time of scenarios on this machine: local steps and evaluations, counted and timed.

Nothing is played and no data set is read. How often a method trains and evaluates in a round is
counted from its Params and the partition's sizes; what a local step and an evaluation cost is timed
on random inputs of the data set's shape, with the backend that a run would take. Times are those of
one core, whatever else the machine does (on a GPU: as they pass). Plain steps are timed alone: what
the messages and means of many nodes cost is left out. Steps of a method with a loss of its own, and
steps that nodes take one a slot, are timed by playing the method between a few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netsim.engine.step_times import Times
from netsim.models import ModelKind
from netsim.scenario.file import without_none
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import AlgorithmEntry, Scenario
from netsim.scenario.training import Training


@dataclass(frozen=True)
class Work:
    """Work of one node in a round.

    Attributes
    ----------
    steps : float
        Local steps, as the engine counts them.
    samples : float
        Samples that models are evaluated on, measurements apart.
    """

    steps: float
    samples: float = 0.0


Timer = Callable[[Scenario, Training, ModelKind, Mapping[str, Any] | None], Times]
"""Times a model in an algorithm's minibatches, as `timed` does."""

OWN_STEPS = frozenset(
    (
        *("apfl", "ditto", "fedamp", "fedclassavg", "fedprox", "fedproto", "fedrep", "fedrod"),
        *("mapl", "per_fedavg", "pfedgraph", "pfedme"),
    )
)
"""Methods whose local steps are not plain cross-entropy on the whole model."""


def seconds(scenario: Scenario, timer: Timer) -> float:
    """Return the time of all algorithms of a scenario, of one seed and without its sweep.

    Parameters
    ----------
    scenario : Scenario
    timer : callable
        Times its models; see `timed`.
    """
    outline = scenario.data.outline()
    learners = sum(role != SERVER for role in scenario.per_node("role"))
    train, test = scenario.data.partition.expected(outline, learners)
    train, validation = train * (1 - scenario.data.validation), train * scenario.data.validation
    measured = test + min(scenario.metrics.common_test_samples, outline.test_rows)
    looks = scenario.horizon_s / scenario.evaluate_every_s * (measured + validation)
    total = 0.0
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        work = round_work(scenario, entry, train, validation, training.batch_size, learners)
        stages = max(1, len(scenario.stages_of(entry)))
        played = played_for(scenario, entry)
        times = [timer(scenario, training, model, played) for model in scenario.model]
        step_s = sum(t.step_s for t in times) / len(times)
        sample_s = sum(t.sample_s for t in times) / len(times)
        samples = rounds(scenario) * work.samples + looks * stages
        total += learners * (rounds(scenario) * work.steps * step_s + samples * sample_s)
    return total


def rounds(scenario: Scenario) -> float:
    """Return the number of rounds, wake-ups of a node, or slots."""
    exchange: Any = scenario.exchange
    if exchange.barrier:
        return float(scenario.horizon_s / exchange.interval_s)
    if hasattr(exchange, "slots_per_exchange"):
        return float(scenario.horizon_s / exchange.slot_s)
    if hasattr(exchange, "period_s"):
        return float(scenario.horizon_s / exchange.period_s)
    return float(scenario.horizon_s * exchange.rate_hz)


def round_work(
    scenario: Scenario,
    entry: AlgorithmEntry,
    train: float,
    validation: float,
    batch_size: int,
    learners: int,
) -> Work:
    """Return the work of a method's node in a round.

    Parameters
    ----------
    scenario : Scenario
    entry : AlgorithmEntry
    train, validation : float
        Samples of a node.
    batch_size : int
    learners : int
        Nodes with data.
    """
    params: Any = entry.params
    if hasattr(scenario.exchange, "slots_per_exchange"):
        return Work(1.0)  # a star exchange: one step a slot

    def steps(amount: dict[str, int]) -> float:
        epoch = max(1.0, train / batch_size)
        return amount.get("steps", 0) + amount.get("epochs", 0) * epoch

    once = steps(amount_of(params))
    part = getattr(params, "sampled", None) or 1.0
    peers = learners - 1
    match entry.kind:
        case "ditto":  # two models
            return Work(2 * once * part)
        case "apfl":  # and one of the weight
            return Work(once + params.adaptive)
        case "pfedme":
            return Work(once * params.inner_steps)
        case "fedrep":
            return Work(once + steps(params.head_amount()))
        case "pfedhn":
            return Work(once * min(1.0, (params.visits or learners) / learners))
        case "knn_per":  # features of the memory
            return Work(once, min(train, params.memory))
        case "cga":  # a gradient at every neighbour's model
            degree = degree_of(scenario, learners)
            return Work(once * (1 + degree))
        case "dpfl":
            limit = params.budget if isinstance(params.budget, int) else learners
            models = min(limit, learners) if limit > 1 else 0
            return Work(once, (2 * models + 2) / params.period * validation if models else 0.0)
        case "fedfomo":
            heard = min(float(params.downloads or peers), peers * part)
            return Work(once * part, (heard + 2) * validation * part)
        case "l2c" | "meta_l2c":  # the gradient of the loss over all validation samples
            return Work(once + params.mixing_steps * validation / batch_size)
        case _:
            return Work(once * part)


def played_for(scenario: Scenario, entry: AlgorithmEntry) -> dict[str, Any] | None:
    """The entry to play in order to time a method's steps; None: they are plain steps.

    Parameters
    ----------
    scenario : Scenario
    entry : AlgorithmEntry
    """
    if entry.kind in OWN_STEPS or hasattr(scenario.exchange, "slots_per_exchange"):
        said = entry.params.model_dump(mode="json")
        said.pop("sampled", None)  # steps of those who train
        return {"kind": entry.kind, **without_none(said)}
    if getattr(entry.params, "augment", False):
        return {"kind": "local", "augment": True}
    return None


def amount_of(params: Any) -> dict[str, int]:
    """Return a method's amount of training in a round: `steps` or `epochs`."""
    if hasattr(params, "amount"):
        amount: dict[str, int] = params.amount()
        return amount
    if hasattr(params, "local_epochs"):
        return {"epochs": params.local_epochs or 1}
    return {"steps": getattr(params, "steps", 1)}


def degree_of(scenario: Scenario, learners: int) -> int:
    """Neighbours of a node, where the topology says; else all others."""
    topology: Any = scenario.topology
    for key in ("links", "degree"):
        if hasattr(topology, key):
            return int(getattr(topology, key))
    return 2 if topology.kind == "ring" else learners - 1
