"""Parts of the chain of work that rounds waited for: common functions."""

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import LEAST, PACE, Finding, percent


def share_of(run: Evidence, part: str) -> float:
    """The share of the chain that a part took: `air`, `compute` or `wait`."""
    if not len(run.path):
        return 0.0
    lasts_s = run.path.t_end_s - run.path.t_begin_s
    share = float(lasts_s[run.path.part == part].sum() / lasts_s.sum())
    lasts = "(path.t_end_s - path.t_begin_s)"
    run.shown(f'{lasts}[path.part == "{part}"].sum() / {lasts}.sum()', share)
    return share


def pace(run: Evidence, part: str, name: str, what: str, holds_back: bool = True) -> list[Finding]:
    """Report a chain part's share of the rounds' time.

    Parameters
    ----------
    part : {"air", "compute", "wait"}
    name : str
        Begins the sentence.
    what : str
        What the rounds waited for; ends it.
    """
    share = share_of(run, part)
    if share < LEAST:
        return []
    text = f"{name}: for {percent(share)} of the time rounds waited for {what}."
    return [Finding(PACE, share, text, run.queries(), holds_back)]
