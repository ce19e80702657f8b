"""Airtime: how much of the time messages took, on the chain of work or of all radios' time.

Measure: under `rounds`, the share of the critical path that messages took from sending to their
end, waiting for radios included. Under other schedules, the share of the run for which the one
channel was in use, or for which radios sent, on average over nodes.
"""

from netsim.views.explaining.causes._chain import pace
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import LEAST, PACE, Finding, percent
from netsim.views.gathering.numbers import seconds

_ONE_CHANNEL = ("csma", "aloha", "shared", "tdma")
_FULL = 0.5


def find(run: Evidence) -> list[Finding]:
    """Report the share of transmissions."""
    if run.schedule == "rounds":
        what = "messages, from sending until they were through"
        if len(run.messages):
            lasts_s = run.messages.t_done_s - run.messages.t_sent_s
            mean_s = run.shown("(messages.t_done_s - messages.t_sent_s).mean()", lasts_s.mean())
            what += f" ({seconds(mean_s)} each on average)"
        return pace(run, "air", "Airtime", what)
    if not len(run.traffic) or not run.end_s:
        return []
    airtime_s = run.traffic.airtime_s.iloc[-1]
    mac = run.scenario.get("radio", {}).get("mac", {}).get("kind")
    if mac in _ONE_CHANNEL:
        share = run.shown("traffic.airtime_s.iloc[-1] / T", airtime_s / run.end_s)
        text = f"Airtime: the channel that all share was in use for {percent(share)} of the run."
    else:
        code = "traffic.airtime_s.iloc[-1] / (T * len(nodes))"
        share = run.shown(code, airtime_s / (run.end_s * len(run.nodes)))
        text = f"Airtime: radios sent for {percent(share)} of the run, on average over nodes."
    if share < LEAST:
        return []
    return [Finding(PACE, share, text, run.queries(), holds_back=share > _FULL)]
