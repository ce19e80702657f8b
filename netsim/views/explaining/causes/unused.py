"""Arrived and not used: models that came and entered no mixture, training or prediction.

Measure: the share of the messages with models or other values that arrived and that no job ever
read because they were late, too old, or left aside. Where later ones of the same sender took their
place, or the run ended first, nothing went wrong: these are counted only where nothing was used.
"""

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent

_WHY = {
    "late": "after what waited had ended",
    "superseded": "replaced by a later one of the same sender before anything read it",
    "too_old": "older than max_age_s when read",
    "ignored": "ignored by malicious nodes",
    "not_used": "given weight 0 or left aside",
    "unread": "still waiting at the end",
}


def find(run: Evidence) -> list[Finding]:
    """Arrivals of which nothing came."""
    uses = run.uses
    if not len(uses):
        return []
    anything = bool((uses.fate == "used").any())
    wrong = ["late", "too_old", "not_used"] if anything else list(_WHY)
    unused = uses[uses.fate.isin(wrong)].fate.astype(str)
    if not len(unused):
        return []
    share = run.shown(f"uses.fate.isin({wrong}).mean()", len(unused) / len(uses))
    fates = run.shown(
        f"uses[uses.fate.isin({wrong})].fate.astype(str).value_counts().to_dict()",
        unused.value_counts().to_dict(),
    )
    many = sum(fates.values())
    parts = ", ".join(f"{n:,} {_WHY.get(fate, fate)}" for fate, n in fates.items())
    text = (
        f"Arrived, not used: {percent(share)} of the models and other values that came "
        f"({many:,} of {len(uses):,}) entered nothing: {parts}."
    )
    return [harm(share, text, run.queries())]
