"""How long scenarios would take on this machine: local steps and evaluations, counted and timed.

Nothing is played and no data set is read. How often a method trains and evaluates in a round is
counted from its Params and the partition's sizes; what a local step and an evaluation cost is timed
on random inputs of the data set's shape, with the backend that a run would take. Times are those of
one core, whatever else the machine does (on a GPU: as they pass). Sending messages and mixing
models are left out, and steps are timed with plain cross-entropy: low by up to a factor of five
where images are cropped and losses are a method's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from netsim.engine.step_times import Times
from netsim.models import ModelKind
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import AlgorithmEntry, Scenario, Training


@dataclass(frozen=True)
class Work:
    """What one node does in a round.

    Attributes
    ----------
    steps : float
        Local steps, forward and backward.
    samples : float
        Samples that models are evaluated on, measurements apart.
    """

    steps: float
    samples: float = 0.0


Timer = Callable[[Scenario, Training, ModelKind], Times]
"""Times a model in an algorithm's minibatches, as `timed` does."""


def seconds(scenario: Scenario, timer: Timer) -> float:
    """How long all algorithms of a scenario take, of one seed and without its sweep.

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
        times = [timer(scenario, training, model) for model in scenario.model]
        step_s = sum(t.step_s for t in times) / len(times)
        sample_s = sum(t.sample_s for t in times) / len(times)
        samples = rounds(scenario) * work.samples + looks * stages
        total += learners * (rounds(scenario) * work.steps * step_s + samples * sample_s)
    return total


def rounds(scenario: Scenario) -> float:
    """How many rounds, wake-ups of a node, or slots there are."""
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
    """What a node of a method does in a round.

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
        case "ditto" | "apfl":  # two models
            return Work(2 * once * part)
        case "mapl" | "fedclassavg":  # two views of a sample
            return Work(2 * once)
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


def amount_of(params: Any) -> dict[str, int]:
    """How much a method trains in a round: `steps` or `epochs`."""
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
