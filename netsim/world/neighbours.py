"""Neighbours of each node over time."""

from netsim.scenario.tables import Scenario
from netsim.topology import Site
from netsim.traces.contacts import Meetings


def neighbours(scenario: Scenario, site: Site) -> tuple[list[tuple[int, ...]], Meetings | None]:
    """The neighbours of every node by the scenario's topology.

    Returns
    -------
    neighbours : list of tuple of int
        Whom each node may ever talk to.
    meetings : Meetings or None
        When neighbours are in contact; None: always.

    Raises
    ------
    ScenarioError
        If there is no such graph over so many nodes, or its file can't be used.
    """
    meetings = scenario.topology.meetings(site)
    if meetings is None:
        return scenario.topology.neighbours(site), None
    return meetings.neighbours(), meetings
