"""Limits of a run in words: what it waited for and what it lost, the most important first."""

import numpy as np

from netsim.errors import ScenarioError, one_line
from netsim.recording.reader import RunFolder
from netsim.views import Column, Columns, Panel, Printed, Quantity, Shown
from netsim.views.explaining import explained

TITLE = "What limited the run"
PLACE = None
NOTHING = "no log to explain it by; netsim explain says what is missing"


def of_run(run: RunFolder) -> Shown | None:
    """Return a row a finding, with its rank and the share that it concerns; None without a log."""
    try:
        found = explained(run.folder)[1]
    except ScenarioError:
        return None
    if not found:
        return None
    table = {
        "rank": np.array([one.rank for one in found]),
        "share": np.array([one.weight for one in found], dtype=np.float64),
        "finding": np.array([one_line(one.text) for one in found]),
    }
    columns = [
        Quantity("rank", "what"),
        Quantity("share", "share", "%"),
        Quantity("finding", "finding"),
    ]
    caption = (
        "harm: what went wrong; pace: what the time went to; minor: what went wrong a little; "
        "outlook: what could be. The share is of messages, of the nodes' time or of the chain of "
        "work."
    )
    numbers = [f"{k}." for k in range(1, len(found) + 1)]
    told = Column("finding", table["finding"].tolist())
    return Shown(
        [Panel(Columns(columns, caption), table)], printed=Printed({"": numbers}, [told], "")
    )
