"""Everything to be measured on a GPU, in one command of under nine minutes: the first thing to run.

    python benchmarks/gpu.py --json FILE [--part parity ratios ...] [--minutes 8]
    python benchmarks/gpu.py --device cpu --tiny --json FILE     plays every part in seconds

Each part is a list of cells, written to the JSON one by one. The same command again goes on with
the cells that are missing or failed. Each part has a share of the time; what does not fit in it or
in memory is named. The order is that of what the numbers are worth without those before: first
whether the device computes what the CPU does, then how fast.

- parity: in float64 against the CPU: models, optimisers, losses (`_parity.py`)
- methods: every shipped method in a small scenario in float64, on both backends, against the CPU
- ratios: N nodes train, over a plain loop on the same device. The loop trains ten nodes, whose
  steps cost what those of more nodes do, and all of netsim's nodes start alike, since it would take
  minutes to draw 10,000 models; otherwise as `local_sgd.py`
- convolutions: of all lanes as one product of patches, lane after lane, and in groups
- gossip: whole runs, over a plain loop, as `async_gossip.py`
- memory: of whole runs, over a row a node
- training: shipped scenarios or a fifth of them, and their accuracies beside those of the CPU
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _parity
import async_gossip
import torch
from _setting import MODELS, PlainLoop, flop_per_step, gossip, own_starts
from _timing import interleaved, prepare, save
from local_sgd import ROWS_A_NODE, Jobs, too_large

from netsim import engine, scenario, world
from netsim.backends.stacked.convolution import as_columns, patches
from netsim.engine.assembly import open_learning
from netsim.engine.simulation import Simulation
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of
from netsim.testing import algorithms

Cell = dict[str, Any]

PLAIN_NODES = 10

SCENARIOS = (
    "quickstart", "small_pfedgraph", "small_dpfl", "small_mapl", "small_l2c", "small_next_token"
)  # fmt: skip

SHARE_OF_HORIZON = 0.2
"""Share of the horizon that is played of the scenarios but for the first."""


@dataclass(frozen=True)
class Part:
    """One part.

    Attributes
    ----------
    share : float
        Of the time.
    cells : callable
        cells(tiny): what is measured, in order; the keys that tell a cell from others.
    measure : callable
        measure(cell, device, tiny): what was found.
    """

    share: float
    cells: Callable[[bool], list[Cell]]
    measure: Callable[[Cell, str, bool], Cell]


def parity(cell: Cell, device: str, tiny: bool) -> Cell:
    """Compare the device's numbers with the CPU's."""
    return _parity.measure(cell, device)


def method_cells(tiny: bool) -> list[Cell]:
    """Every method that netsim's own verbs train, by both backends."""
    kinds = kinds_of()
    names = [name for name in kinds if declaration_of(kinds[name]).learns]
    return [
        {"method": name, "backend": backend}
        for name in (names[:3] if tiny else names)
        for backend in ("stacked", "sequential")
    ]


def method(cell: Cell, device: str, tiny: bool) -> Cell:
    """The largest relative difference of any model published, to the CPU's, one node at a time."""
    case = algorithms.AlgorithmCase(kinds_of(), cell["method"])
    there = algorithms.models_learned(case, cell["backend"], device)
    here = algorithms.models_learned(case, "sequential")
    if there.keys() != here.keys():
        return {"failed": "other models are published"}
    worst = max(_parity.difference(there[key], model) for key, model in here.items())
    return {"models": len(here), "difference": worst, "agrees": worst <= _parity.MOST["sgd"]}


def ratio_cells(tiny: bool) -> list[Cell]:
    """Every model with 10 to 10,000 nodes, first with small minibatches."""
    models, sizes, batches = ("ab", (10, 20), (4,)) if tiny else ("abcd", (), (10, 64))
    sizes = sizes or (10, 100, 1_000, 10_000)
    return [
        {"model": model, "nodes": nodes, "batch": batch}
        for batch in batches
        for model in models
        for nodes in sizes
    ]


def ratio(cell: Cell, device: str, tiny: bool) -> Cell:
    """N nodes train, and ten of them in a plain loop."""
    model, nodes, batch = cell["model"], cell["nodes"], cell["batch"]
    few = own_starts(model, PLAIN_NODES, batch, "stacked", device)
    reason = too_large(ROWS_A_NODE * nodes * 4 * few.architectures[0].num_values, device)
    if reason is not None:
        return {"left_out": reason}
    built = world.build(gossip(model, nodes, batch, 1.0, "stacked", device))
    learning = open_learning(built, built.scenario.algorithm[0], False, lambda: 0)
    steps, plain = MODELS[model].steps, PlainLoop(few)
    jobs = Jobs(learning, steps)

    def plain_loop() -> None:
        for node in range(PLAIN_NODES):
            plain.train(node, steps)

    runs = {"plain": plain_loop, "netsim": jobs.run}
    best = interleaved(runs, device, 0.0 if tiny else 2.0, least=1 if tiny else 2)
    plain_us, us = (
        1e6 * best[name] / (count * steps)
        for name, count in (("plain", PLAIN_NODES), ("netsim", nodes))
    )
    return {
        "jobs/call": learning.scheduler.mean_batch_width,
        "plain us/step": plain_us,
        "us/step": us,
        "ratio": plain_us / us,
        "GFLOP/s": flop_per_step(model, batch) / us / 1e3,
    }


def convolution_cells(tiny: bool) -> list[Cell]:
    """Those of L2C's CNN and LeNet, in training and in evaluation."""
    shapes = {"l2c 1": (3, 32, 5, 32), "l2c 2": (32, 64, 5, 16), "lenet 2": (6, 16, 5, 14)}
    widths = ((2, 4),) if tiny else ((100, 10), (100, 64), (1_000, 10), (20, 2_000))
    return [
        {
            "layer": name,
            "inputs": c,
            "outputs": o,
            "kernel": k,
            "side": side,
            "lanes": w,
            "images": n,
        }
        for name, (c, o, k, side) in shapes.items()
        for w, n in widths
    ]


def convolution_ways(cell: Cell, device: str, tiny: bool) -> Cell:
    """Milliseconds of a pass forwards, and of one both ways, by each way."""
    lanes, images, kernel, side = (cell[k] for k in ("lanes", "images", "kernel", "side"))
    x = torch.randn(lanes, images, cell["inputs"], side, side, device=device)
    shape = lanes, cell["outputs"], cell["inputs"], kernel, kernel
    weight = torch.randn(shape, device=device)
    margin = kernel // 2

    def by_patches(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        rows, _ = patches(x.flatten(0, 1), (kernel, kernel), (1, 1), (margin, margin), lanes)
        y = torch.bmm(rows, as_columns(w))
        return y.view(lanes, images, side, side, -1).permute(0, 1, 4, 2, 3)

    def lane_after_lane(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        pairs = zip(x, w, strict=True)
        return torch.stack([torch.conv2d(one, filters, padding=margin) for one, filters in pairs])

    def in_groups(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        beside = x.transpose(0, 1).reshape(images, -1, side, side)
        y = torch.conv2d(beside, w.flatten(0, 1), padding=margin, groups=lanes)
        return y.view(images, lanes, -1, side, side).transpose(0, 1)

    ways = {"patches": by_patches, "lanes": lane_after_lane, "groups": in_groups}
    there, back = x.detach().requires_grad_(), weight.detach().requires_grad_()
    runs: dict[str, Callable[[], object]] = {}
    for name, way in ways.items():
        runs[name] = lambda way=way: way(x, weight)  # type: ignore[misc]
        runs[f"{name}, both ways"] = lambda way=way: torch.autograd.grad(  # type: ignore[misc]
            way(there, back).square().sum(), (there, back)
        )
    best = interleaved(runs, device, 0.0 if tiny else 1.0, least=1 if tiny else 2)
    expected = by_patches(x, weight)
    apart = max(_parity.difference(way(x, weight), expected) for way in ways.values())
    return {f"{name} ms": 1e3 * seconds for name, seconds in best.items()} | {"difference": apart}


def gossip_cells(tiny: bool) -> list[Cell]:
    """Trainings of a run, about, are few where they take long."""
    if tiny:
        return [{"model": "a", "nodes": 6, "batch": 4, "about jobs": 15}]
    jobs = {("a", 100): 600, ("c", 100): 300, ("a", 1_000): 1_000}
    jobs |= {("b", 100): 400, ("d", 100): 150, ("c", 1_000): 1_000}
    return [
        {"model": model, "nodes": nodes, "batch": 10, "about jobs": count}
        for (model, nodes), count in jobs.items()
    ]


def gossip_end_to_end(cell: Cell, device: str, tiny: bool) -> Cell:
    """A whole run, the plain loop, the sequential backend, and the network alone."""
    where = cell["model"], cell["nodes"], cell["batch"], "stacked", device
    return async_gossip.measure(*where, 0.0, cell["about jobs"])


def memory_cells(tiny: bool) -> list[Cell]:
    """Many small models, some large ones."""
    cases = (("a", 20),) if tiny else (("a", 10_000), ("c", 2_000), ("d", 500))
    return [{"model": model, "nodes": nodes, "batch": 10} for model, nodes in cases]


def memory(cell: Cell, device: str, tiny: bool) -> Cell:
    """Most memory of a run of two wake-ups a node: of slabs, and allocated in all on a GPU."""
    horizon_s = 2.0
    built = world.build(
        gossip(cell["model"], cell["nodes"], cell["batch"], horizon_s, "stacked", device)
    )
    reason = too_large(ROWS_A_NODE * cell["nodes"] * built.initial[0].nbytes, device)
    if reason is not None:
        return {"left_out": reason}
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    run = Simulation(built, built.scenario.algorithm[0], None, False, None)
    run.to_horizon()
    summary = run.finish(None)
    store, row = run.learning.scheduler.backend.store, built.initial[0].nbytes
    allocated = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
    return {
        "wall s": summary["wall_s"],
        "slab GiB": store.peak_bytes / 2**30,
        "allocated GiB": allocated,
        "models a node": store.peak_bytes / (cell["nodes"] * row),
    }


def training_cells(tiny: bool) -> list[Cell]:
    """Each scenario on the device, then on the CPU; those of minutes are played in part."""
    names = SCENARIOS[:2] if tiny else SCENARIOS
    return [{"scenario": name, "on": on} for name in names for on in ("device", "cpu")]


def training(cell: Cell, device: str, tiny: bool) -> Cell:
    """The first algorithm of a shipped scenario."""
    name, on = cell["scenario"], device if cell["on"] == "device" else "cpu"
    own_s = scenario.load(name).horizon_s
    horizon_s = 2.0 if tiny else own_s if name == SCENARIOS[0] else SHARE_OF_HORIZON * own_s
    built = world.build(scenario.load(name, [f"run.device={on}", f"horizon_s={horizon_s}"]))
    summary = engine.play(built, built.scenario.algorithm[0])
    return {
        "algorithm": summary["algorithm"],
        "backend": summary["engine"]["backend"],
        "wall s": summary["wall_s"],
        "steps/s": summary["engine"]["node_steps_per_s"],
        "accuracy": summary.get("accuracy", {}).get("mean"),
        "events": summary.get("event_log_sha256", "-")[:12],
        "one by one": "; ".join(summary["engine"]["one_by_one"]) or None,
    }


PARTS = {
    "parity": Part(0.18, _parity.cases, parity),
    "methods": Part(0.12, method_cells, method),
    "ratios": Part(0.35, ratio_cells, ratio),
    "convolutions": Part(0.06, convolution_cells, convolution_ways),
    "gossip": Part(0.10, gossip_cells, gossip_end_to_end),
    "memory": Part(0.08, memory_cells, memory),
    "training": Part(0.11, training_cells, training),
}


def missing(cells: list[Cell], found: list[Cell]) -> Iterator[Cell]:
    """The cells of a part that have no result yet."""
    for cell in cells:
        if not any(cell.items() <= one.items() for one in found):
            yield cell


def played(part: Part, found: list[Cell], device: str, tiny: bool, seconds: float) -> Iterator[str]:
    """Measure what is missing, as long as there is time; says what was done.

    Parameters
    ----------
    part : Part
    found : list of dict
        Results so far; new ones are appended.
    device : {"cpu", "cuda"}
    tiny : bool
    seconds : float
        After so many no cell is begun.
    """
    end = time.perf_counter() + seconds
    for cell in missing(part.cells(tiny), found):
        if time.perf_counter() > end:
            yield f"left for the next time: {described(cell)}"
            continue
        start = time.perf_counter()
        try:
            result = part.measure(cell, device, tiny)
        except torch.OutOfMemoryError as error:
            result = {"left_out": f"out of memory: {str(error).splitlines()[0]}"}
        except Exception as error:  # the other cells are worth having
            result = {"failed": f"{type(error).__name__}: {error}"}
        if device == "cuda":
            torch.cuda.empty_cache()
        found.append(cell | result | {"took s": time.perf_counter() - start})
        yield described(found[-1])


def described(cell: Cell) -> str:
    """A cell on one line."""
    texts = (
        f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}"
        for k, v in cell.items()
        if v is not None
    )
    return ", ".join(texts)


def table(cells: list[Cell]) -> str:
    """Cells as a table in Markdown: a column for each key that one of them has."""
    keys = list(dict.fromkeys(key for cell in cells for key, v in cell.items() if v is not None))

    def line(texts: Iterable[str]) -> str:
        return f"| {' | '.join(texts)} |"

    def text(value: Any) -> str:
        return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

    rows = [line(text(cell.get(key)) for key in keys) for cell in cells]
    return "\n".join([line(keys), line("---" for _ in keys), *rows])


def machine(device: str) -> Cell:
    """Describe the machine that was measured."""
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda}


def main(arguments: list[str] | None = None) -> None:
    """Measure part by part, print, and write the JSON after every cell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small cells, to try the command")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=8.0, help="for all parts together")
    parser.add_argument("--json", type=Path, required=True, help="written, and gone on with")
    chosen = parser.parse_args(arguments)
    if chosen.device == "cuda" and not torch.cuda.is_available():
        parser.error("no GPU that torch can use; --device cpu --tiny tries the command without one")
    prepare(chosen.device)
    found: Cell = {"machine": machine(chosen.device), "tiny": chosen.tiny, "parts": {}}
    if chosen.json.is_file():
        before = json.loads(chosen.json.read_text(encoding="utf-8"))
        if (before["machine"], before["tiny"]) != (found["machine"], found["tiny"]):
            parser.error(f"{chosen.json} is of another machine or size; name another file")
        found = before
    shares = sum(PARTS[name].share for name in chosen.part)
    for name in chosen.part:
        seconds = 60 * chosen.minutes * PARTS[name].share / shares
        before = found["parts"].get(name, [])
        found["parts"][name] = results = [cell for cell in before if "failed" not in cell]
        for line in played(PARTS[name], results, chosen.device, chosen.tiny, seconds):
            print(f"{name}: {line}", flush=True)
            save(chosen.json, found)
    for name, results in found["parts"].items():
        print(f"\n## {name}\n")
        print(table(results))
    compared = [c for name in ("parity", "methods") for c in found["parts"].get(name, [])]
    apart = [c for c in compared if not c.get("agrees")]
    print(f"\n{len(apart)} of {len(compared)} cells of parity and methods differ or failed")
    for cell in apart:
        print(described(cell))
    for name, results in found["parts"].items():
        if failed := sum("failed" in cell for cell in results):
            print(f"{name}: {failed} of {len(results)} failed; the same command tries them again")


if __name__ == "__main__":
    main()
