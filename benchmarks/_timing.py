"""Timing side by side, the machine's peak, tables and JSON."""

import argparse
import gc
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

GEMM = {"cpu": 2048, "cuda": 8192}
"""Side of the square matrices whose product is taken for the peak."""

BACKENDS = ("auto", "native", "stacked", "sequential")


def clock(device: str, threads: int | str = 1) -> Callable[[], float]:
    """Seconds: CPU time of one thread; wall time of several, or of a GPU once it is idle."""
    if device == "cpu":
        return time.process_time if threads == 1 else time.perf_counter

    def synchronised() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return synchronised


def interleaved(
    runs: Mapping[str, Callable[[], object]],
    device: str,
    seconds: float,
    least: int = 3,
    most: int = 20,
    threads: int | str = 1,
) -> dict[str, float]:
    """Best time of each of some functions, called in turn after a call each to warm up.

    Parameters
    ----------
    seconds : float
        Rounds start until so many have passed, at least `least` and at most `most`.
    threads : int or "auto"
        Of what is timed; see `clock`.

    Returns
    -------
    dict of str to float
        Seconds.
    """
    now = clock(device, threads)
    for run in runs.values():
        run()
    best = dict.fromkeys(runs, math.inf)
    end = time.perf_counter() + seconds
    for number in range(most):
        if number >= least and time.perf_counter() > end:
            break
        for name, run in runs.items():
            gc.collect()
            start = now()
            run()
            best[name] = min(best[name], now() - start)
    return best


def peak_flop_per_s(device: str, seconds: float = 3.0) -> float:
    """Measure the rate of a product of large square matrices, float32 and one thread on a CPU."""
    size = GEMM[device]
    a, b = (torch.randn(size, size, device=device) for _ in range(2))
    best = interleaved({"gemm": lambda: torch.mm(a, b)}, device, seconds)
    return 2 * size**3 / best["gemm"]


def prepare(device: str) -> None:
    """One thread, full float32, routes as shipped: a comparison of like with like."""
    os.environ["NETSIM_ROUTES"] = os.devnull
    torch.set_num_threads(1)
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False


def available_bytes(device: str) -> int:
    """Free memory of the device."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable"):
            return 1024 * int(line.split()[1])
    raise OSError("/proc/meminfo does not say how much memory is available")


def _threads(text: str) -> int | str:
    return text if text == "auto" else int(text)


def options(
    description: str, nodes: Sequence[int], models: str = "a", choices: Sequence[str] = "abcd"
) -> argparse.ArgumentParser:
    """The options that pick cells."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--model", nargs="+", choices=choices, default=list(models))
    parser.add_argument("--nodes", nargs="+", type=int, default=list(nodes))
    parser.add_argument("--batch", nargs="+", type=int, default=[10])
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    parser.add_argument("--threads", type=_threads, default=1, help="of the kernel: N, or auto")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--json", type=Path)
    return parser


def show(cells: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Print a table.

    Parameters
    ----------
    columns : mapping of str to str
        Key in a cell to format.
    """
    widths = {c: max(len(c), 6) for c in columns}
    print("  ".join(f"{c:>{widths[c]}}" for c in columns))
    for cell in cells:
        if "left_out" in cell:
            which = " ".join(f"{k} = {cell[k]}" for k in ("model", "nodes", "batch"))
            print(f"left out: {which}: {cell['left_out']}")
            continue
        texts = ("-" if cell[c] is None else format(cell[c], f) for c, f in columns.items())
        print("  ".join(f"{t:>{widths[c]}}" for c, t in zip(columns, texts, strict=True)))


def save(path: Path | None, found: Mapping[str, Any]) -> None:
    """Write the JSON, if it is asked for; whoever stops this finds the old file or the new one."""
    if path is not None:
        part = path.with_name(f"{path.name}.part")
        part.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        part.replace(path)
