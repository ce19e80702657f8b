"""The radios of a scenario: their link budget, and when they are awake."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels.sleep import Rhythm, rhythms
from netsim.links.radio.budget import LinkBudget
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import Track
from netsim.world.link_budget import open_budget


class Radios(NamedTuple):
    """What a world knows of its radios; the defaults are those of a scenario without a radio.

    Attributes
    ----------
    budget : LinkBudget or None
        Mean SNRs.
    threshold_db : float or None
        SNR from which a peer is reachable.
    tx_power_dbm : tuple of float
        One a node.
    rhythms : tuple of Rhythm or None
        When each radio is awake; empty: all of them always.
    """

    budget: LinkBudget | None = None
    threshold_db: float | None = None
    tx_power_dbm: tuple[float, ...] = ()
    rhythms: tuple[Rhythm | None, ...] = ()


def radios(
    scenario: Scenario,
    positions_m: NDArray[np.float64] | None,
    streams: Streams,
    track: Track | None,
) -> Radios:
    """The radios of all nodes.

    Parameters
    ----------
    scenario : Scenario
    positions_m : (N, 2) array or None
        Where nodes start; None for `iid_links`.
    streams : Streams
    track : Track or None
        How nodes move.

    Raises
    ------
    ScenarioError
        If the radio needs places and nodes have none, or can't be calibrated as asked.
    """
    if scenario.radio is None:
        return Radios()
    if positions_m is None:
        scenario.radio.do_without_places()
    awake = rhythms(scenario.per_node("sleep"), streams)
    given_dbm = scenario.nodes.of_groups("tx_power_dbm")
    return Radios(*open_budget(scenario, positions_m, given_dbm, streams, track), awake)
