"""Work of the papers' scenarios: local steps and evaluations, in floating-point operations.

Nothing is played and no data set is read. How often a method trains and evaluates in a round is
counted from its Params and the partition's sizes. Steps of a method with a loss of its own count as
plain steps on the whole model; what messages, means and the simulator itself cost is left out.
"""

from dataclasses import dataclass
from typing import Any

from netsim import Scenario, model_costs


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


def counted(scenario: Scenario, measure: bool = False) -> list[tuple[Any, float, float]]:
    """Count the operations of all algorithms of a scenario, of one seed and without its sweep.

    Parameters
    ----------
    scenario : Scenario
    measure : bool
        As of `netsim.model_costs`.

    Returns
    -------
    list of (row of `netsim.model_costs`, float, float)
        A model, its operations in local steps, and those in outputs.
    """
    tables, costs = scenario.tables, model_costs(scenario, measure=measure)
    outline = tables.data.outline()
    learners = sum(role != "server" for role in tables.per_node("role"))
    train, test = tables.data.partition.expected(outline, learners)
    train, validation = train * (1 - tables.data.validation), train * tables.data.validation
    measured = test + min(tables.metrics.common_test_samples, outline.test_rows)
    looks = tables.horizon_s / tables.evaluate_every_s * (measured + validation)
    found = []
    for entry in tables.algorithm:
        training = tables.training_of(entry)
        work = round_work(scenario, entry, train, validation, training.batch_size, learners)
        stages = max(1, len(tables.stages_of(entry)))
        samples = rounds(scenario) * work.samples + looks * stages
        nodes = learners / len(tables.model)
        for model in costs[costs["algorithm"] == entry.name].itertuples():
            steps = nodes * rounds(scenario) * work.steps
            found.append((model, steps * model.step_flop, nodes * samples * model.sample_flop))
    return found


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
    entry: Any,
    train: float,
    validation: float,
    batch_size: int,
    learners: int,
) -> Work:
    """Return the work of a method's node in a round.

    Parameters
    ----------
    scenario : Scenario
    entry : one of `scenario.algorithm`
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
