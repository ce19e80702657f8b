"""`netsim list papers`: which shipped scenario plays which table of a paper, and for how long."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.table import Table
from rich.text import Text

from netsim.backends.native import library
from netsim.campaign import grid as sweeps
from netsim.engine import estimate
from netsim.engine.estimate import Timer
from netsim.engine.step_times import Times, taking_part, timed
from netsim.errors import ScenarioError
from netsim.models import ModelKind
from netsim.recording.whole_files import write_text
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario import file as scenario_file
from netsim.scenario.kinds import Kinds
from netsim.scenario.training import Training

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


@dataclass(frozen=True)
class Entry:
    """A scenario that plays something of a paper.

    Attributes
    ----------
    paper : str
    plays : tuple of str
        Tables and figures.
    scenario : str
    hours : float
        Of all points and seeds of its sweep, on all cores.
    """

    paper: str
    plays: tuple[str, ...]
    scenario: str
    hours: float


def entries(modules: Kinds, timer: Timer) -> list[Entry]:
    """All shipped scenarios that say what they play, by paper and first table.

    Parameters
    ----------
    modules : Kinds
        What scenarios can name.
    timer : callable
        Times models.
    """
    found = []
    for name in scenario_file.shipped():
        draft = draft_of(name, (), modules)
        if "paper" not in draft.raw:
            continue
        whole = check(draft, modules)
        assert whole.paper is not None
        seconds = sum(estimate.seconds(one, timer) for one in _points(name, modules, whole))
        sweep = whole.sweep
        runs = len(sweeps.seeds(sweep, whole.seed)) * (sweep.trials or 1) if sweep else 1
        cores = 1 if torch.cuda.is_available() else (os.cpu_count() or 1)
        hours = runs * seconds / cores / 3600
        found.append(Entry(whole.paper.name, whole.paper.plays, name, hours))
    return sorted(found, key=lambda e: (e.paper, _order(e.plays[0]), e.scenario))


def as_table(entries: Sequence[Entry]) -> Table:
    """A row a scenario, sections by paper."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("paper", "tables and figures", "scenario"):
        table.add_column(column, overflow="fold")
    table.add_column("hours here", justify="right")
    last = ""
    for entry in entries:
        if last and entry.paper != last:
            table.add_section()
        hours = f"{entry.hours:.1f}" if entry.hours < 10 else f"{entry.hours:,.0f}"
        name = "" if entry.paper == last else entry.paper
        table.add_row(name, ", ".join(entry.plays), Text(entry.scenario, style="cyan"), hours)
        last = entry.paper
    return table


def left_out() -> list[str]:
    """A line a paper: what of it no scenario plays, and why."""
    found = []
    for paper, reasons in NOT_PLAYED.items():
        told = [f"{what} ({why})" for what, why in reasons.items()]
        found.append(f"{paper}: {', '.join(told)}")
    return found


def _points(name: str, modules: Kinds, whole: Scenario) -> Iterator[Scenario]:
    """Every point of the sweep of a scenario, with its first seed."""
    if whole.sweep is None:
        yield whole
        return
    for point in sweeps.points(whole.sweep):
        draft = draft_of(name, (), modules)
        draft.raw.pop("sweep")
        for key, value in point.values.items():
            draft.assign(key, value, name)
        yield check(draft, modules)


def _order(table: str) -> tuple[bool, int]:
    """`Table 10` after `Table 9`, figures after tables."""
    word, _, number = table.partition(" ")
    return word != "Table", int(number) if number.isdecimal() else 0


class KeptTimes:
    """Times of models on this machine, kept in a file from one call to the next.

    Another torch or another native kernel is timed anew.

    Parameters
    ----------
    path : Path
    anew : bool
        Time even what the file has.
    say : callable, optional
        Told once, before the first model is timed.
    """

    def __init__(self, path: Path, anew: bool, say: Callable[[str], object] | None = None) -> None:
        self._path, self._say = path, say
        self._known: dict[str, Times] = {}
        if not anew and path.is_file():
            try:
                kept = json.loads(path.read_text(encoding="utf-8"))
                self._known = {key: Times(**times) for key, times in kept.items()}
                if not all(map(_are_seconds, self._known.values())):
                    raise ValueError("not all of them are seconds")
            except (ValueError, TypeError, AttributeError) as error:
                raise ScenarioError(f"{path}: is no table of times; delete it") from error

    def __call__(
        self,
        scenario: Scenario,
        training: Training,
        model: ModelKind,
        played: Mapping[str, Any] | None,
    ) -> Times:
        """The times of a model in an algorithm's minibatches; see `timed`."""
        key = _key(scenario, training, model, played)
        if key not in self._known:
            if self._say is not None:
                self._say(
                    f"timing models here, some minutes; kept in {self._path} for the next time"
                )
                self._say = None
            self._known[key] = timed(scenario, training, model, played)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = {key: asdict(times) for key, times in sorted(self._known.items())}
            write_text(self._path, json.dumps(kept, indent=1))
        return self._known[key]


def _are_seconds(times: Times) -> bool:
    return all(math.isfinite(value) and value >= 0 for value in asdict(times).values())


def _key(
    scenario: Scenario, training: Training, model: ModelKind, played: Mapping[str, Any] | None
) -> str:
    outline = scenario.data.outline()
    form = [outline.input_shape, outline.num_classes, training.batch_size, training.optimizer]
    slots = getattr(scenario.exchange, "slots_per_exchange", None)
    nodes = taking_part(scenario)
    computed_by = [torch.__version__, library.identity()]
    return json.dumps([model.model_dump(mode="json"), *form, played, slots, nodes, *computed_by])


def kept_times() -> Path:
    """Return the file of the measured times, in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "netsim" / "times.json"
