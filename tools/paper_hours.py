"""Write `netsim/console/papers.toml`: what the papers' scenarios compute, and a machine's rates.

python -m tools.paper_hours --machine "two cores of ..."     # counts, and measures here
python -m tools.paper_hours                                  # counts; keeps the rates
"""

import argparse
import os
import tomllib
from typing import Any

import tomli_w

import netsim
from netsim.console import papers
from papers import work


def counted(scenario: netsim.Scenario) -> dict[str, Any]:
    """Return the part of a paper that a scenario plays, and the work of all points and seeds."""
    sweep = scenario.sweep
    runs = len(sweep.seeds or (scenario.seed,)) * (sweep.trials or 1) if sweep else 1
    flop: dict[str, list[float]] = {}
    for one in scenario.points().values():
        for cost, trained, looked in work.counted(one):
            known = flop.setdefault(cost.model, [0.0, 0.0])
            known[0] += runs * trained
            known[1] += runs * looked
    rounded = {model: [float(f"{x:.4g}") for x in both] for model, both in sorted(flop.items())}
    return {"paper": scenario.paper.name, "plays": list(scenario.paper.plays), "flop": rounded}


def table() -> dict[str, Any]:
    """All scenarios that say what they play."""
    loaded = {name: netsim.load(name) for name in netsim.scenarios()}
    return {name: counted(one) for name, one in loaded.items() if one.paper is not None}


def main() -> None:
    """Count, and measure where a machine is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", help="measure its rates, and call it so")
    given = parser.parse_args()
    known = tomllib.loads(papers.SHIPPED.read_text()) if papers.SHIPPED.exists() else {}
    found = {"machine": "", "cores": 1, "rates": {}, **known, "scenarios": table()}
    papers.SHIPPED.write_text(tomli_w.dumps(found))
    if given.machine:
        rates = papers.measured(papers.shipped())
        found["rates"] = {n: [float(f"{x:.3g}") for x in r] for n, r in sorted(rates.items())}
        found |= {"machine": given.machine, "cores": os.cpu_count() or 1}
        papers.SHIPPED.write_text(tomli_w.dumps(found))


if __name__ == "__main__":
    main()
