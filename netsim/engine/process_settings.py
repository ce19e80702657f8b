"""Settings of the whole process that runs need: theirs while any is played, as before afterwards.

Several runs may be played at a time, each in a thread; the first one sets, the last one restores.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import torch

from netsim import garbage
from netsim.errors import ScenarioError
from netsim.learning import torch_settings
from netsim.node.decisions import Abandoned

_guard = threading.Lock()
_under_way: list[bool] = []
"""Of each run that is being played, whether a GPU may round its factors (`[run] tf32`)."""
_restored = ExitStack()
"""Settings of the process before the first of the runs; closing it gives them back."""
SEARCH_ALL_EVERY = 50
"""Runs, one after the other, between two searches of all objects for garbage: 0.2 s each."""
_begun = count(1)
_failed: list[bool] = []
"""Not empty: a run has failed since, and what its traceback held is not freed yet."""


@contextmanager
def of_runs(tf32: bool) -> Iterator[None]:
    """Set up PyTorch and Python for a run, in this thread and as far as they are the process'.

    PyTorch computes as `torch_settings.defaults` says. Python's search for cyclic garbage runs
    seldom, since reference counts free nearly all garbage of a run, and it leaves out the objects
    that exist before the run. The run's end frees what is left of it, before another one needs as
    much memory.

    Parameters
    ----------
    tf32 : bool
        Whether a GPU may round the factors of its products.

    Raises
    ------
    ScenarioError
        If a run of another thread goes on with another `tf32`.
    """
    with _guard:
        if any(other != tf32 for other in _under_way):
            raise ScenarioError(
                f"[run] tf32 = {str(tf32).lower()}: a run of another thread plays with another "
                "value, which holds for the whole process; play one after the other"
            )
        if not _under_way:
            _set(tf32)
        _under_way.append(tf32)
    try:
        with torch_settings.defaults():
            yield
    except Abandoned as ended:
        traceback.clear_frames(ended.__traceback__)  # nobody looks at it: `collect` frees the run
        raise
    except BaseException:
        _failed.append(True)
        raise
    finally:
        gc.collect()
        with _guard:
            _under_way.remove(tf32)
            if not _under_way:
                _restored.close()


def _set(tf32: bool) -> None:
    _restored.callback(_set_full_products())  # first: it may set the next two as well
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    for products in backends:
        _restored.callback(setattr, products, "allow_tf32", products.allow_tf32)
        products.allow_tf32 = tf32
    # What becomes garbage after a run has frozen it is frozen again by the next, unless it is freed
    # here: at once what a failed run's traceback held, now and then the little that others leave.
    if _failed or next(_begun) % SEARCH_ALL_EVERY == 0:
        _failed.clear()
        gc.collect()
    gc.freeze()
    _restored.callback(gc.unfreeze)
    _restored.callback(gc.set_threshold, *gc.get_threshold())
    garbage.search_seldom()


def _set_full_products() -> Callable[[], None]:
    """Multiply float32 in full, on the processor too; gives what restores the caller's precision.

    PyTorch has an older switch for all backends, and a newer one for each; it refuses to read the
    first where a caller has set one of the others.
    """
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        matmul: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
        return partial(setattr, matmul, "fp32_precision", _exchange(matmul))
    if before == "highest":
        return lambda: None
    torch.set_float32_matmul_precision("highest")
    return partial(torch.set_float32_matmul_precision, before)


def _exchange(matmul: Any) -> str:
    before, matmul.fp32_precision = str(matmul.fp32_precision), "ieee"
    return before
