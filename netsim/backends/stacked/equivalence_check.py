"""The stacked form of a model, tried out before it is used.

What can't be stacked (a layer with parameters that is not known, or a pass that mixes samples) is
found out by running two lanes against the model itself.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from netsim.backends.stacked.chain import chain_of
from netsim.backends.stacked.stacked_module import Form, UnstackableError
from netsim.learning.architecture import Architecture
from netsim.learning.masks import generator, seeded

TAILS = {
    *("sigmoid", "silu", "softplus", "elu", "celu", "gelu", "mish", "log_sigmoid_forward"),
    *("log_sigmoid", "pow", "log1p", "expm1", "erf", "erfc", "sin", "cos", "tan", "atan", "asin"),
    *("acos", "sinh", "cosh", "logit", "selu", "softplus_backward", "gelu_backward"),
}
"""Functions whose last entries of a tensor a CPU computes in another way, with other bits."""

PROBE_LANES, PROBE_SAMPLES = 2, 3

LARGEST_VALUE = 10.0
"""Of a parameter in a probe."""

LARGEST_DIFFERENCE = 1e-5
"""Relative, in float64: three samples of a deep normalised network reach 1e-9 by rounding."""


def build(architecture: Architecture, samples: Tensor) -> Form:
    """The stacked form of an architecture, tried out.

    Parameters
    ----------
    samples : torch.Tensor
        (n, ...) some inputs.

    Raises
    ------
    UnstackableError
        If it has none.
    """
    if architecture not in _TRIED:
        count = PROBE_LANES * PROBE_SAMPLES
        _TRIED[architecture] = _tried(
            architecture, samples[torch.arange(count, device=samples.device) % len(samples)]
        )
    reason, is_chain, has_tails = _TRIED[architecture]
    if reason is not None:
        raise UnstackableError(reason)
    form = Form(architecture)
    form.chain = chain_of(form.module) if is_chain else None
    form.has_tails = has_tails
    return form


_TRIED: WeakKeyDictionary[Architecture, tuple[str | None, bool, bool]] = WeakKeyDictionary()
"""Why a model has no stacked form; whether it is a chain, and has tails.

Trying takes a tenth of a second.
"""


class _Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether an operation was among those of `TAILS`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tails = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch need not import its compiler, which takes a second, to keep out of here."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.tails |= func.overloadpacket.__name__.rstrip("_") in TAILS
        return func(*args, **(kwargs or {}))


def _tried(a: Architecture, x: Tensor) -> tuple[str | None, bool, bool]:
    # In float64, where a difference can only be a mistake and never the order of a sum.
    double = Architecture(a.name, copy.deepcopy(a.module), a.device, torch.float64, a.num_outputs)
    x = x.double() if x.is_floating_point() else x
    try:
        trial = Form(double)
        with _Seen() as seen:
            reason = differs(trial, x)
    except UnstackableError as error:
        return str(error), False, False
    except Exception as error:  # whatever a forward pass may raise
        what = f"{type(error).__name__}: {error}"
        return f"its forward pass needs one model's samples: {what}", False, False
    trial.chain = chain_of(trial.module)
    is_chain = trial.chain is not None and _agrees(trial, x)
    return reason, is_chain, seen.tails and a.device.type == "cpu"


def _agrees(trial: Form, x: Tensor) -> bool:
    """Whether the chain of a form is what its module runs."""
    try:
        return differs(trial, x) is None
    except Exception:  # its module runs, so the chain is to blame
        return False


def differs(form: Form, x: Tensor) -> str | None:
    """Whether lanes differ from the models that they stand for, and how; None if they agree.

    Parameters
    ----------
    x : torch.Tensor
        (lanes x samples, ...) inputs to try.
    """
    size = len(x) // PROBE_LANES
    for training, counts in ((False, None), (True, None), (True, [size, size - 1])):
        worst = max(_differences(form, x, training, counts), default=0.0)
        if not worst < LARGEST_DIFFERENCE:
            mode = "training" if training else "evaluation"
            return f"lanes differ from single models by {worst:.1e} in {mode}"
    return None


def _differences(
    form: Form, x: Tensor, training: bool, counts: list[int] | None
) -> Iterator[float]:
    """Relative differences of outputs, gradients and buffers, lane by lane."""
    architecture, size = form.architecture, len(x) // PROBE_LANES
    row = architecture.row()
    scale = 1 + torch.arange(PROBE_LANES, device=row.device, dtype=row.dtype).unsqueeze(1) / 8
    # Whatever it holds now: a model that diverged must not decide what is a difference.
    rows = row.nan_to_num(0.5, 0.5, 0.5).clamp(-LARGEST_VALUE, LARGEST_VALUE) * scale
    alone = rows.clone()
    kept = torch.ones(PROBE_LANES, size, device=row.device, dtype=row.dtype)
    form.lanes.mask = form.lanes.counts = None
    form.lanes.sizes = counts or ()
    if counts is not None:
        form.lanes.counts = torch.tensor(counts).to(row)
        kept = (torch.arange(size).to(row) < form.lanes.counts.unsqueeze(1)).to(row)
        form.lanes.mask = kept
    sinks = torch.zeros_like(rows[:, : architecture.num_parameters])
    form.lanes.generators = [generator(row.device, i) for i in range(PROBE_LANES)]
    form.bind(rows, architecture.parameters_in(sinks), training)
    form.lanes.decay = 0.0
    given: list[Tensor] = []

    def itself(outputs: Tensor) -> Tensor:
        given.append(outputs.clone())
        return outputs * kept.view(-1, *[1] * (outputs.dim() - 1))

    form.differentiate(x, itself)
    (y,) = given
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
