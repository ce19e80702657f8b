"""Finding out what a model does that its tensors don't tell, by a few forward passes.

A model that draws random numbers by itself (`F.dropout`, dropout in an LSTM, noise) must be seeded
in every pass; one that counts in whole numbers must have them in its row. What no run could play
right is refused here: a pass that fails, or draws from generators that nothing seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from netsim.errors import ScenarioError, one_line
from netsim.learning.architecture import DROPOUT, Traits
from netsim.learning.global_draws import ALONE, GlobalGenerators, torch_state
from netsim.learning.whole_numbers import whole_buffers

PASSES = 2
"""Forward passes in training mode: a counter that begins at 0 may show at the second one only."""


def probe(where: str, module: nn.Module, x: Tensor) -> tuple[Traits, Tensor]:
    """Probe a model: its traits, and its outputs in evaluation mode.

    Parameters
    ----------
    where : str
        What messages begin with.
    module : torch.nn.Module
        On the CPU; its values and mode are as before afterwards.
    x : torch.Tensor
        (n, ...) samples, two or more.

    Raises
    ------
    ScenarioError
        If a pass fails, gives something else than a tensor, or draws from the generators of NumPy
        or Python.
    """
    with (
        ALONE,
        torch.no_grad(),
        torch.random.fork_rng(devices=[]),
        _restoring_module(module) as held,
    ):
        watched = GlobalGenerators()
        before = {name: b.clone() for name, b in module.named_buffers()}
        module.eval()
        outputs, draws_in_evaluation = _run_pass(where, module, x)
        writes = any(t is not table.get(key) or not _are_equal(t, v) for table, key, t, v in held)
        _require_rows(where, module, x, outputs)
        module.train()
        for layer in module.modules():
            if isinstance(layer, DROPOUT):  # these are seeded in any case
                layer.training = False
        drew, changed = [], dict[str, None]()
        for _ in range(PASSES):  # what turns over is back after two
            drew.append(_run_pass(where, module, x)[1])
            found = whole_buffers(module).items()
            changed |= dict.fromkeys(n for n, b in found if not _are_equal(b, before[n]))
        others = [name for name in watched.that_drew() if name != "torch"]
    if others:
        raise ScenarioError(
            f"{where}: its forward pass draws from {' and '.join(others)}'s global random numbers, "
            "which no seed of a run sets; draw by torch.rand or torch.randn"
        )
    return Traits(any(drew), draws_in_evaluation, writes, tuple(changed)), outputs


def _require_rows(where: str, module: nn.Module, x: Tensor, outputs: Tensor) -> None:
    """Refuse a model that gives a sample alone another shape than among others.

    Raises
    ------
    ScenarioError
    """
    try:
        alone, _ = _run_pass(where, module, x[:1])
    except ScenarioError:
        return  # it normalises over several: a run tells, should it have to take one alone
    if len(outputs) == len(x) and alone.shape != outputs[:1].shape:
        raise ScenarioError(
            f"{where}: gives {tuple(alone.shape)} for one sample alone, and {tuple(outputs.shape)} "
            f"for {len(x)}; a minibatch may have one: name the dimension that squeeze or reshape "
            "takes, as in squeeze(-1)"
        )


def _run_pass(where: str, module: nn.Module, x: Tensor) -> tuple[Tensor, bool]:
    """Outputs, and whether torch's generator has moved."""
    state = torch_state()
    try:
        outputs = module(x)
    except Exception as error:  # whatever a forward pass may raise
        said = one_line(str(error).partition("\n")[0])
        mode = "training" if module.training else "evaluation"
        raise ScenarioError(
            f"{where}: its forward pass fails on {len(x)} samples of shape {tuple(x.shape[1:])} in "
            f"{mode} mode: {type(error).__name__}: {said}"
        ) from error
    if not isinstance(outputs, Tensor):
        raise ScenarioError(
            f"{where}: gives a {type(outputs).__name__}; it must give one tensor, with a row for "
            "each sample: wrap it in a module whose forward returns that"
        )
    if outputs.dtype not in (torch.float32, torch.float64):
        raise ScenarioError(
            f"{where}: gives outputs of {outputs.dtype}; losses and metrics take float32 or "
            "float64: write .float() behind them"
        )
    return outputs, torch_state() != state


def _are_equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)


def _is_expanded(tensor: Tensor) -> bool:
    """Return whether entries of a tensor are one place in memory, which no pass can write."""
    return any(n > 1 and not s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


@contextmanager
def _restoring_module(
    module: nn.Module,
) -> Iterator[list[tuple[dict[str, Any], str, Tensor, Tensor]]]:
    """Restore the module's values and modes after the block: a pass may change parameters, too.

    Yields where each tensor is held, its key there, itself, and the values that it had.
    """
    modes = [(m, m.training) for m in module.modules()]
    tables: list[dict[str, Any]] = [
        table for m in module.modules() for table in (m._parameters, m._buffers)
    ]
    held = [
        (table, key, tensor, tensor.detach().clone())
        for table in tables
        for key, tensor in table.items()
        if tensor is not None
    ]
    try:
        yield held
    finally:
        for layer, mode in modes:
            layer.training = mode
        for table, key, tensor, values in held:
            if not _is_expanded(tensor):
                tensor.copy_(values)
            table[key] = tensor
