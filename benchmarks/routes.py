"""Find the fastest backend for each case: the source of the shipped rules of routes.

    python benchmarks/routes.py [--model a b] [--nodes 1 2 10 100] [--batch 1 10 64] [--json FILE]

Every model's jobs by every backend, as `netsim tune` times them: local steps with the default loss
(train), models measured on their training samples (infer). CPU time of one core, the best of rounds
in turn. A cell in which the native kernel is over 5 % slower than another backend is named below
the table.
"""

import argparse
from itertools import product
from pathlib import Path
from typing import Any

from _setting import MODELS, SHIPPED, own_starts
from _timing import prepare, save, show

from netsim.campaign.tuning import RouteTiming
from netsim.engine.backend_assembly import optimizer_of
from netsim.errors import NetsimError

PURPOSES = ("train", "infer")

COLUMNS = {
    "model": "s",
    "nodes": "d",
    "batch": "d",
    "job": "s",
    "native us": ",.0f",
    "stacked us": ",.0f",
    "sequential us": ",.0f",
    "over stacked": ".2f",
    "over sequential": ".2f",
}


class Timings:
    """The cells of one model in minibatches of one size; those that take too long are left out.

    Parameters
    ----------
    model : str
    batch : int
    nodes : int
        Most nodes of a cell.
    seconds : float
        Of rounds for each cell, about; a cell of which a single round takes more is left out.
    """

    def __init__(self, model: str, batch: int, nodes: int, seconds: float) -> None:
        self._model, self._batch, self._seconds = model, batch, seconds
        self._world = own_starts(model, nodes, batch, "auto", "cpu")
        self._took = dict.fromkeys(PURPOSES, (1, 0.0))

    def cell(self, nodes: int, job: str) -> dict[str, Any]:
        """Times of one job of one node by every backend."""
        found = {"model": self._model, "nodes": nodes, "batch": self._batch, "job": job}
        before, took = self._took[job]
        if took * nodes / before > self._seconds:
            return found | {"left_out": f"{took * nodes / before:.0f} s a round"}
        world = self._world
        optimizer = optimizer_of(world.scenario.training)
        architecture, some = world.architectures[0], range(nodes)
        timing = RouteTiming(architecture, some, world.shards, world.streams, optimizer)
        try:
            once = timing.seconds(job, 1)
        except NetsimError as error:
            return found | {"left_out": str(error).splitlines()[0]}
        self._took[job] = nodes, sum(once.values())
        rounds = min(100, int(self._seconds / self._took[job][1]))
        again = timing.seconds(job, rounds) if rounds > 1 else once
        us = {way: 1e6 * min(again[way, _], once[way, _]) / nodes for way, _ in once}
        native = us.get("native")
        for way in ("native", "stacked", "sequential"):
            found[f"{way} us"] = us.get(way)
            if way != "native":
                found[f"over {way}"] = native and us[way] / native
        return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    known = [*MODELS, *SHIPPED]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", nargs="+", choices=known, default=known)
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 2, 10, 100])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 10, 64])
    parser.add_argument("--seconds", type=float, default=3.0, help="of rounds for each cell")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    prepare("cpu")
    cells = []
    for model, batch in product(chosen.model, chosen.batch):
        timings = Timings(model, batch, max(chosen.nodes), chosen.seconds)
        for nodes, job in product(chosen.nodes, PURPOSES):
            cells.append(timings.cell(nodes, job))
            save(chosen.json, {"cells": cells})
        print(f"measured {model}, batches of {batch}", flush=True)
    show(cells, COLUMNS)
    lost = slower(cells)
    print("\n".join(lost) or "native is nowhere over 5 % slower than another backend")


def slower(cells: list[dict[str, Any]]) -> list[str]:
    """The cells in which the native kernel loses."""
    return [
        f"{c['model']}, {c['nodes']} nodes, batches of {c['batch']}, {c['job']}: native takes "
        f"{1 / c[over]:.2f} times the time of {over.removeprefix('over ')}"
        for c in cells
        for over in ("over stacked", "over sequential")
        if c.get(over) and c[over] < 1 / 1.05
    ]


if __name__ == "__main__":
    main()
