"""Remarks on the methods of a scenario: how long each waits for answers, how much each trains."""

from netsim.backends.native.support import native_support
from netsim.engine.simulation import Simulation
from netsim.errors import NetsimError
from netsim.node.node import Node
from netsim.recording import run_warnings
from netsim.scenario.tables import AlgorithmEntry, Scenario
from netsim.schedules.rounds import Rounds
from netsim.units import to_ns
from netsim.world.builder import World

_LOOKED_AT = 200
"""So many nodes are looked at."""


def remarks(world: World) -> list[str]:
    """Collect the remarks for whoever validates a scenario, one a method that waits."""
    sentences = [remark for entry in world.scenario.algorithm if (remark := time_out(world, entry))]
    if (last := last_wakeup(world.scenario)) is not None:
        sentences.append(last)
    steps = {entry.name: _steps_a_round(world, entry) for entry in world.scenario.algorithm}
    unequal = run_warnings.unequal_steps(
        {name: n for name, n in steps.items() if n is not None}, "local steps a round"
    )
    return [*sentences, *([] if unequal is None else [unequal]), *by_pytorch(world)]


def by_pytorch(world: World) -> list[str]:
    """Say which models PyTorch computes, and why the native kernel does not."""
    if world.scenario.run.backend in ("stacked", "sequential") or not world.architectures:
        return []
    models, shards = list(dict.fromkeys(world.architectures)), world.shards
    support = native_support(models, tuple(shards.x.shape[1:]), shards.task)
    return [
        f"[model] {model.name} is computed by PyTorch, not by the native kernel: {reason}"
        for model in models
        if (reason := support.reason(model))
    ]


def last_wakeup(scenario: Scenario) -> str | None:
    """Say that nodes wake at the horizon too, where a round would begin there; None: they don't."""
    schedule = scenario.exchange
    if not isinstance(schedule, Rounds) or any(
        later.exchange != schedule for _, later in scenario.later
    ):
        return None
    rounds, rest = divmod(to_ns(scenario.horizon_s), to_ns(schedule.interval_s))
    if rest or not rounds:
        return None
    return (
        f"{rounds:,} rounds of {schedule.interval_s:g} s, and nodes wake once more at horizon_s to "
        f"mix what came, so they begin local training {rounds + 1:,} times; a shorter horizon_s, "
        f"such as {scenario.horizon_s - schedule.interval_s / 2:g}, leaves the last out"
    )


def time_out(world: World, entry: AlgorithmEntry) -> str | None:
    """Say how long a method waits for its peers over the scenario's links; None: it asks nobody."""
    fields = type(entry.params).model_fields
    if "timeout_s" not in fields or ("pace" in fields and not _works_in_slots(world, entry)):
        return None
    whom = getattr(entry.params, "asks", "all neighbours")
    try:
        run = Simulation(world, entry, None, True, None)
    except NetsimError:  # what playing it will refuse
        return None
    asked = [those for node in run.nodes[:_LOOKED_AT] for those in _requests_at_once(node, whom)]
    if not asked:
        return None
    set_s = getattr(entry.params, "timeout_s", None)
    if set_s is not None:
        return f"{entry.name} waits timeout_s = {set_s:g} s for answers, as set"
    waits_s = [node.patience_s(those) for node, those in asked]
    least, most = min(waits_s), max(waits_s)
    span = f"{least:.3g} s" if f"{least:.3g}" == f"{most:.3g}" else f"{least:.3g} to {most:.3g} s"
    return (
        f"{entry.name} waits {span} for answers where it asks {whom} (by the links; timeout_s sets "
        "another)"
    )


def _requests_at_once(node: Node, whom: str) -> list[tuple[Node, tuple[int, ...]]]:
    """List whom a node asks at once; each neighbour apart where it asks one of them."""
    if whom == "the server":
        return [(node, node.servers)] if node.servers else []
    if whom == "one neighbour":
        return [(node, (j,)) for j in node.neighbours]
    return [(node, node.neighbours)] if node.neighbours else []


def _steps_a_round(world: World, entry: AlgorithmEntry) -> float | None:
    """Local steps that a method's Params have a node take a round, on average; None: not said."""
    params = entry.params
    if _works_in_slots(world, entry):
        return None
    amount = params.amount() if hasattr(params, "amount") else {}
    epochs = amount.get("epochs", getattr(params, "local_epochs", None))
    steps = amount.get("steps", getattr(params, "steps", None))
    if steps is not None:
        return float(steps * getattr(params, "inner_steps", 1))
    if epochs is None:
        return None
    batch = world.scenario.training_of(entry).batch_size
    sizes = [size for i in range(len(world.roles)) if (size := world.shards.train_size(i))]
    passes = [max(1, -(-size // batch)) for size in sizes]
    return float(sum(passes) * epochs / max(1, len(passes)))


def _works_in_slots(world: World, entry: AlgorithmEntry) -> bool:
    """True if the method trains a step a slot and asks its peers, as stars do."""
    params, schedule = entry.params, world.scenario.exchange.schedule  # type: ignore[attr-defined]
    has_slots = "uninvolved_train" in type(params).model_fields
    return has_slots and schedule != "rounds" and getattr(params, "pace", "slots") == "slots"
