"""Every node's architecture and the parameters that it starts with."""

import math

import torch
from torch import Tensor

from netsim.errors import ScenarioError, one_line
from netsim.learning.architecture import Architecture, build_architecture
from netsim.learning.global_draws import ALONE
from netsim.learning.tasks import Examples
from netsim.models import ModelKind
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.world import memory


def _values_of(kind: ModelKind, examples: Examples) -> int:
    """Numbers in a model, which is built without its values.

    Raises
    ------
    ScenarioError
        If it can't be built.
    """
    where = _named(kind)
    try:
        with ALONE, torch.random.fork_rng(devices=[]), torch.device("meta"):
            module = kind.build(examples.input_shape, examples.num_outputs)
    except ScenarioError:
        raise
    except (ArithmeticError, AssertionError, RuntimeError, TypeError, ValueError) as error:
        first = one_line(str(error).partition("\n")[0])
        raise ScenarioError(f"{where}: can't be built: {first}; choose other sizes") from error
    return sum(t.numel() for t in (*module.parameters(), *module.buffers()))


def _require_room(scenario: Scenario, examples: Examples, device: torch.device) -> memory.Need:
    """What the run will take; raise ScenarioError if there is no memory for it.

    Parameters
    ----------
    scenario : Scenario
    examples : Examples
        What models are built for.
    device : torch.device
        Of the parameters.

    Raises
    ------
    ScenarioError
        Also if a model can't be built.
    """
    values = [_values_of(kind, examples) for kind in scenario.model]
    need = memory.of_models(scenario, values, math.prod(examples.input_shape), device)
    largest = max(range(len(values)), key=values.__getitem__)
    try:
        need.require("choose smaller layers, or fewer nodes")
    except ScenarioError as error:
        where = f"{_named(scenario.model[largest])}: has {values[largest]:,} parameters, and a run"
        raise ScenarioError(f"{where} {error}") from None
    return need


def _require_outputs(where: str, module: torch.nn.Module, examples: Examples) -> None:
    """Raise ScenarioError if a model gives something else than the task needs.

    Parameters
    ----------
    where : str
        What the message begins with.
    module : torch.nn.Module
        On the CPU. Tensors of the device `meta` would do, but the first of them takes two seconds.
    examples : Examples
    """
    given = torch.from_numpy(examples.x[:2])
    is_whole = not given.is_floating_point()
    if is_whole and not any(isinstance(m, torch.nn.Embedding) for m in module.modules()):
        raise ScenarioError(
            f"{where}: takes no whole numbers, which the inputs are; take a model that begins with "
            'torch.nn.Embedding, such as "transformer"'
        )
    dtype = given.dtype if is_whole else next(module.parameters()).dtype
    was_training = module.training
    try:
        with ALONE, torch.no_grad(), torch.random.fork_rng(devices=[]):
            outputs = module.eval()(given.to(dtype))
    except Exception:  # training will say what is wrong, with the place
        return
    finally:
        module.train(was_training)
    shape = tuple(outputs.shape[1:])
    if shape != examples.output_shape:
        raise ScenarioError(
            f"{where}: gives {shape} for a sample, and the task needs {examples.output_shape}; "
            "take another model"
        )


def _named(kind: ModelKind) -> str:
    """How errors name a model."""
    return f'[model] kind = "{kind.kind}"'  # type: ignore[attr-defined]


def initial_models(
    scenario: Scenario,
    examples: Examples,
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[tuple[Architecture, ...], tuple[Tensor, ...], memory.Need]:
    """Node i has architecture i modulo their number.

    Parameters
    ----------
    scenario : Scenario
    examples : Examples
        What models are built for.
    streams : Streams
    device, dtype
        Of the parameters.

    Returns
    -------
    architectures : tuple of Architecture
        By node; nodes of one architecture have the same object.
    rows : tuple of torch.Tensor
        (D,) initial parameters by node, D that of its architecture. One tensor for all nodes of an
        architecture with `[training] common_initial`, else each its own draw.
    need : Need
        The memory that a run takes.

    Raises
    ------
    ScenarioError
        If a model can't be built for these samples, gives something else than the task needs, or
        does not fit into memory.
    """
    kinds = scenario.model
    need = _require_room(scenario, examples, device)
    layouts: list[Architecture] = []
    num_outputs = math.prod(examples.output_shape)
    common: list[Tensor] = []
    rows: list[Tensor] = []

    def draw(which: int, *node: int) -> tuple[torch.nn.Module, Tensor]:
        seed = streams.key("initial model", which, *node)
        with ALONE, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
            module = kinds[which].build(examples.input_shape, examples.num_outputs)
        on_cpu = Architecture("", module, torch.device("cpu"), dtype, num_outputs)
        return module, on_cpu.row()

    for which, kind in enumerate(kinds):
        module, row = draw(which)
        _require_outputs(_named(kind), module, examples)
        layouts.append(build_architecture(type(kind).__name__, module, device, dtype, num_outputs))
        common.append(row.to(device))
    for node in range(scenario.nodes.count):
        which = node % len(kinds)
        if scenario.training.common_initial:
            rows.append(common[which])
        else:
            rows.append(draw(which, node)[1].to(device))
    chosen = tuple(layouts[i % len(kinds)] for i in range(scenario.nodes.count))
    return chosen, tuple(rows), need
