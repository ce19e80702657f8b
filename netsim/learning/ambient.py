"""PyTorch's settings of a caller's thread, which a run leaves aside and gives back.

A notebook may compute without gradients, in float64 by default, or under autocast. A run does not
depend on that: it computes as a new process does.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

_guard = threading.Lock()
_dtypes: list[torch.dtype] = []
"""The process' default type before the first of those that are inside; one entry for each."""


@contextmanager
def as_new() -> Iterator[None]:
    """Compute with gradients, in float32 unless told, on the processor unless told."""
    with _guard:
        _dtypes.append(_dtypes[0] if _dtypes else torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for device in ("cpu", "cuda"):
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            if torch.get_default_device().type != "cpu":  # only then: it slows every call down
                stack.enter_context(torch.device("cpu"))
            yield
    finally:
        with _guard:
            before = _dtypes.pop()
            if not _dtypes:
                torch.set_default_dtype(before)
