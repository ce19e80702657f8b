"""Write `netsim/console/papers.toml`: what the papers' scenarios compute, and a machine's rates.

python -m papers.hours --machine "two cores of ..."     # counts, and measures here
python -m papers.hours                                  # counts; keeps the rates
"""

import argparse
import os
import tomllib
from collections.abc import Iterator
from typing import Any

import tomli_w

from netsim.campaign import grid
from netsim.console import papers
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario import file as scenario_file
from netsim.scenario.kinds import Kinds, kinds_of
from papers import work


def points(name: str, modules: Kinds, whole: Scenario) -> Iterator[Scenario]:
    """Every point of the sweep of a scenario, with its first seed."""
    if whole.sweep is None:
        yield whole
        return
    for point in grid.points(whole.sweep):
        draft = draft_of(name, (), modules)
        draft.raw.pop("sweep")
        for key, value in point.values.items():
            draft.assign(key, value, name)
        yield check(draft, modules)


def counted(name: str, modules: Kinds) -> dict[str, Any] | None:
    """Return the part of a paper that a scenario plays, and its work; None: it plays none."""
    draft = draft_of(name, (), modules)
    if "paper" not in draft.raw:
        return None
    whole = check(draft, modules)
    assert whole.paper is not None
    sweep = whole.sweep
    runs = len(grid.seeds(sweep, whole.seed)) * (sweep.trials or 1) if sweep else 1
    flop: dict[str, list[float]] = {}
    for one in points(name, modules, whole):
        for form, trained, looked in work.counted(one):
            known = flop.setdefault(form.name, [0.0, 0.0])
            known[0] += runs * trained
            known[1] += runs * looked
    rounded = {model: [float(f"{x:.4g}") for x in both] for model, both in sorted(flop.items())}
    return {"paper": whole.paper.name, "plays": list(whole.paper.plays), "flop": rounded}


def table() -> dict[str, Any]:
    """All scenarios that say what they play."""
    modules = kinds_of()
    found = {name: counted(name, modules) for name in scenario_file.shipped()}
    return {name: one for name, one in found.items() if one is not None}


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
