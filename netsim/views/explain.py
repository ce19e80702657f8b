"""Limits of a run in words: what it waited for and what it lost, the most important first."""

from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.views import Column, Panel, Printed, Sentence, Sentences, Shown
from netsim.views.explaining import Evidence, explained, limits
from netsim.views.explaining.findings import OUTLOOK
from netsim.views.explaining.node_story import story

TITLE = "What limited the run"
PLACE = 15
ON_REQUEST = True
NOTHING = "no log to explain it by; netsim explain says what is missing"

_MOST_MESSAGES = 300_000
"""A page of more does without: it would keep its user waiting."""
_NOTHING = (
    "Nothing stands out: no message cause, node or wait took 5 % of anything, and neither training "
    "nor airtime set the pace. The run went as fast as its schedule let it."
)


def of_run(run: RunFolder) -> Shown | None:
    """Return a sentence a finding; None without a log."""
    try:
        if run_folder.rows(run.folder, "messages") > _MOST_MESSAGES and run.faults is not None:
            return None
        return gather(run.folder)
    except ScenarioError:
        return None


def _by_pytorch(summary: dict[str, Any]) -> list[str]:
    """Jobs that PyTorch computed in place of the native kernel, and why: one line per sort."""
    ways: dict[str, str] = summary.get("engine", {}).get("ways", {})
    return [f"{subject}: by {way}" for subject, way in ways.items() if "PyTorch" in way]


def gather(folder: Path, node: int | None = None) -> Shown:
    """Gather what limited a run, or what happened to a node of it.

    Parameters
    ----------
    folder : Path
        Of a run that has begun.

    Returns
    -------
    Shown
        Its table has one row per finding: `rank` (harm: what went wrong; pace: use of the time;
        minor: what went wrong a little; outlook: what could be), `share` of messages, of the nodes'
        time or of the chain of work, and `finding`.

    Raises
    ------
    ScenarioError
        If it is no such folder, has no log, or no such node.
    """
    if node is None:
        evidence, found = explained(folder)
    else:
        evidence = Evidence(folder)
        found = story(evidence, node)
    run = evidence.run
    lines = [] if node is not None or limits(found) else [Sentence(_NOTHING)]
    for place, one in enumerate(found, 1):
        mark = "At most:" if one.rank == OUTLOOK else f"{place}."
        queries = tuple(query.code for query in one.queries)
        lines.append(Sentence(one_line(one.text), mark, queries))
    whose = "" if node is None else f", node {node}"
    ended = "" if run.state == "done" else f"; the run is not done ({run.state}): as far as it came"
    count = len(evidence.nodes)
    about = f"{count} node{'s' * (count != 1)}, {run.end_s:,.6g} virtual s, {evidence.schedule}"
    sentences = [about + ended, *_by_pytorch(run.summary)]
    head = one_line(f"{folder}: {run.label}{whose}"), "\n".join(map(one_line, sentences)) + "\n"
    table = {
        "rank": np.array([one.rank for one in found]),
        "share": np.array([one.weight for one in found], dtype=np.float64),
        "finding": np.array([one_line(one.text) for one in found]),
    }
    column = Column("finding", table["finding"].tolist())
    numbers = [f"{k}." for k in range(1, len(found) + 1)]
    panel = Panel(Sentences(lines, head, evidence.loading), table)
    return Shown([panel], printed=Printed({"": numbers}, [column], ""))
