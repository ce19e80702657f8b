"""Scenario -> World: who the nodes are, where they stand, what data and models they start with.

A world is what the algorithms of one scenario share; everything in it is drawn from the seed, so
each of them meets the same nodes, shards, initial models, fading and wake-ups.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from netsim.channels.sleep import Rhythm, rhythms
from netsim.data.sets import Samples
from netsim.data.validation import cut_validation
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture, build_architecture
from netsim.learning.shards import NodeRows, Shards
from netsim.links.radio.budget import LinkBudget
from netsim.links.wired.plan import Wiring
from netsim.links.wired.plan import read as read_wiring
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology import Site
from netsim.topology.churn import Timeline, timeline
from netsim.topology.mobility import Track
from netsim.traces.contacts import Meetings
from netsim.world.link_budget import open_budget
from netsim.world.placement import placed

SERVER = "server"
"""Role of a node that holds no data."""


@dataclass(frozen=True, eq=False)
class World:
    """Everything that the algorithms of a scenario share.

    Attributes
    ----------
    neighbours : list of tuple of int
        Whom each node may ever talk to.
    meetings : Meetings or None
        When neighbours are in contact; None: always.
    positions_m : (N, 2) array or None
        At the start; None where links have no places (`iid_links`, wired).
    initial : tuple of torch.Tensor
        Each node's initial row; the same tensor where it is common.
    wiring : Wiring or None
        None without a wired link.
    budget : LinkBudget or None
        Mean SNRs; None without a radio.
    malicious : frozenset of int
        Nodes that attack.
    churn : Timeline or None
        When nodes are on; None: always.
    track : Track or None
        How nodes move; None: nobody does.
    batteries_j : tuple of float or None
        What each node's battery holds; None: no end of it.
    rhythms : tuple of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    """

    scenario: Scenario
    streams: Streams
    samples: Samples
    shards: Shards
    roles: tuple[str, ...]
    speed_factor: tuple[float, ...]
    neighbours: list[tuple[int, ...]]
    meetings: Meetings | None
    positions_m: np.ndarray | None
    architectures: tuple[Architecture, ...]
    initial: tuple[Tensor, ...]
    wiring: Wiring | None
    budget: LinkBudget | None
    threshold_db: float | None
    tx_power_dbm: tuple[float, ...]
    malicious: frozenset[int] = frozenset()
    churn: Timeline | None = None
    track: Track | None = None
    batteries_j: tuple[float | None, ...] = ()
    rhythms: tuple[Rhythm | None, ...] = ()


def build(scenario: Scenario, data_folder: Path | None = None) -> World:
    """Make the world of a scenario.

    Parameters
    ----------
    scenario : Scenario
    data_folder : Path or None
        Where data sets lie, unless the scenario says.

    Raises
    ------
    ScenarioError
        If the scenario asks for what is not there: samples, a device, a reachable count.
    """
    streams = Streams(scenario.seed)
    device = _device(scenario.run.device)
    dtype = torch.float64 if scenario.training.dtype == "float64" else torch.float32
    groups = [g for g in scenario.nodes.groups for _ in range(g.count)]
    plain = scenario.nodes.count - len(groups)
    roles = tuple(g.role for g in groups) + ("node",) * plain
    churn = [g.churn or scenario.churn for g in groups] + [scenario.churn] * plain
    batteries_j = tuple(g.battery_j or scenario.energy.battery_j for g in groups)
    batteries_j += (scenario.energy.battery_j,) * plain
    folder = _folder(scenario, data_folder)
    positions, track = placed(scenario, streams, folder)
    samples = scenario.data.load(folder)
    stated = tuple(g.speed for g in groups) + (1.0,) * plain
    speeds = scenario.compute.relative(stated, streams, folder)
    learners = [i for i, role in enumerate(roles) if role != SERVER]
    malicious = _malicious(scenario, learners, streams)
    shards = _share(scenario, samples, roles, malicious, streams, device, dtype)
    architectures, initial = _models(scenario, samples, streams, device, dtype)
    wiring: Wiring | None = None
    if scenario.link is not None:
        up_bps = [g.uplink_bps for g in groups] + [None] * plain
        down_bps = [g.downlink_bps for g in groups] + [None] * plain
        traced = [role != SERVER for role in roles]
        wiring = read_wiring(scenario.link, up_bps, down_bps, traced, streams, folder)
    budget: LinkBudget | None = None
    threshold_db: float | None = None
    powers: tuple[float, ...] = ()
    sleeping: tuple[Rhythm | None, ...] = ()
    if scenario.radio is not None:
        law = scenario.radio.sleep
        sleeping = rhythms([g.sleep or law for g in groups] + [law] * plain, streams)
        if positions is None:
            scenario.radio.do_without_places()
        given = tuple(g.tx_power_dbm for g in groups) + (None,) * plain
        budget, threshold_db, powers = open_budget(scenario, positions, given, streams, track)
    range_m = None if budget is None else budget.range_m
    servers = frozenset(i for i, role in enumerate(roles) if role == SERVER)
    site = Site(scenario.nodes.count, streams, positions, range_m, folder=folder, servers=servers)
    meetings = scenario.topology.meetings(site)
    known = scenario.topology.neighbours(site) if meetings is None else meetings.neighbours()
    return World(
        scenario,
        streams,
        samples,
        shards,
        roles,
        speeds,
        known,
        meetings,
        positions,
        architectures,
        initial,
        wiring,
        budget,
        threshold_db,
        powers,
        malicious,
        timeline(churn, streams, folder),
        track,
        batteries_j,
        sleeping,
    )


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ScenarioError(
            f'[run] device = "{name}": this machine has no CUDA device; use "cpu" or "auto"'
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ScenarioError(
            f'[run] device = "{name}": there are {torch.cuda.device_count()} CUDA devices'
        )
    return device


def _folder(scenario: Scenario, data_folder: Path | None) -> Path | None:
    return data_folder if scenario.data.path is None else Path(scenario.data.path)


def _malicious(scenario: Scenario, learners: list[int], streams: Streams) -> frozenset[int]:
    if scenario.attack is None:
        return frozenset()
    malicious = scenario.attack.malicious(learners, streams)
    if learners and len(malicious) == len(learners):
        raise ScenarioError(
            f"[attack] fraction = {scenario.attack.fraction:g}: all {len(learners)} nodes with "
            "data are malicious; none is left to measure"
        )
    return malicious


def _share(
    scenario: Scenario,
    samples: Samples,
    roles: tuple[str, ...],
    malicious: frozenset[int],
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> Shards:
    learners = [i for i, role in enumerate(roles) if role != SERVER]
    if not learners:
        raise ScenarioError("[nodes] groups: every node is a server; none holds data")
    parts = scenario.data.partition.split(
        samples.y, samples.train, samples.test, samples.num_classes, len(learners), streams
    )
    split, held_out = cut_validation(parts, scenario.data.validation, streams)
    none = np.zeros(0, dtype=np.int64)
    rows = [NodeRows(none, none, none) for _ in roles]
    for node, part, (train, validation) in zip(learners, parts, split, strict=True):
        rows[node] = NodeRows(train, validation, part.test)

    def limited(pool: np.ndarray, purpose: str) -> np.ndarray:
        order = pool[streams.permutation(purpose, n=len(pool))]
        return np.sort(order[: scenario.metrics.common_test_samples])

    common = {
        "common_test": limited(samples.test, "common test"),
        "common_validation": limited(held_out, "common validation"),
    }
    x = torch.from_numpy(samples.x).to(device=device, dtype=dtype)
    y = torch.from_numpy(samples.y).to(device)
    batch_size = scenario.training.batch_size
    shards = Shards(x, y, rows, common, batch_size, streams, samples.scale)
    if scenario.attack is not None:
        labels = scenario.attack.relabelled(samples.y, samples.num_classes)
        if labels is not samples.y:
            return shards.relabelled(malicious, labels)
    return shards


def _models(
    scenario: Scenario,
    samples: Samples,
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[tuple[Architecture, ...], tuple[Tensor, ...]]:
    """Node i has architecture i modulo their number; its initial row is common or its own."""
    kinds = scenario.model
    layouts: list[Architecture] = []
    common: list[Tensor] = []
    rows: list[Tensor] = []

    def draw(which: int, *node: int) -> tuple[torch.nn.Module, Tensor]:
        seed = streams.key("initial model", which, *node)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
            module = kinds[which].build(samples.input_shape, samples.num_classes)
        probe = Architecture("", module, torch.device("cpu"), dtype, samples.num_classes)
        return module, probe.row()

    for which, kind in enumerate(kinds):
        module, row = draw(which)
        layouts.append(
            build_architecture(type(kind).__name__, module, device, dtype, samples.num_classes)
        )
        common.append(row.to(device))
    for node in range(scenario.nodes.count):
        which = node % len(kinds)
        if scenario.training.common_initial:
            rows.append(common[which])
        else:
            rows.append(draw(which, node)[1].to(device))
    return tuple(layouts[i % len(kinds)] for i in range(scenario.nodes.count)), tuple(rows)
