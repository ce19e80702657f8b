"""`netsim list papers`: which shipped scenario plays which table of a paper, and for how long.

Each says so in its table `[paper]`. What it computes is counted in `papers.toml` beside this file,
with the rates at which a reference machine computes such models; `python -m tools.paper_hours`
writes it. So nothing is validated, built or timed, unless this machine's own rates are asked for.
"""

import json
import math
import os
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from netsim.console import terminal
from netsim.errors import ScenarioError
from netsim.recording.whole_files import write_text
from netsim.scenario.shipped import scenarios, scenarios_folder

SHIPPED = Path(__file__).with_name("papers.toml")
NOT_PLAYED = {
    "DPFL": {"G.4": "no figure and no number; its asymmetry per round is in every graph/"},
    "KD-PDFL": {"Fig. 1": "a drawing", "Fig. 2": "a drawing"},
    "MAPL": {
        "Table 8": "settings, without values in the text",
        "Fig. 1": "a drawing",
        "Fig. 2": "a drawing",
        "Fig. 5": "not mentioned in the text",
    },
    "pFedGraph": {"Fig. 1": "a drawing", "Fig. 5": "a drawing"},
    "L2C": {"Table 1": "settings", "Fig. 1": "a drawing", "Fig. 2": "a drawing"},
}
"""Tables and figures of the papers that no scenario plays, and why."""

_LETTERS = 16
"""Room for tables and figures where the terminal has 80 columns."""

Rates = Mapping[str, tuple[float, float]]
"""By a model's name, operations a second of local steps and of outputs."""


@dataclass(frozen=True)
class Entry:
    """A scenario that plays something of a paper."""

    paper: str
    plays: tuple[str, ...]
    """Tables and figures."""
    scenario: str
    flop: Mapping[str, tuple[float, float]]
    """By a model's name, operations in local steps and in outputs, of all points and seeds."""

    def hours(self, rates: Rates, cores: int) -> float:
        """Wall time at some rates of a core, on so many."""
        seconds = sum(
            work / rate
            for name, operations in self.flop.items()
            for work, rate in zip(operations, rates[name], strict=True)
        )
        return seconds / cores / 3600


@dataclass(frozen=True)
class Shipped:
    """The shipped table."""

    machine: str
    """The one on which its rates were measured."""
    cores: int
    rates: Rates
    entries: list[Entry]


def shipped() -> Shipped:
    """Return the shipped table, by paper and first table."""
    found, files = tomllib.loads(SHIPPED.read_text(encoding="utf-8")), scenarios(scenarios_folder())
    entries = []
    for name, flop in found["flop"].items():
        paper = tomllib.loads(files[name].read_text(encoding="utf-8"))["paper"]
        entries.append(Entry(paper["name"], tuple(paper["plays"]), name, _pairs(flop)))
    entries.sort(key=lambda e: (e.paper, _order(e.plays[0]), e.scenario))
    return Shipped(found["machine"], found["cores"], _pairs(found["rates"]), entries)


def _pairs(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """By a model's name, what a file has of local steps and of outputs."""
    return {name: (float(a), float(b)) for name, (a, b) in found.items()}


def as_table(entries: Sequence[Entry], rates: Rates, cores: int) -> Table:
    """Return one row per scenario, sections by paper.

    Parameters
    ----------
    cores : int
        Cores of the machine, over which the hours are spread.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for column in ("paper", "tables and figures", "scenario"):
        wraps = column == "tables and figures"
        table.add_column(column, no_wrap=not wraps, min_width=8 if wraps else None)
    table.add_column("hours, at least", justify="right")
    last = ""
    for entry in entries:
        if last and entry.paper != last:
            table.add_section()
        own = entry.hours(rates, cores)
        hours = f"{own:.1f}" if own < 10 else f"{own:,.0f}"
        name = "" if entry.paper == last else entry.paper
        table.add_row(name, _in_lines(entry.plays), Text(entry.scenario, style="cyan"), hours)
        last = entry.paper
    return table


def _in_lines(plays: Sequence[str]) -> str:
    """Tables and figures, comma between, in lines that break none of them."""
    whole = ", ".join(one.replace(" ", "\0") for one in plays)
    return textwrap.fill(whole, _LETTERS).replace("\0", " ")


def show(measure: bool) -> None:
    """Print which shipped scenario plays which table of a paper, and how long it takes.

    `measure`: measure the rates of this machine, and keep them for the next time.
    """
    table, path = shipped(), kept_rates()
    if measure:
        found = measured(table)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(found, indent=1, sort_keys=True))
        except OSError as error:
            raise ScenarioError(
                f"{path}: this machine's rates cannot be kept there: {error.strerror}; name "
                "another folder in XDG_CACHE_HOME"
            ) from error
    own = kept(path, table)
    cores = os.cpu_count() or 1
    console = terminal.out()
    if own is not None:
        where = f"this machine's own rates (kept in {path}), on its {cores} cores"
        console.print(as_table(table.entries, own, cores))
    else:
        where = (
            f"the rates of {table.machine}, on {table.cores} cores; netsim list papers --measure "
            "takes this machine's"
        )
        console.print(as_table(table.entries, table.rates, table.cores))
    not_played = [
        f"{paper}: {', '.join(f'{what} ({why})' for what, why in reasons.items())}"
        for paper, reasons in NOT_PLAYED.items()
    ]
    console.print(Text("Not played: " + "; ".join(not_played)))
    console.print(
        Text(
            f"Hours: counted operations of local steps and evaluations, at {where}. A "
            "loss of a method counts as a plain step; what messages, means and the simulator take "
            "is left out, so that small models take longer."
        )
    )


def measured(table: Shipped) -> dict[str, tuple[float, float]]:
    """Measure the rates of this machine, with the first model of each name; a minute or two."""
    from netsim.engine import rates
    from netsim.scenario import load

    found: dict[str, tuple[float, float]] = {}
    for entry in table.entries:
        if set(entry.flop) <= set(found):
            continue
        with terminal.waiting(f"measuring {', '.join(sorted(set(entry.flop) - set(found)))}"):
            for form in rates.forms(load(entry.scenario)):
                if form.name in entry.flop and form.name not in found:
                    here = rates.measured(form)
                    found[form.name] = here.train, here.look
    return found


def kept(path: Path, table: Shipped) -> Rates | None:
    """Return the rates of this machine, as kept; None where none are, or of other models.

    Raises
    ------
    ScenarioError
        If the file is no table of rates.
    """
    if not path.is_file():
        return None
    try:
        rates = _pairs(json.loads(path.read_text(encoding="utf-8")))
        if not all(math.isfinite(x) and x > 0 for pair in rates.values() for x in pair):
            raise ValueError("not all of them are rates")
    except (ValueError, TypeError, AttributeError) as error:
        raise ScenarioError(f"{path}: is no table of rates; delete it") from error
    return rates if set(rates) >= set(table.rates) else None


def kept_rates() -> Path:
    """Return where this machine's rates are kept: in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "netsim" / "rates.json"


def _order(table: str) -> tuple[bool, int]:
    """`Table 10` after `Table 9`, figures after tables."""
    word, _, number = table.partition(" ")
    return word != "Table", int(number) if number.isdecimal() else 0
