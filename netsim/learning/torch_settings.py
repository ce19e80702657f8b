"""PyTorch's settings of a caller's thread, which a run leaves aside and gives back.

A notebook may compute without gradients, in float64 by default, under autocast, in search of NaN,
or in many threads. A run does not depend on that: it computes as a new process does, in one thread.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

_guard = threading.Lock()
_before: list[tuple[torch.dtype, int]] = []
"""Default type and threads of the process before the first of those inside; one entry for each."""


@contextmanager
def defaults() -> Iterator[None]:
    """Compute with gradients, in float32 unless told, on the processor unless told, in one thread.

    Several threads would change the last bits of results, and would wait busily for each other
    where other processes load the cores.
    """
    with _guard:
        now = torch.get_default_dtype(), torch.get_num_threads()
        _before.append(_before[0] if _before else now)
        torch.set_default_dtype(torch.float32)
    torch.set_num_threads(1)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for device in ("cpu", "cuda"):
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            if torch.is_anomaly_enabled():  # it looks for NaN after every operation
                stack.enter_context(torch.autograd.set_detect_anomaly(False))
            if torch.get_default_device().type != "cpu":  # only then: it slows every call down
                stack.enter_context(torch.device("cpu"))
            yield
    finally:
        with _guard:
            dtype, threads = _before.pop()
            if not _before:
                torch.set_default_dtype(dtype)
                torch.set_num_threads(threads)
