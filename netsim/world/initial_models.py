"""Every node's architecture and the parameters that it starts with."""

import math
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from netsim.errors import ScenarioError, one_line
from netsim.learning.architecture import (
    Architecture,
    Traits,
    build_architecture,
)
from netsim.learning.global_draws import ALONE, seeded
from netsim.learning.model_probe import probe
from netsim.learning.module_copies import shared_memory
from netsim.learning.structure import require_real
from netsim.learning.tasks import Examples
from netsim.learning.whole_numbers import whole_buffers
from netsim.models import ModelKind
from netsim.models._head import Missing
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.world import memory


def _values_of(kind: ModelKind, examples: Examples, dtype: torch.dtype) -> int:
    """Numbers in a model, which is built without its values.

    Raises
    ------
    ScenarioError
        If it can't be built, or has numbers of another kind than `dtype` holds.
    """
    where = _model_label(kind)
    build = partial(kind.build, examples.input_shape, examples.num_outputs)
    try:
        with ALONE, torch.random.fork_rng(devices=[]):
            try:
                with torch.device("meta"):
                    module = build()
            except (NotImplementedError, RuntimeError):  # it looks at values: there must be some
                module = build()
    except ScenarioError:
        raise
    except Exception as error:  # whatever a user's function may raise
        first = one_line(str(error).partition("\n")[0])
        explained = (ArithmeticError, AssertionError, RuntimeError, TypeError, ValueError)
        if not isinstance(error, explained):  # others say little but for their name
            first = f"{type(error).__name__}: {first}"
        raise ScenarioError(f"{where}: can't be built: {first}; choose other sizes") from error
    require_real(where, module, dtype)
    return sum(t.numel() for t in (*module.parameters(), *module.buffers()))


def _require_room(
    scenario: Scenario, examples: Examples, device: torch.device, dtype: torch.dtype
) -> memory.Need:
    """Estimate the memory of the run; raise ScenarioError if there is not enough.

    Parameters
    ----------
    scenario : Scenario
    examples : Examples
        What models are built for.
    device, dtype
        Of the parameters.

    Raises
    ------
    ScenarioError
        Also if a model can't be built.
    """
    values = [_values_of(kind, examples, dtype) for kind in scenario.model]
    need = memory.of_models(scenario, values, examples.x.shape, device)
    largest = max(range(len(values)), key=values.__getitem__)
    try:
        need.require("choose smaller layers or fewer nodes, or set [run] spill_dir")
    except ScenarioError as error:
        label = _model_label(scenario.model[largest])
        where = f"{label}: has {values[largest]:,} parameters, and a run"
        raise ScenarioError(f"{where} {error}") from None
    return need


def _probe_model(where: str, module: torch.nn.Module, examples: Examples) -> Traits:
    """Probe a model; raise ScenarioError if it gives something else than the task needs.

    Parameters
    ----------
    where : str
        What the message begins with.
    module : torch.nn.Module
        On the CPU. Tensors of the device `meta` would do, but the first of them takes two seconds.
    examples : Examples
    """
    is_whole = not np.issubdtype(examples.x.dtype, np.floating)
    rows = np.arange(2) % len(examples.x)
    if is_whole:  # the least and the greatest number are those that a model may have no entry for
        ends = examples.x.argmin(), examples.x.argmax()
        rows = np.array([np.unravel_index(end, examples.x.shape)[0] for end in ends])
    given = torch.from_numpy(examples.x[rows])
    reals = [p.dtype for p in module.parameters() if p.is_floating_point()]
    if not is_whole and reals:
        given = given.to(reals[0])
    try:
        traits, outputs = probe(where, module, given)
    except ScenarioError as error:
        embeds = any(isinstance(m, torch.nn.Embedding) for m in module.modules())
        if embeds or not is_whole or not isinstance(error.__cause__, RuntimeError):
            raise
        raise ScenarioError(
            f"{where}: takes no whole numbers, which the inputs are: "
            f"{one_line(str(error.__cause__).partition(chr(10))[0])}; take a model that begins "
            'with torch.nn.Embedding, such as "transformer", or give floating-point numbers'
        ) from error
    shape = tuple(outputs.shape[1:])
    if len(outputs) != len(given) or shape != examples.output_shape:
        found = shape if len(outputs) == len(given) else tuple(outputs.shape)
        of = "a sample" if len(outputs) == len(given) else f"{len(given)} samples"
        raise ScenarioError(
            f"{where}: gives {found} for {of}, and the task needs {examples.output_shape} for a "
            "sample; take another model"
        )
    return traits


def _row(module: torch.nn.Module, like: Architecture) -> Tensor:
    """The values of a module as a row of a layout, on the CPU."""
    cpu = torch.device("cpu")
    return Architecture("", module, cpu, like.dtype, like.num_outputs, like.traits).row()


def _require_kept(scenario: Scenario, where: str, layout: Architecture) -> None:
    """Raise ScenarioError if what is to be kept of a model is not there."""
    for part in (part for part in scenario.metrics.keep if part in ("head", "features")):
        if isinstance(getattr(layout.module, part, None), Missing):
            raise ScenarioError(
                f'[metrics] keep: "{part}": {where} has no such part; say which of its submodules '
                'is the head: [model] head = "NAME"'
            )


def _require_same_values(where: str, one: torch.nn.Module, other: torch.nn.Module) -> None:
    """Refuse a function whose second call from one seed gives other values.

    Raises
    ------
    ScenarioError
    """
    again = dict((*other.named_parameters(), *other.named_buffers()))
    for key, tensor in (*one.named_parameters(), *one.named_buffers()):
        if key not in again or is_lazy(tensor):
            continue  # what its passes made: they are looked at elsewhere
        if not _same_values(tensor, again[key]):
            raise ScenarioError(
                f"{where}: {key} has other values at each call, drawn from random numbers that no "
                "seed of a run sets; draw them by torch's own (torch.randn, torch.nn.init) without "
                "a generator, or give the module itself"
            )


def _same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype or not one.is_floating_point():
        return torch.equal(one, other)
    return torch.allclose(one, other, equal_nan=True)


def _model_label(kind: ModelKind) -> str:
    """Name a model in errors."""
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
    need = _require_room(scenario, examples, device, dtype)
    layouts: list[Architecture] = []
    num_outputs = math.prod(examples.output_shape)
    common: list[Tensor] = []
    rows: list[Tensor] = []

    forms: dict[int, list[tuple[str, tuple[int, ...]]]] = {}

    def make_model(which: int, *node: int) -> torch.nn.Module:
        seed = streams.key("initial model", which, *node)
        with seeded(torch.device("cpu"), seed & 0x7FFFFFFFFFFFFFFF):
            module = kinds[which].build(examples.input_shape, examples.num_outputs)
        tensors = (*module.named_parameters(), *module.named_buffers())
        form = [(key, () if is_lazy(one) else tuple(one.shape)) for key, one in tensors]
        if forms.setdefault(which, form) != form:
            raise ScenarioError(
                f"{_model_label(kinds[which])}: makes a model of another form at each call; all "
                "nodes that have it need one form"
            )
        return module

    for which, kind in enumerate(kinds):
        where, module = _model_label(kind), make_model(which)
        name = type(kind).__name__
        require_real(where, module, dtype)
        shared = shared_memory(module)
        if shared is not None:
            raise ScenarioError(f"{where}: {shared}")
        kind.require_inputs(examples.x, examples.num_outputs)
        traits = _probe_model(where, module, examples)._replace(
            look_seed=streams.key("look", which) & 0x7FFFFFFFFFFFFFFF
        )
        if not type(kind).__module__.startswith("netsim.models."):
            _require_same_values(where, module, make_model(which))
        if not scenario.training.common_initial:
            own = whole_buffers(make_model(which, which))
            drawn = [n for n, b in whole_buffers(module).items() if not torch.equal(b, own[n])]
            traits = traits._replace(whole=tuple(dict.fromkeys((*traits.whole, *drawn))))
        head = getattr(kind, "head", None) or "head"
        layout = build_architecture(
            *(name, module, device, dtype, num_outputs),
            traits=traits,
            head=head,
            fresh=partial(make_model, which),
        )
        _require_kept(scenario, where, layout)
        layouts.append(layout)
        common.append(layout.row())
    for node in range(scenario.nodes.count):
        which = node % len(kinds)
        if scenario.training.common_initial:
            rows.append(common[which])
        else:
            rows.append(_row(make_model(which, node), layouts[which]).to(device))
    chosen = tuple(layouts[i % len(kinds)] for i in range(scenario.nodes.count))
    return chosen, tuple(rows), need
