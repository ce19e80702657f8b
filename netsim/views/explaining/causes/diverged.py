"""Diverged models: nodes whose models became nan, infinite or huge, and who passed that on.

Measure: the share of nodes whose model was not sound any more at some time: by their own training,
or because they took over what another node had sent.
"""

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, listed
from netsim.views.gathering.numbers import seconds


def find(run: Evidence) -> list[Finding]:
    """Nodes that broke, and nodes that caught it."""
    if not run.diverged and not run.caught:
        return []
    share = (len(run.diverged) + len(run.caught)) / len(run.nodes)
    run.shown("(len(diverged) + len(caught)) / len(nodes)", share)
    broke, caught = run.shown("diverged", run.diverged), run.shown("caught", run.caught)
    text = "Diverged: "
    if broke:
        first = min(broke, key=lambda one: one["t_s"])
        text += (
            f"the model of {listed([one['node'] for one in broke])} became nan, infinite or huge, "
            f"of node {first['node']} first, at {seconds(first['t_s'])} in {first['job']}."
        )
    if caught:
        first = min(caught, key=lambda one: one["t_s"])
        nodes = listed([one["node"] for one in caught])
        text += (
            f"{' ' if broke else ''}{nodes.capitalize()} got such "
            f"a model from another node, node {first['node']} first, from node {first['sender']} "
            f"at {seconds(first['t_s'])}."
        )
    return [harm(share, text, run.queries())]
