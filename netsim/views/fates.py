"""Fates of messages over time, by kind."""

from typing import Any

import numpy as np

from netsim.recording.reader import RunFolder, Words
from netsim.recording.schema import OUTCOMES
from netsim.views import Layers, Panel, Quantity, Shown
from netsim.views.gathering.moments import moments, stretch_of

TITLE = "What became of messages"
PLACE = 40
NOTHING = "no messages in its log"

MOST_KINDS = 8
UNUSED = "arrived, not used"
"""Outcome of a message with a model or other values that arrived and that no job read."""


def of_run(run: RunFolder) -> Shown | None:
    """Return messages by kind, outcome and stretch of time (that in which they ended)."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    ends_s = moments(run)
    stretch = stretch_of(rows["t_done_s"], ends_s)
    fates = _fates(run)
    outcomes = known_outcomes(fates.names, fates.codes)
    kinds = rows["kind"]
    by_kind = np.bincount(kinds.codes, minlength=len(kinds.names))
    shown = [k for k in np.argsort(-by_kind, kind="stable").tolist() if by_kind[k]][:MOST_KINDS]
    place = {name: k for k, name in enumerate(fates.names)}
    size = len(ends_s)
    key = (kinds.codes * len(place) + fates.codes) * size + stretch
    counts = np.bincount(key, minlength=len(kinds.names) * len(place) * size)
    counts = counts.reshape(len(kinds.names), len(place), size)
    wide_s = float(ends_s[1] - ends_s[0]) if size > 1 else float(ends_s[0]) or 1.0
    each = len(outcomes) * size
    table = {
        "kind": np.repeat([kinds.names[k] for k in shown], each),
        "outcome": np.tile(np.repeat(outcomes, size), len(shown)),
        "t_s": np.tile(ends_s - wide_s / 2, len(shown) * len(outcomes)),
        "messages": counts[shown][:, [place[word] for word in outcomes]].reshape(-1),
    }
    left_out = int((by_kind > 0).sum()) - len(shown)
    mark = Layers(
        Quantity("t_s", "Virtual time at which they ended", "s"),
        Quantity("messages", f"Messages in {wide_s:.4g} s"),
        "outcome",
        "outcomes",
        wide_s,
        by=Quantity("kind", "Kind of message"),
    )
    note = f"{left_out} rarer kinds of message are left out." if left_out else ""
    return Shown([Panel(mark, table)], note)


def _fates(run: RunFolder) -> Words:
    """Outcomes of all messages; of those that arrived in vain, that."""
    outcome: Words = run.messages["outcome"]
    if not run.uses:
        return outcome
    in_vain = run.uses["message"][~run.uses["fate"].isin(("used",))]
    codes = outcome.codes.copy()
    codes[in_vain[in_vain < len(codes)]] = len(outcome.names)
    return Words((*outcome.names, UNUSED), codes)


def known_outcomes(names: tuple[str, ...], codes: Any) -> list[str]:
    """The outcomes that occur, in the order of `schema.OUTCOMES`, those that it lacks behind."""
    counts = np.bincount(codes, minlength=len(names))
    there = [name for name, count in zip(names, counts, strict=True) if count]
    return sorted(there, key=lambda n: (OUTCOMES.index(n) if n in OUTCOMES else len(OUTCOMES), n))
