"""Fates of all messages of each algorithm: used, late, lost, and what they were lost to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED
from netsim.views import Ask, Panel, Quantity, Shares, Shown
from netsim.views.gathering import runs as of_several
from netsim.views.network_cost import CAUSES

TITLE = "The fate of messages"
PLACE = 40
NOTHING = "no message was sent"

USED, UNUSED, OTHERS = ("used", "arrived, used too late or not at all", "arrived without a model")


def of_runs(runs: Sequence[RunFolder], _: Ask) -> Shown | None:
    """Return the shares of messages, once a receiver; None where none were sent.

    Seeds of one algorithm and scenario are added up.
    """
    ended = [run for run in runs if run.summary]
    groups = {run.algorithm: [run] for run in ended}
    if len(groups) < len(ended):
        groups = of_several.groups(ended)
    fates: dict[str, Counter[str]] = {}
    for name, group in groups.items():
        fates[name] = Counter()
        for run in group:
            fates[name].update(fates_of(run.summary))
    sending = {name: counts for name, counts in fates.items() if sum(counts.values())}
    if not sending:
        return None
    order = [USED, OTHERS, UNUSED, *CAUSES.values()]
    met = [word for word in order if any(counts[word] for counts in sending.values())]
    counts = np.array([[of_run[word] for word in met] for of_run in sending.values()])
    table = {
        "algorithm": np.repeat(list(sending), len(met)),
        "fate": np.tile(met, len(sending)),
        "messages": counts.reshape(-1),
        "share": (counts / counts.sum(axis=1, keepdims=True)).reshape(-1),
    }
    mark = Shares(
        "algorithm", Quantity("share", "Messages, once a receiver", "%"), "fate", "messages"
    )
    return Shown([Panel(mark, table)], "used: a job of the receiver read one of its values")


def fates_of(summary: Mapping[str, Any]) -> Counter[str]:
    """Messages of a run by what became of them; outcomes of no model arrive and are not used."""
    found: Counter[str] = Counter()
    for by_outcome in summary.get("outcomes", {}).values():
        for outcome, count in by_outcome.items():
            found[OTHERS if outcome in ARRIVED else CAUSES.get(outcome, outcome)] += int(count)
    uses = summary.get("uses", {})
    arrived, used = int(uses.get("arrived", 0)), int(uses.get("used", 0))
    found[USED] += used
    found[UNUSED] += arrived - used
    found[OTHERS] -= arrived
    return found
