"""Write `netsim/console/papers.toml`: what the papers' scenarios compute, and a machine's rates.

python -m tools.paper_hours --machine "two cores of ..."     # counts, and measures here
python -m tools.paper_hours                                  # counts; keeps the rates
"""

import argparse
import json
import os
import tomllib
from collections.abc import Mapping
from typing import Any

import netsim
from netsim.console import papers
from papers import work

Pairs = Mapping[str, list[float]]
"""By a model's name, of local steps and of outputs."""


def counted(scenario: netsim.Scenario) -> Pairs:
    """Return the operations of all points and seeds of a scenario."""
    sweep = scenario.sweep
    runs = len(sweep.seeds or (scenario.seed,)) * (sweep.trials or 1) if sweep else 1
    flop: dict[str, list[float]] = {}
    for one in scenario.points().values():
        for cost, trained, looked in work.counted(one):
            known = flop.setdefault(cost.model, [0.0, 0.0])
            known[0] += runs * trained
            known[1] += runs * looked
    return {model: [float(f"{x:.4g}") for x in both] for model, both in sorted(flop.items())}


def table() -> dict[str, Pairs]:
    """All scenarios that say what they play."""
    loaded = {name: netsim.load(name) for name in netsim.scenarios()}
    return {name: counted(one) for name, one in loaded.items() if one.paper is not None}


def text(found: Mapping[str, Any]) -> str:
    """The file: one line a model, numbers as short as they were rounded."""
    tables = {"rates": found["rates"]} | {f"flop.{n}": flop for n, flop in found["flop"].items()}
    lines = [f"machine = {json.dumps(found['machine'])}", f"cores = {found['cores']}"]
    for name, pairs in tables.items():
        lines += ["", f"[{name}]", *(f"{m} = [{a:.4g}, {b:.4g}]" for m, (a, b) in pairs.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Count, and measure where a machine is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", help="measure its rates, and call it so")
    given = parser.parse_args()
    known = tomllib.loads(papers.SHIPPED.read_text()) if papers.SHIPPED.exists() else {}
    found = {"machine": "", "cores": 1, "rates": {}, **known, "flop": table()}
    papers.SHIPPED.write_text(text(found))
    if given.machine:
        rates = papers.measured(papers.shipped())
        found["rates"] = {n: [float(f"{x:.3g}") for x in r] for n, r in sorted(rates.items())}
        found |= {"machine": given.machine, "cores": os.cpu_count() or 1}
        papers.SHIPPED.write_text(text(found))


if __name__ == "__main__":
    main()
