"""Building stacked modules, and checking them against the models that they stand for.

A check runs two lanes with different parameters, and each model by itself, in float64. It finds
what can't be stacked: a forward pass that mixes samples, for one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from netsim.backends.stacked.chain import chain_of
from netsim.backends.stacked.stacked_module import StackedModule, UnstackableError
from netsim.learning.architecture import Architecture
from netsim.learning.global_draws import generator, seeded

TAILS = {
    *("sigmoid", "silu", "softplus", "elu", "celu", "gelu", "mish", "log_sigmoid_forward"),
    *("log_sigmoid", "pow", "log1p", "expm1", "erf", "erfc", "sin", "cos", "tan", "atan", "asin"),
    *("acos", "sinh", "cosh", "logit", "selu", "softplus_backward", "gelu_backward"),
}
"""Operations whose last entries of a tensor a CPU computes by scalar code, with other bits."""

READS = {"_local_scalar_dense", "is_nonzero", "equal", "allclose"}
"""Operations that hand Python a value of a tensor, upon which a forward pass may branch."""

PROBE_LANES, PROBE_SAMPLES = 2, 8
"""Lanes of a check, and samples in each."""

LARGEST_VALUE = 10.0
"""Largest absolute value of a parameter in a check."""

LARGEST_DIFFERENCE = 1e-5
"""Relative difference that is still rounding: a deep normalised network reaches 1e-9."""


def build(architecture: Architecture, samples: Tensor) -> StackedModule:
    """The stacked form of an architecture, checked.

    Parameters
    ----------
    architecture : Architecture
    samples : torch.Tensor
        (n, ...) inputs for the check.

    Raises
    ------
    UnstackableError
        If it has none; says why.
    """
    if architecture not in _CHECKED:
        count = PROBE_LANES * PROBE_SAMPLES
        _CHECKED[architecture] = _check_architecture(
            architecture, samples[torch.arange(count, device=samples.device) % len(samples)]
        )
    reason, is_chain, has_tails = _CHECKED[architecture]
    if reason is not None:
        raise UnstackableError(reason)
    stacked = StackedModule(architecture)
    stacked.chain = chain_of(stacked.module) if is_chain else None
    stacked.has_tails = has_tails
    return stacked


_CHECKED: WeakKeyDictionary[Architecture, tuple[str | None, bool, bool]] = WeakKeyDictionary()
"""Why a model has no stacked form (None: it has one), whether it is a chain, and has tails.

Kept, since a check takes a tenth of a second.
"""


class _Detector(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether operations of `TAILS` and of `READS` are run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tails = self.reads = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, which takes a second."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        self.tails |= name.rstrip("_") in TAILS
        self.reads |= name in READS
        return func(*args, **(kwargs or {}))


def _check_architecture(a: Architecture, x: Tensor) -> tuple[str | None, bool, bool]:
    """An entry of `_CHECKED`, from samples (lanes x samples, ...)."""
    # In float64 a difference beyond rounding is a mistake, not the order of a sum.
    try:
        copied = copy.deepcopy(a.module)
    except Exception as error:  # whatever a copy may raise
        return f"it can't be copied: {str(error).partition(chr(10))[0]}", False, False
    double = Architecture(a.name, copied, a.device, torch.float64, a.num_outputs)
    x = x.double() if x.is_floating_point() else x
    try:
        probe = StackedModule(double)
        detector = _Detector()
        reason = describe_difference(probe, x, detector)
    except UnstackableError as error:
        return str(error), False, False
    except Exception as error:  # whatever a forward pass may raise
        what = f"{type(error).__name__}: {error}"
        return f"its forward pass needs one model's samples: {what}", False, False
    if detector.reads:
        reason = "its forward pass takes values out of tensors, which another lane would share"
    probe.chain = chain_of(probe.module)
    is_chain = probe.chain is not None and _chain_agrees(probe, x)
    return reason, is_chain, detector.tails and a.device.type == "cpu"


def _chain_agrees(probe: StackedModule, x: Tensor) -> bool:
    """Return whether the chain of a stacked module computes the same as the module."""
    try:
        return describe_difference(probe, x) is None
    except Exception:  # the module itself ran, so the chain is wrong
        return False


def describe_difference(
    stacked: StackedModule, x: Tensor, watch: AbstractContextManager[object] | None = None
) -> str | None:
    """Describe the difference of lanes from the models that they stand for; None if they agree.

    Parameters
    ----------
    stacked : StackedModule
    x : torch.Tensor
        (lanes x samples, ...) inputs.
    watch : context manager, optional
        Entered whenever the stacked module runs.
    """
    size = len(x) // PROBE_LANES
    for training, counts in ((False, None), (True, None), (True, [size, size - 1])):
        worst = max(_differences(stacked, x, training, counts, watch), default=0.0)
        if not worst < LARGEST_DIFFERENCE:
            mode = "training" if training else "evaluation"
            return f"lanes differ from single models by {worst:.1e} in {mode}"
    return None


def _differences(
    stacked: StackedModule,
    x: Tensor,
    training: bool,
    counts: list[int] | None,
    watch: AbstractContextManager[object] | None,
) -> Iterator[float]:
    """Relative differences of outputs, gradients and buffers, lane by lane.

    Parameters
    ----------
    stacked : StackedModule
    x : torch.Tensor
        (lanes x samples, ...) inputs.
    training : bool
        Mode of the model.
    counts : list of int or None
        Samples in each lane, where the others are padding; None: no padding.
    watch : context manager or None
        Entered while the stacked module runs.
    """
    architecture, lanes, size = stacked.architecture, stacked.lanes, len(x) // PROBE_LANES
    row = architecture.row()
    scale = 1 + torch.arange(PROBE_LANES, device=row.device, dtype=row.dtype).unsqueeze(1) / 8
    # The module may hold a diverged model, with which every difference would be nan.
    rows = row.nan_to_num(0.5, 0.5, 0.5).clamp(-LARGEST_VALUE, LARGEST_VALUE) * scale
    alone = rows.clone()
    is_sample = torch.ones(PROBE_LANES, size, device=row.device, dtype=row.dtype)
    lanes.mask = lanes.counts = None
    lanes.sizes = counts or ()
    if counts is not None:
        lanes.counts = torch.tensor(counts).to(row)
        is_sample = (torch.arange(size).to(row) < lanes.counts.unsqueeze(1)).to(row)
        lanes.mask = is_sample
    sinks = torch.zeros_like(rows[:, : architecture.num_parameters])
    lanes.generators = [generator(row.device, i) for i in range(PROBE_LANES)]
    stacked.bind(rows, architecture.parameters_in(sinks), training)
    lanes.decay = 0.0
    results: list[Tensor] = []

    def itself(outputs: Tensor) -> Tensor:
        results.append(outputs.clone())
        return outputs * is_sample.view(-1, *[1] * (outputs.dim() - 1))

    with watch or nullcontext():
        stacked.differentiate(x, itself)
    (y,) = results
    for i in range(PROBE_LANES):
        gradient = torch.zeros_like(sinks[i])
        model = architecture.bind(alone[i], gradient, training)
        part = slice(i * size, i * size + (size if counts is None else counts[i]))
        with seeded(row.device, i):
            y_alone = model(x[part])
        (y_alone * y_alone.detach()).sum().backward()
        for ours, theirs in ((y[part], y_alone), (sinks[i], gradient), (rows[i], alone[i])):
            size_of = theirs.abs().max().clamp(min=1e-6)
            yield float(((ours - theirs).abs().max() / size_of).detach())
