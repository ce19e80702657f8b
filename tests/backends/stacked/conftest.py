"""A GPU without one: fake tensors on the device `cuda`, and a count of what makes the host wait.

`FakeTensorMode` gives each tensor a shape, a type and a device but no values, and refuses
operations on tensors of two devices as a GPU would. What torch can't do for such tensors on a
machine without a GPU is done here instead, and only in a process that plays `fake_gpu_cases.py`:

- device guards: torch's own guard that does nothing takes the place of CUDA's
- autograd's engine, which asks for an accelerator: a walk over the same graph, in Python
- generators of random numbers on the device: generators of the CPU, which fake tensors take, too
- what the host reads: 1, or true; that a difference is 1 does not count
"""

import ctypes
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from torch._C._autograd import DeviceType
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import get_gradient_edge
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from netsim.backends.stacked import equivalence_check, training

GPU = torch.device("cuda:0")
MEMORY_BYTES = 16 << 30

GUARDS = "_ZN3c104impl26device_guard_impl_registryE"
"""Address of torch's guards, one for each type of device."""

READS = {"aten::nonzero", "aten::equal", "aten::is_nonzero"}
"""Operations whose result the host needs, beside `_local_scalar_dense`."""


class Waits(TorchDispatchMode):
    """Counter of the host's waits for the device.

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
            return 1.0 if tensors[0].is_floating_point() else True
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


def backward(tensors, gradients, keep_graph, create_graph, inputs, *_, accumulate_grad, **_others):
    """Play autograd's engine: gradients flow from each node to those before it."""
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


def copied(tensor, memo):
    """`copy.deepcopy` of a tensor: torch's own would read memory that a fake one does not have."""
    if id(tensor) not in memo:
        new = torch.empty_like(tensor, requires_grad=False)
        memo[id(tensor)] = nn.Parameter(new) if isinstance(tensor, nn.Parameter) else new
    return memo[id(tensor)]


def moved(module, device=None, dtype=None):
    """`torch.nn.Module.to`, which can't exchange fake tensors; their values need not be kept."""
    for layer in module.modules():
        for name, p in layer._parameters.items():
            if p is not None:
                layer._parameters[name] = nn.Parameter(p.detach().to(device or GPU, dtype))
        for name, b in layer._buffers.items():
            if b is not None:
                kind = dtype if b.is_floating_point() else None
                layer._buffers[name] = b.to(device or GPU, kind)
    return module


def guard_of_nothing():
    """Put torch's guard that does nothing where CUDA's would be, for the life of this process.

    Raises
    ------
    (OSError, ValueError, StopIteration)
        If this torch keeps its guards elsewhere.
    """
    if torch.version.cuda is None:
        folder = Path(torch.__file__).parent / "lib"
        library = ctypes.CDLL(str(next(folder.glob("libc10.*"))))
        size = int(DeviceType.PrivateUse1) + 1
        table = (ctypes.c_void_p * size).in_dll(library, GUARDS)
        # A guard of no devices is what torch replaces by one for fake tensors.
        table[int(DeviceType.CUDA)] = table[int(DeviceType.Lazy)]
    torch._C._ensureCUDADeviceGuardSet()


@pytest.fixture(scope="session")
def fake_mode():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU: benchmarks/gpu.py --part parity plays on it")
    try:
        guard_of_nothing()
    except (OSError, ValueError, StopIteration, AttributeError) as error:
        pytest.skip(f"torch {torch.__version__} can't be told that there is a GPU: {error!r}")
    return FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)


@pytest.fixture
def waits(fake_mode, monkeypatch):
    """All new tensors are fake, those on `GPU` too; what makes the host wait is counted."""
    counted = Waits()
    monkeypatch.setattr(torch.autograd, "_engine_run_backward", backward)
    monkeypatch.setattr(nn.Module, "to", moved)
    for kind in (Tensor, nn.Parameter):
        monkeypatch.setattr(kind, "__deepcopy__", copied)
    for module in (training, equivalence_check):
        monkeypatch.setattr(module, "generator", lambda device, seed: torch.Generator())
    monkeypatch.setattr(equivalence_check, "LARGEST_DIFFERENCE", 2.0)
    monkeypatch.setattr(equivalence_check, "seeded", lambda device, seed: nullcontext())
    properties = SimpleNamespace(total_memory=MEMORY_BYTES)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "fake")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    with fake_mode, counted:
        yield counted
