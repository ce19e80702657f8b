"""Speed of the native kernel's training, against a plain PyTorch loop of the same run.

    python benchmarks/native_kernel.py [--model a b c d] [--batch 10 64] [--variant avx2]

N nodes take k local steps each of SGD with momentum, on their own data, from their own start. One
call of the kernel trains all of them; the plain loop trains one `torch.nn.Module` after another
with autograd and `torch.optim.SGD`. CPU time of one thread, the best of rounds in turn.
"""

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _setting import MODELS, MOMENTUM, PlainLoop, own_starts
from _timing import interleaved, prepare, save, show

from netsim.backends.native.data import Data, Rows, Steps
from netsim.backends.native.kernel import Kernel
from netsim.learning.jobs import Batches, Optimizer

NODES = {"a": 100, "b": 100, "c": 20, "d": 5}

COLUMNS = {
    "model": "s",
    "nodes": "d",
    "batch": "d",
    "variant": "s",
    "plain us/step": ",.1f",
    "native us/step": ",.1f",
    "ratio": ".2f",
}


def measure(model: str, batch: int, variant: str | None, seconds: float) -> dict[str, Any]:
    """One cell of the table."""
    nodes, case = NODES[model], MODELS[model]
    world = own_starts(model, nodes, batch, "sequential", "cpu")
    plain = PlainLoop(world)
    shards, steps = world.shards, case.steps
    shape = tuple(shards.x.shape[1:])
    kernel = Kernel(world.architectures[0].module, shape, torch.float32, variant=variant)
    start = torch.stack([world.initial[node] for node in range(nodes)])
    out = torch.empty_like(start)
    index, sizes = shards.minibatches.table(
        [Batches(node, "train", 0, steps) for node in range(nodes)], steps
    )
    minibatches = Steps(index, sizes, np.full(nodes, steps))
    optimizer, rates = Optimizer("sgd", 0.05, MOMENTUM), np.full(nodes, 0.05)
    data = Data(shards.x, shards.y)

    def native() -> None:
        kernel.train(data, Rows(start), Rows(out), minibatches, optimizer, rates)

    def loop() -> None:
        for node in range(nodes):
            plain.train(node, steps)

    best = interleaved({"plain": loop, "native": native}, "cpu", seconds)
    us = {name: 1e6 * found / (nodes * steps) for name, found in best.items()}
    return {
        "model": model,
        "nodes": nodes,
        "batch": batch,
        "variant": kernel.variant.name,
        "plain us/step": us["plain"],
        "native us/step": us["native"],
        "ratio": us["plain"] / us["native"],
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", nargs="+", choices="abcd", default=list("abcd"))
    parser.add_argument("--batch", nargs="+", type=int, default=[10, 64])
    parser.add_argument("--variant", help="an instruction set; without, the best")
    parser.add_argument("--seconds", type=float, default=5.0, help="of rounds for each cell")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    prepare("cpu")
    cells = [
        measure(model, batch, chosen.variant, chosen.seconds)
        for batch, model in product(chosen.batch, chosen.model)
    ]
    show(cells, COLUMNS)
    save(chosen.json, {"cells": cells})


if __name__ == "__main__":
    main()
