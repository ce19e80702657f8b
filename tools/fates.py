"""Write the table of docs/asynchrony.md about each method: `python tools/fates.py`.

Every method that ships plays five small worlds. In each, something happens to one peer: its
messages are late, all messages are lost, it leaves for good, it leaves and comes back, it joins
in mid-run. `uses/` and `graph/` say how the other nodes used its messages.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from netsim import engine, scenario, world
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of
from netsim.testing.algorithms import shortest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "asynchrony.md"
BEGIN, END = "<!-- written by tools/fates.py -->", "<!-- end -->"

PEER = 3
"""The node whose fate is planted."""

PERIOD_S, HORIZON_S, LATE_S = 10.0, 200.0, 8.0
LEAVES_S, RETURNS_S, JOINS_S = 60.0, 120.0, 100.0

CLOCKS: dict[str, dict[str, Any]] = {
    "periodic": {"schedule": "periodic", "period_s": PERIOD_S, "slot_s": 1.0},
    "rounds": {"schedule": "rounds", "interval_s": PERIOD_S},
    "star": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 3},
}
"""The schedules, of which a method plays the first that it runs under."""

CHURN = {
    "leaves": [(0, LEAVES_S)],
    "returns": [(0, LEAVES_S), (RETURNS_S, HORIZON_S)],
    "joins": [(JOINS_S, HORIZON_S)],
}
"""Intervals in which the planted node is on, by case."""

WORLDS = ("late", "lost", *CHURN)


def clock(kind: str) -> str:
    """The schedule in which a method is played."""
    allowed = declaration_of(kinds_of()[kind]).schedules
    return next(name for name in CLOCKS if allowed is None or name in allowed)


def tables(kind: str, case: str, folder: Path) -> dict[str, Any]:
    """The scenario of a method and a case, with its files in a folder.

    Parameters
    ----------
    kind : str
    case : str
        One of `WORLDS`.
    folder : Path
    """
    params = shortest(kinds_of()[kind].Params)
    found: dict[str, Any] = {
        "horizon_s": HORIZON_S,
        "nodes": {"count": 5},
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 60, "test_samples": 10},
        },
        "model": {"kind": "mlp", "hidden": [8]},
        "training": {"learning_rate": 0.1, "batch_size": 20},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "link": {"latency_s": 0.05},
        "metrics": {"every_s": HORIZON_S},
        "run": {"device": "cpu"},
        "exchange": CLOCKS[clock(kind)],
        "algorithm": {"kind": kind, **params},
    }
    if declaration_of(kinds_of()[kind]).needs_server:
        found["nodes"]["groups"] = [
            {"name": "clients", "count": 4},
            {"name": "server", "count": 1, "role": "server"},
        ]
    if case == "late":
        matrix = [[LATE_S if PEER in (i, j) else 0.05 for j in range(5)] for i in range(5)]
        text = "\n".join(" ".join(map(str, entries)) for entries in matrix)
        (folder / "late.txt").write_text(text + "\n")
        measured = {"unit": "s", "round_trip": False, "assign": "order"}
        found["link"] = {"latency_matrix": {"path": str(folder / "late.txt"), **measured}}
    elif case == "lost":
        found["link"] = {"loss": 0.9999999}
    else:
        rows = "".join(f"{PEER},{on_s},{off_s}\n" for on_s, off_s in CHURN[case])
        (folder / f"{case}.csv").write_text(f"node,on_s,off_s\n{rows}")
        found["churn"] = {"kind": "trace", "path": str(folder / f"{case}.csv"), "start_s": 0}
    return found


def found_in(kind: str, case: str) -> str:
    """Play a method in a case, and return what it did as a cell of the table.

    Parameters
    ----------
    kind : str
    case : str
        One of `WORLDS`.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        played = scenario.from_dict(tables(kind, case, folder))
        engine.play(world.build(played), played.algorithm[0], folder / "run")
        uses = pd.read_parquet(folder / "run" / "uses")
        weights = pd.read_parquet(folder / "run" / "graph")
    applied = weights[(weights.what.astype(str) == "applied") & (weights.node != PEER)]
    if case == "lost":
        own = applied[applied.node == applied.peer].weight
        if declaration_of(kinds_of()[kind]).needs_server:
            return "nothing is mixed"
        return f"own weight {own.mean():.2g}" if len(own) else "trains alone"
    of_it = uses[(uses.src == PEER) & (uses.dst != PEER)]
    used = of_it[of_it.fate.astype(str) == "used"]
    # A peer that weighs nothing is not applied; a method without mixture has no row.
    weight = applied[(applied.peer == PEER) & (applied.weight > 0)]
    if case == "late":
        fates = of_it.fate.astype(str).value_counts()
        if not len(used):
            return f"not used: {fates.index[0].replace('_', ' ')}" if len(fates) else "none came"
        return f"{len(used) / len(of_it):.0%} used, {used.age_at_use_s.mean():.1f} s old"
    if case == "leaves":
        before = weight[weight.t_s <= LEAVES_S].weight
        last_s = max([*used.t_used_s, *weight.t_s], default=0.0)
        share = f", weight {before.mean():.2g} until then" if len(before) else ""
        return f"until {round(last_s - LEAVES_S):+d} s{share}"
    since_s = RETURNS_S if case == "returns" else JOINS_S
    first = used[used.t_used_s >= since_s + 1e-9]
    first = first[first.t_sent_s >= since_s]
    return f"after {first.t_used_s.min() - since_s:.0f} s" if len(first) else "never"


def row(kind: str) -> str:
    """A line of the table: the method, its schedule, a cell for each case."""
    return f"| `{kind}` | {clock(kind)} | " + " | ".join(found_in(kind, c) for c in WORLDS) + " |"


def kinds() -> list[str]:
    """The methods that ship and exchange something."""
    return [k for k, m in sorted(kinds_of().items()) if k != "local" and declaration_of(m).learns]


def written(text: str, rows: list[str]) -> str:
    """The page with the table between its marks."""
    head = (
        "| method | schedule | its messages are late | all messages are lost | it leaves | it "
        "comes back | it joins |\n|---|---|---|---|---|---|---|"
    )
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}\n", head, *rows, f"\n{END}{after}"])


def main() -> None:
    """Play all methods, or show the lines of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="methods whose lines are shown; none: the page")
    asked = parser.parse_args().kinds
    rows = [row(kind) for kind in asked or kinds()]
    if asked:
        sys.stdout.write("\n".join(rows) + "\n")
    else:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
