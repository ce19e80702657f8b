"""Scenario -> World: who the nodes are, where they stand, what they learn from, what links them.

A world is what the algorithms of one scenario share; everything in it is drawn from the seed, so
each of them meets the same nodes, shards, initial models, fading and wake-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from netsim.channels.sleep import Rhythm
from netsim.data.sets import Samples
from netsim.devices.energy.harvest import Supply, supply
from netsim.errors import ScenarioError
from netsim.learning import torch_settings
from netsim.learning.architecture import Architecture
from netsim.learning.shards import Shards
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.wired.plan import Wiring
from netsim.rng import Streams
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario
from netsim.topology import Site
from netsim.topology.churn import Timeline, timeline
from netsim.topology.mobility import Track
from netsim.traces import remarks
from netsim.traces.contacts import Meetings
from netsim.traces.input_files import InputFile, collect_files
from netsim.units import to_ns
from netsim.world.device import torch_device
from netsim.world.drifting import DataChange
from netsim.world.fidelity import Fidelity, choose_level
from netsim.world.initial_models import initial_models
from netsim.world.local_data import learning_nodes, local_data, malicious_nodes
from netsim.world.memory import Need, of_data
from netsim.world.minibatch_check import require_trainable
from netsim.world.neighbours import neighbours
from netsim.world.placement import distances, place_nodes, starting_heights_m
from netsim.world.radios import radios
from netsim.world.wires import wires

__all__ = ["SERVER", "World", "build"]


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """Everything that the algorithms of a scenario share; tuples have one entry a node.

    Attributes
    ----------
    samples : Samples
        The data set; `shards` says which of them each node has.
    data_changes : tuple of DataChange
        When nodes go over to other shards.
    roles : tuple of str
        `SERVER` for nodes without data; all else learns.
    speed_factor : tuple of float
        Speed relative to the nominal device of `[compute]`.
    neighbours : list of tuple of int
        Whom each node may ever talk to.
    meetings : Meetings or None
        When neighbours are in contact; None: always.
    positions_m : (N, 2) or (N, 3) array or None
        At the start; None where links have no places (`iid_links`, wired).
    track : Track or None
        How nodes move; None: nobody does.
    heights_m : tuple of float
        Of each node, at all times; empty: distances are those along the ground.
    architectures : tuple of Architecture
    initial : tuple of torch.Tensor
        (D,) initial parameters; the same tensor where they are common.
    wiring : Wiring or None
        None without a wired link.
    budget : LinkBudget or None
        Mean SNRs; None without a radio.
    threshold_db : float or None
        SNR from which a peer is reachable; None without a radio.
    tx_power_dbm : tuple of float
        Transmit powers; empty without a radio.
    rhythms : tuple of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    fidelity : Fidelity or None
        How closely the radio is played, and why; None without a radio.
    malicious : frozenset of int
        Nodes that attack.
    churn : Timeline or None
        When nodes are on; None: always.
    batteries_j : tuple of float or None
        What each node's battery holds when full; None: no end of it.
    supply : Supply or None
        What nodes harvest; None: nothing.
    need : Need
        The memory that a run is estimated to take.
    inputs : tuple of InputFile
        The files that were read for all of this.
    notes : Notes
        What a user should know of them.
    later : tuple of (int, World)
        The worlds that follow in mid-run, from when on [ns]; they differ in what links nodes.
    """

    scenario: Scenario
    streams: Streams
    samples: Samples
    shards: Shards
    data_changes: tuple[DataChange, ...]
    roles: tuple[str, ...]
    speed_factor: tuple[float, ...]
    neighbours: list[tuple[int, ...]]
    meetings: Meetings | None
    positions_m: np.ndarray | None
    track: Track | None
    heights_m: tuple[float, ...]
    architectures: tuple[Architecture, ...]
    initial: tuple[Tensor, ...]
    wiring: Wiring | None
    budget: LinkBudget | None
    threshold_db: float | None
    tx_power_dbm: tuple[float, ...]
    rhythms: tuple[Rhythm | None, ...]
    fidelity: Fidelity | None
    malicious: frozenset[int]
    churn: Timeline | None
    batteries_j: tuple[float | None, ...]
    supply: Supply | None
    need: Need
    inputs: tuple[InputFile, ...]
    notes: remarks.Notes
    later: tuple[tuple[int, World], ...]


def build(
    scenario: Scenario,
    data_folder: Path | None = None,
    doing: Callable[[str], object] | None = None,
) -> World:
    """Make the world of a scenario, and note the files that it is made of.

    Parameters
    ----------
    scenario : Scenario
    data_folder : Path or None
        Where data sets lie, unless the scenario says.
    doing : callable or None
        Told in words what is being made.

    Raises
    ------
    ScenarioError
        If the scenario asks for what is not there: samples, a device, a reachable count.
    """
    with torch_settings.defaults(), collect_files() as files, remarks.collect_remarks() as notes:
        world = _build_world(scenario, data_folder, doing)
    return replace(world, inputs=files.hashed(), notes=notes)


def _build_world(
    scenario: Scenario, data_folder: Path | None, listener: Callable[[str], object] | None
) -> World:
    """Build the world, without the list of its input files.

    Parameters
    ----------
    scenario, data_folder, listener
        As of `build`.
    """

    def report(words: str) -> None:
        if listener is not None:
            listener(words)

    streams = Streams(scenario.seed)
    folder = data_folder if scenario.data.path is None else Path(scenario.data.path)
    device = torch_device(scenario.run.device)
    dtype = torch.float64 if scenario.training.dtype == "float64" else torch.float32

    # where they are
    report("placing the nodes")
    positions_m, track = place_nodes(scenario, streams, folder)

    # what they learn from
    report(f"reading the data set {getattr(scenario.data, 'kind', '')}")
    reading = of_data(scenario)
    if reading is not None:
        try:
            reading.require("take a smaller data set, or a machine with more memory")
        except ScenarioError as error:
            raise ScenarioError(f"[data]: {error}") from None
    samples = scenario.data.load(folder)
    roles = scenario.per_node("role")
    malicious = malicious_nodes(scenario, roles, streams)
    examples = scenario.task.examples(samples)
    shards, data_changes = local_data(
        scenario, samples, examples, roles, malicious, streams, device, dtype
    )
    report("making the first models")
    architectures, initial, need = initial_models(scenario, examples, streams, device, dtype)
    require_trainable(scenario, architectures, shards)

    # what their devices can do, and when they are on
    speed_factor = scenario.compute.of_nodes(
        scenario.per_node("speed"), learning_nodes(roles), streams, folder
    )
    churn = timeline(scenario.per_node("churn"), streams, folder)

    batteries_j = scenario.per_node("battery_j")
    if scenario.energy.harvest.kind != "none" and not any(batteries_j):
        raise ScenarioError(
            f'[energy.harvest] kind = "{scenario.energy.harvest.kind}": fills batteries, and no '
            "node has one; set energy.battery_j"
        )

    # what links them
    report("laying out the links")
    wiring = wires(scenario, roles, streams, folder)
    radio = radios(scenario, positions_m, streams, track, folder)
    range_m = None if radio.budget is None else radio.budget.range_m
    servers = frozenset(i for i, role in enumerate(roles) if role == SERVER)
    heights_m = starting_heights_m(scenario, track)
    site = Site(
        scenario.nodes.count, streams, positions_m, range_m, folder, servers, heights_m,
        track, to_ns(scenario.horizon_s),
    )  # fmt: skip
    known, meetings = neighbours(scenario, site)
    level = None
    if radio.budget is not None:
        level = choose_level(
            scenario, radio.budget, distances(positions_m, track, heights_m), known
        )
        scenario = level.apply_to(scenario)

    world = World(
        scenario=scenario,
        streams=streams,
        samples=samples,
        shards=shards,
        data_changes=data_changes,
        roles=roles,
        speed_factor=speed_factor,
        neighbours=known,
        meetings=meetings,
        positions_m=positions_m,
        track=track,
        heights_m=heights_m,
        architectures=architectures,
        initial=initial,
        wiring=wiring,
        budget=radio.budget,
        threshold_db=radio.threshold_db,
        tx_power_dbm=radio.tx_power_dbm,
        rhythms=radio.rhythms,
        fidelity=level,
        malicious=malicious,
        churn=churn,
        batteries_j=batteries_j,
        supply=supply(scenario.energy.harvest, scenario.nodes.count, streams, folder),
        need=need,
        inputs=(),
        notes=remarks.Notes(),
        later=(),
    )
    return replace(world, later=tuple(_changed_worlds(world, site)))


def _changed_worlds(world: World, site: Site) -> Iterator[tuple[int, World]]:
    """The worlds that a scenario's changes make, and from when on [ns].

    Raises
    ------
    ScenarioError
        If a change would make other nodes neighbours.
    """
    for at_s, changed in world.scenario.later:
        scenario = changed if world.fidelity is None else world.fidelity.apply_to(changed)
        try:
            wiring = wires(scenario, world.roles, world.streams, site.folder)
            radio = radios(scenario, world.positions_m, world.streams, world.track, site.folder)
        except ScenarioError as error:
            raise ScenarioError(f"[[changes]] at_s = {at_s:g}: {error}") from None
        range_m = None if radio.budget is None else radio.budget.range_m
        if range_m != site.range_m:
            known, _ = neighbours(scenario, replace(site, range_m=range_m))
            if known != world.neighbours:
                raise ScenarioError(
                    f"[[changes]] at_s = {at_s:g}: the radio's range becomes {range_m:.1f} m, and "
                    "the topology would make other nodes neighbours, "
                    "which can't change while a run plays; say who they are by another key, such "
                    "as topology.radius_m"
                )
        yield (
            to_ns(at_s),
            replace(
                world,
                scenario=scenario,
                wiring=wiring,
                budget=radio.budget,
                threshold_db=radio.threshold_db,
                tx_power_dbm=radio.tx_power_dbm,
            ),
        )
