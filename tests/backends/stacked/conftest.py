"""A GPU without one: fake tensors on the device `cuda`, and a count of what makes the host wait.

`FakeTensorMode` gives each tensor a shape, a type and a device but no values, and refuses
operations on tensors of two devices as a GPU would. What a build of torch without CUDA can't do for
such tensors is done here instead:

- device guards: torch's own guard that does nothing takes the place of CUDA's
- autograd's engine, which needs CUDA's streams: a walk over the same graph, in Python
- generators of random numbers on the device: generators of the CPU, which fake tensors take, too
- CUDA graphs: the step itself runs each time, and fails if it makes the host wait: a capture would
- what the host reads: zeros, and true for truth values
"""

import ctypes
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._C._autograd import DeviceType
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd.graph import get_gradient_edge
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from netsim.backends.stacked import equivalence_check, training, workspace

GPU = torch.device("cuda:0")
MEMORY_BYTES = 16 << 30

READERS = (Tensor.numpy, Tensor.__bool__, Tensor.__float__, Tensor.item)
"""What gives the host a value."""

READS = {"aten::nonzero", "aten::equal", "aten::is_nonzero"}
"""Operations whose result the host needs, beside `_local_scalar_dense`."""


class Waits(TorchDispatchMode):
    """Counts what makes the host wait for the device.

    Attributes
    ----------
    found : Counter
        `read`: a value goes to the host. `upload`: a copy to the device that returns when it has
        arrived, after all kernels before it. `late upload`: one that returns at once.
    """

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.name().split(".")[0]
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        on_gpu = [t.is_cuda for t in tensors]
        if not tensors:
            return func(*args, **kwargs)
        if name == "aten::_local_scalar_dense":
            self.found["read"] += on_gpu[0]
            return 0.0 if tensors[0].is_floating_point() else tensors[0].dtype == torch.bool
        if name in READS and any(on_gpu):
            self.found["read"] += 1
        elif name == "aten::_to_copy":
            to = torch.device(kwargs.get("device") or tensors[0].device)
            self._copy(on_gpu[0], to.type == "cuda", kwargs.get("non_blocking", False))
        elif name == "aten::copy_":
            late = kwargs.get("non_blocking", len(args) > 2 and args[2])
            self._copy(on_gpu[1], on_gpu[0], late)
        elif name.startswith("aten::index") and isinstance(args[1], list | tuple):
            for index in args[1]:
                if index is not None:
                    self._copy(index.is_cuda, on_gpu[0], False)
        return func(*args, **kwargs)

    def _copy(self, is_from_gpu, is_to_gpu, is_late):
        if is_from_gpu and not is_to_gpu:
            self.found["read"] += 1
        if is_to_gpu and not is_from_gpu:
            self.found["late upload" if is_late else "upload"] += 1


class Host(TorchFunctionMode):
    """What the host reads of fake tensors: zeros of the right shape."""

    def __init__(self, waits):
        super().__init__()
        self._waits = waits

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is Tensor.__deepcopy__:
            return torch.empty_like(args[0])
        if func in READERS and isinstance(args[0], FakeTensor):
            tensor = args[0]
            self._waits.found["read"] += tensor.is_cuda
            if func is Tensor.numpy:
                return np.zeros(tensor.shape)
            return func is Tensor.__bool__ or 0.0
        return func(*args, **(kwargs or {}))


def backward(tensors, gradients, keep_graph, create_graph, inputs, *_, accumulate_grad, **_others):
    """What autograd's engine does: gradients flow from each node to those before it."""
    edges = [get_gradient_edge(t) for t in tensors]
    arrived = {}

    def arrive(edge, gradient):
        if gradient is not None:
            key = node, number = edge[0], edge[1]
            # as the engine does with the gradient of what was broadcast
            gradient = gradient.sum_to_size(node._input_metadata[number].shape)
            arrived[key] = arrived[key] + gradient if key in arrived else gradient

    with torch.set_grad_enabled(create_graph):
        for edge, gradient in zip(edges, gradients, strict=True):
            arrive(edge, gradient)
        for node in _last_first([edge[0] for edge in edges]):
            given = [arrived.get((node, k)) for k in range(len(node._input_metadata))]
            if all(g is None for g in given):
                continue
            if hasattr(node, "variable"):
                if accumulate_grad:
                    old = node.variable.grad
                    if old is None:
                        node.variable.grad = given[0].detach()
                    else:
                        old.add_(given[0])
                continue
            found = (node if callable(node) else node.apply)(*given)  # a function in Python
            found = found if isinstance(found, tuple) else (found,)
            for edge, gradient in zip(node.next_functions, found, strict=False):
                if edge[0] is not None:
                    arrive(edge, gradient)
    return tuple(arrived.get(tuple(get_gradient_edge(t))[:2]) for t in inputs)


def _last_first(roots):
    """The nodes of a graph, each before those that its gradients flow to."""
    order, seen = [], set()

    def visit(node):
        seen.add(node)
        for before, _ in node.next_functions:
            if before is not None and before not in seen:
                visit(before)
        order.append(node)

    for root in roots:
        if root not in seen:
            visit(root)
    return reversed(order)


def moved(module, device=None, dtype=None):
    """`torch.nn.Module.to` for fake tensors, whose values need not be kept."""
    for layer in module.modules():
        for name, p in layer._parameters.items():
            if p is not None:
                kept = torch.empty(p.shape, dtype=dtype or p.dtype, device=GPU)
                layer._parameters[name] = nn.Parameter(kept)
        for name, b in layer._buffers.items():
            if b is not None:
                kind = dtype if dtype and b.is_floating_point() else b.dtype
                layer._buffers[name] = torch.empty(b.shape, dtype=kind, device=GPU)
    return module


@contextmanager
def device_guard():
    """Put torch's guard that does nothing where CUDA's would be."""
    folder = Path(torch.__file__).parent / "lib"
    library = ctypes.CDLL(str(next(folder.glob("libc10.*"))))
    size = int(DeviceType.PrivateUse1) + 1
    table = (ctypes.c_void_p * size).in_dll(library, "_ZN3c104impl26device_guard_impl_registryE")
    cuda, lazy = int(DeviceType.CUDA), int(DeviceType.Lazy)
    before = table[cuda]
    if before is None:
        table[cuda] = table[lazy]  # a guard of no devices is what torch replaces by one for fakes
        torch._C._ensureCUDADeviceGuardSet()
    try:
        yield
    finally:
        table[cuda] = before


@pytest.fixture
def fake_gpu(monkeypatch):
    """A context in which tensors on `GPU` are fake; it gives the `Waits` that are counted."""
    waits = Waits()

    def listed(tensor):
        waits.found["read"] += tensor.is_cuda
        return np.zeros(tensor.shape).tolist()

    def uncaptured(step, changes):
        def run():
            before = waits.found.copy()
            step()
            assert waits.found == before, "a step that waits can't be captured"

        return run

    @contextmanager
    def entered():
        with monkeypatch.context() as patch, device_guard():
            patch.setattr(torch.autograd, "_engine_run_backward", backward)
            patch.setattr(nn.Module, "to", moved)
            patch.setattr(FakeTensor, "tolist", listed)
            patch.setattr(workspace, "replayed", uncaptured)
            for module in (training, equivalence_check):
                patch.setattr(module, "generator", lambda device, seed: torch.Generator())
            patch.setattr(equivalence_check, "seeded", lambda device, seed: nullcontext())
            patch.setattr(torch.cuda, "get_device_name", lambda device: "fake")
            patch.setattr(
                torch.cuda,
                "get_device_properties",
                lambda device: SimpleNamespace(total_memory=MEMORY_BYTES),
            )
            with (
                FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True),
                waits,
                Host(waits),
            ):
                yield waits, GPU

    return entered
