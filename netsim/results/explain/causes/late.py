"""Late arrivals: messages that came after the round in which they were sent.

Measure: the share of all messages that arrived after the next round had begun. Only under `rounds`.
"""

from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_LATE = (
    '(messages.outcome.isin(["delivered", "partial"]) & '
    '(messages.t_done_s > starts.shift(-1).reindex(messages["round"]).to_numpy()))'
)


def find(run: RunTables) -> list[Finding]:
    """Arrivals for which the barrier did not wait."""
    deadline_s = run.names["scenario"].get("exchange", {}).get("deadline_s")
    if run.schedule != "rounds" or deadline_s is None:
        return []
    share = run.ask(f"{_LATE}.mean()")
    if not share:
        return []
    text = (
        f"Late: {percent(share)} of all messages arrived after their round had ended, which lasts "
        f"{deadline_s:g} s at most: what was to be exchanged took longer."
    )
    return [harm(share, text, run.asked())]
