"""The radios of a scenario: their link budget, and when they are awake."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import distance_among
from netsim.channels.rate.minstrel import Minstrel
from netsim.channels.sleep import Rhythm, rhythms
from netsim.errors import ScenarioError
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import Track
from netsim.units import db_to_linear
from netsim.world.link_budget import open_budget
from netsim.world.placement import distances


class Radios(NamedTuple):
    """Radios of a world; the defaults are those of a scenario without a radio.

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
    folder: Path | None,
) -> Radios:
    """The radios of all nodes.

    Parameters
    ----------
    scenario : Scenario
    positions_m : (N, 2) or (N, 3) array or None
        Where nodes start; None for `iid_links`.
    streams : Streams
    track : Track or None
        Movement of nodes.
    folder : Path or None
        The data folder, where files that the radio names may lie.

    Raises
    ------
    ScenarioError
        If the radio needs places or a base station and there is none, can't be calibrated as asked,
        or a file that it names is not what it should be.
    """
    if scenario.radio is None:
        return Radios()
    if positions_m is None:
        scenario.radio.do_without_places()
    if scenario.radio.mac.has_base_stations and SERVER not in scenario.per_node("role"):
        raise ScenarioError(
            f'[radio.mac] kind = "{scenario.radio.mac.kind}": every message goes to or from a base '
            'station, and there is none; give a node role = "server" in [[nodes.groups]], or name '
            'another kind, such as "orthogonal"'
        )
    nodes = [i for i in range(scenario.nodes.count) if i not in scenario.servers_on_wires]
    distance_m = distances(positions_m, track, scenario.nodes.heights)
    scenario.radio.mac.require_slots(len(nodes), distance_among(nodes, distance_m))
    scenario.radio.fading.open_file(folder)
    scenario.radio.packet_error.open_file(folder)
    _require_rates(scenario.radio)
    awake = rhythms(scenario.per_node("sleep"), streams)
    given_dbm = scenario.nodes.of_groups("tx_power_dbm")
    budget = open_budget(scenario, positions_m, given_dbm, streams, track, folder)
    return Radios(*budget, awake)


def _require_rates(radio: Radio) -> None:
    """Raise DataError if the rate model uses a rate that a table of packet errors lacks."""
    if not radio.packet_error.by_rate:
        return
    if isinstance(radio.rate, Minstrel):
        for rate_bps in radio.rate.rates_bps(radio.bandwidth_hz):
            radio.packet_error.at_rate(rate_bps)
    for snr_db in np.arange(-60.0, 80.0, 0.1).tolist():
        rate_bps = radio.rate.bits_per_s(db_to_linear(snr_db), radio.bandwidth_hz)
        if rate_bps > 0:
            radio.packet_error.at_rate(rate_bps)
