"""The wires of a scenario: every node's access, and what lies between."""

from pathlib import Path

from netsim.errors import ScenarioError
from netsim.links.wired.plan import Wiring, read_wiring
from netsim.rng import Streams
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario


def wires(
    scenario: Scenario, roles: tuple[str, ...], streams: Streams, folder: Path | None
) -> Wiring | None:
    """The wires, read from their files; None without a `[link]`.

    Parameters
    ----------
    scenario : Scenario
    roles : tuple of str
        By node; the access of servers follows no bandwidth trace.
    streams : Streams
    folder : Path or None
        The data folder.

    Raises
    ------
    ScenarioError
        If a file is missing or malformed, or the topology states wires and its links are none.
    """
    stated = scenario.topology.wires()
    if stated and (scenario.link is None or scenario.radio is not None):
        raise ScenarioError(
            "[topology]: its links have rate_bps or latency_s, which are those of wires, and nodes "
            "talk by [radio]; take them out of the graph, or give a [link] in place of the [radio]"
        )
    if scenario.link is None:
        return None
    up_bps = scenario.nodes.of_groups("uplink_bps")
    down_bps = scenario.nodes.of_groups("downlink_bps")
    traced = [role != SERVER for role in roles]
    return read_wiring(scenario.link, up_bps, down_bps, traced, streams, folder, stated)
