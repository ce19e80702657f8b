"""Transmit powers, the threshold and each link's mean SNR, calibrated if a scenario asks for it."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.mean_snr import GivenMeanSnr, IidMeanSnr, PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import HighTrack, SpaceTrack, Track
from netsim.traces.gains import Gains
from netsim.units import db_to_linear, dbm_to_w, linear_to_db
from netsim.world import calibration, coverage


def open_budget(
    scenario: Scenario,
    positions: NDArray[np.float64] | None,
    given_dbm: tuple[float | None, ...],
    streams: Streams,
    track: Track | None,
    folder: Path | None = None,
) -> tuple[LinkBudget, float, tuple[float, ...]]:
    """Link budget, calibrated if the scenario says how many nodes are to be reachable.

    Parameters
    ----------
    scenario : Scenario
        With a radio.
    positions : (N, 2) or (N, 3) array or None
        Where nodes start; None for `iid_links`.
    given_dbm : tuple of float or None
        Transmit powers that groups state for their nodes.
    streams : Streams
    track : Track or None
        Movement of nodes.
    folder : Path or None
        The data folder, where gains may lie.

    Returns
    -------
    LinkBudget, threshold [dB], transmit power of each node [dBm]

    Raises
    ------
    ScenarioError
        If no radio makes so many nodes reachable, shadowing lacks its decorrelation distance, or
        a file of gains is not what it should be.
    """
    radio, nodes = scenario.radio, scenario.nodes
    assert radio is not None
    gains = radio.path_loss.link_gains(nodes.count, radio.carrier_hz, radio.bandwidth_hz, folder)
    if gains is not None:
        _require_gains_alone(scenario, gains)
    threshold_db, base_dbm, mean_db = radio.threshold_db, radio.tx_power_dbm, radio.mean_snr_db
    noticed_db = linear_to_db(radio.sensitivity) if radio.sensitivity else -math.inf
    if radio.reachable is not None:
        others = _radios(scenario) - 1
        if not radio.reachable < others:
            raise ScenarioError(
                f"[radio] reachable = {radio.reachable:g}: must be less than the number of other "
                f"nodes with a radio, {others}"
            )
        if positions is None:
            gap_db = _gap_db(scenario)
            if radio.calibrate == "threshold":
                threshold_db = mean_db + gap_db
            else:
                needed_db = max(threshold_db, noticed_db)
                base_dbm += needed_db - gap_db - mean_db
                mean_db = needed_db - gap_db
        else:
            edge_db = _edge_loss_db(scenario)
            if radio.calibrate == "threshold":
                threshold_db = calibration.threshold_db(base_dbm, radio.noise_dbm, edge_db)
            else:
                needed_db = max(threshold_db, noticed_db)
                base_dbm = calibration.tx_power_dbm(needed_db, radio.noise_dbm, edge_db)
        if threshold_db < noticed_db and radio.calibrate == "threshold":
            raise ScenarioError(
                f"[radio] reachable = {radio.reachable:g}: with a threshold of {threshold_db:.1f} "
                f"dB, but signals under sensitivity_dbm = {radio.sensitivity_dbm:g} (an SNR of "
                f'{noticed_db:.1f} dB) are not noticed; set calibrate = "power" or leave out '
                "sensitivity_dbm"
            )
    powers = tuple(base_dbm if p is None else p for p in given_dbm)
    watts, threshold = tuple(dbm_to_w(p) for p in powers), db_to_linear(threshold_db)
    if gains is not None:
        given = GivenMeanSnr(radio, powers, gains)
        return LinkBudget(given, threshold, watts), threshold_db, powers
    if positions is None:
        alike = IidMeanSnr(radio, tuple(mean_db + p - base_dbm for p in powers), streams)
        return LinkBudget(alike, threshold, watts), threshold_db, powers
    if isinstance(track, SpaceTrack) and radio.shadowing.drawn:
        raise ScenarioError(
            f'[radio.shadowing] kind = "{radio.shadowing.kind}": is a field over the ground, and '
            'nodes move in space; set "none"'
        )
    heights_m, highest = nodes.heights, radio
    ever_m = track.height_span_m if isinstance(track, HighTrack) else heights_m
    if ever_m:
        _require_height(radio, min(ever_m))
        highest = radio.model_copy(update={"path_loss": radio.path_loss.of_farthest(ever_m)})
    range_m = coverage.range_m(highest, max(powers), threshold)
    # What is too weak to be noticed still adds to the noise.
    heard_m = range_m
    if radio.sensitivity:
        deaf = highest.model_copy(update={"sensitivity_dbm": None})
        heard_m = coverage.range_m(deaf, max(powers), threshold)
    means = PlacedMeanSnr(radio, powers, positions, streams, heard_m, track, heights_m)
    return LinkBudget(means, threshold, watts, range_m), threshold_db, powers


def _require_height(radio: Radio, least_m: float) -> None:
    """Raise ScenarioError where heights do not go with the rest of a radio."""
    if least_m <= radio.path_loss.least_height_m:
        raise ScenarioError(
            f'[nodes] height_m: path_loss "{radio.path_loss.kind}" needs every antenna above '
            f"{radio.path_loss.least_height_m:g} m, and one is at {least_m:g} m"
        )
    if radio.reachable is not None:
        raise ScenarioError(
            f"[radio] reachable = {radio.reachable:g}: the formula is for nodes on the ground; set "
            "threshold_db or tx_power_dbm yourself"
        )


def _require_gains_alone(scenario: Scenario, gains: Gains) -> None:
    """Raise ScenarioError for what would be counted twice beside gains of a file, or needs a law.

    Raises
    ------
    ScenarioError
    """
    radio = scenario.radio
    assert radio is not None
    law_text = f'path_loss "{radio.path_loss.kind}"'
    if radio.reachable is not None:
        raise ScenarioError(
            f"[radio] reachable = {radio.reachable:g}: {law_text} states every link, so there is "
            "nothing to calibrate by distance; set threshold_db or tx_power_dbm yourself"
        )
    if radio.shadowing.drawn:
        raise ScenarioError(
            f'[radio.shadowing] kind = "{radio.shadowing.kind}": {law_text} holds it '
            'already; set "none"'
        )
    if gains.faded and radio.fading.kind != "none":
        raise ScenarioError(
            f'[radio.fading] kind = "{radio.fading.kind}": {law_text} with gain = "faded" holds it '
            'already; set "none"'
        )


def _radios(scenario: Scenario) -> int:
    """Number of nodes with a radio."""
    return scenario.nodes.count - len(scenario.servers_on_wires)


def _gap_db(scenario: Scenario) -> float:
    """Threshold over mean SNR [dB] where all links have the same mean."""
    radio, nodes = scenario.radio, _radios(scenario)
    assert radio is not None
    assert radio.reachable is not None
    if radio.fading.kind == "rayleigh" and not radio.shadowing.drawn:
        return linear_to_db(calibration.iid_links_threshold_over_mean_snr(nodes, radio.reachable))
    if radio.fading.kind == "none" and not radio.shadowing.drawn:
        raise ScenarioError(
            f"[radio] reachable = {radio.reachable:g}: without fading, shadowing or places all "
            "links are equal, so all nodes are reachable or none"
        )
    return coverage.share_over_mean(radio, radio.reachable / (nodes - 1))


def _edge_loss_db(scenario: Scenario) -> float:
    """Path loss at the distance where the mean SNR is to fall to the threshold."""
    radio, nodes = scenario.radio, scenario.nodes
    assert radio is not None
    assert radio.reachable is not None
    if nodes.placement != "disc":
        raise ScenarioError(
            '[radio] reachable: the formula is for nodes in a disc (placement = "disc") or alike '
            'links ("iid_links"); set threshold_db yourself'
        )
    exponent = radio.path_loss.power_law
    if radio.fading.kind != "rayleigh" or radio.shadowing.drawn or exponent is None:
        return coverage.edge_loss_db(radio, _radios(scenario), nodes.radius_m, radio.reachable)
    ratio = calibration.solve_d0_over_radius(_radios(scenario), radio.reachable, exponent)
    return float(radio.path_loss.loss_db(ratio * nodes.radius_m, radio.carrier_hz))
