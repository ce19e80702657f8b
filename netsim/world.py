"""Scenario -> World: who the nodes are, where they stand, what data and models they start with.

A world is what the algorithms of one scenario share; everything in it is drawn from the seed, so
each of them meets the same nodes, shards, initial models, fading and wake-ups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from netsim.channels import calibration
from netsim.compute.architecture import Architecture, build_architecture
from netsim.compute.shards import NodeRows, Shards
from netsim.data.sets import Samples
from netsim.data.validation import cut_validation
from netsim.errors import ScenarioError
from netsim.links.propagation import Budget
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology import Site
from netsim.units import db_to_linear, dbm_to_w, linear_to_db

SERVER = "server"
"""Role of a node that holds no data."""


@dataclass(frozen=True, eq=False)
class World:
    """Everything that the algorithms of a scenario share.

    Attributes
    ----------
    positions_m : (N, 2) array or None
        None where links have no places (`iid_links`, wired).
    initial : tuple of torch.Tensor
        Each node's initial row; the same tensor where it is common.
    budget : Budget or None
        Mean SNRs; None without a radio.
    malicious : frozenset of int
        Nodes that attack.
    """

    scenario: Scenario
    streams: Streams
    samples: Samples
    shards: Shards
    roles: tuple[str, ...]
    speed_factor: tuple[float, ...]
    neighbours: list[tuple[int, ...]]
    positions_m: np.ndarray | None
    architectures: tuple[Architecture, ...]
    initial: tuple[Tensor, ...]
    budget: Budget | None
    threshold_db: float | None
    tx_power_dbm: tuple[float, ...]
    malicious: frozenset[int] = frozenset()


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
    factors = tuple(g.speed for g in groups) + (1.0,) * plain
    positions = _positions(scenario, streams)
    samples = _load(scenario, data_folder)
    learners = [i for i, role in enumerate(roles) if role != SERVER]
    malicious = _malicious(scenario, learners, streams)
    shards = _share(scenario, samples, roles, malicious, streams, device, dtype)
    architectures, initial = _models(scenario, samples, streams, device, dtype)
    budget: Budget | None = None
    threshold_db: float | None = None
    powers: tuple[float, ...] = ()
    if scenario.radio is not None:
        if positions is None:
            scenario.radio.do_without_places()
        given = tuple(g.tx_power_dbm for g in groups) + (None,) * plain
        budget, threshold_db, powers = _budget(scenario, positions, given)
    return World(
        scenario,
        streams,
        samples,
        shards,
        roles,
        factors,
        scenario.topology.neighbours(Site(scenario.nodes.count, streams, positions)),
        positions,
        architectures,
        initial,
        budget,
        threshold_db,
        powers,
        malicious,
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


def _positions(scenario: Scenario, streams: Streams) -> np.ndarray | None:
    nodes = scenario.nodes
    if nodes.placement == "given":
        return np.array(nodes.positions_m)
    if nodes.placement == "disc":
        ids = np.arange(nodes.count)
        radius = nodes.radius_m * np.sqrt(streams.uniforms("place/radius", counters=ids))
        angle = 2 * math.pi * streams.uniforms("place/angle", counters=ids)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return None


def _load(scenario: Scenario, data_folder: Path | None) -> Samples:
    path = scenario.data.path
    return scenario.data.load(Path(path) if path is not None else data_folder)


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


def _budget(
    scenario: Scenario, positions: np.ndarray | None, given_dbm: tuple[float | None, ...]
) -> tuple[Budget, float, tuple[float, ...]]:
    """Link budget, calibrated if the scenario says how many nodes are to be reachable."""
    radio, nodes = scenario.radio, scenario.nodes
    assert radio is not None
    threshold_db, base_dbm, mean_db = radio.threshold_db, radio.tx_power_dbm, radio.mean_snr_db
    if radio.reachable is not None:
        if not radio.reachable < nodes.count - 1:
            raise ScenarioError(
                f"[radio] reachable = {radio.reachable:g}: must be less than the number of other "
                f"nodes, {nodes.count - 1}"
            )
        if positions is None:
            gap_db = linear_to_db(
                calibration.iid_links_threshold_over_mean_snr(nodes.count, radio.reachable)
            )
            if radio.calibrate == "threshold":
                threshold_db = mean_db + gap_db
            else:
                base_dbm += threshold_db - gap_db - mean_db
                mean_db = threshold_db - gap_db
        else:
            edge_db = _edge_loss_db(scenario)
            if radio.calibrate == "threshold":
                threshold_db = calibration.threshold_db(base_dbm, radio.noise_dbm, edge_db)
            else:
                base_dbm = calibration.tx_power_dbm(threshold_db, radio.noise_dbm, edge_db)
    powers = tuple(base_dbm if p is None else p for p in given_dbm)

    @lru_cache(maxsize=1024)
    def mean_snr(src: int) -> np.ndarray:
        if positions is None:
            return np.full(nodes.count, db_to_linear(mean_db + powers[src] - base_dbm))
        distance_m = np.hypot(*(positions - positions[src]).T)
        loss_db = radio.path_loss.loss_db(distance_m, radio.carrier_hz)
        return np.asarray(10.0 ** ((powers[src] - loss_db - radio.noise_dbm) / 10.0))

    watts = tuple(dbm_to_w(p) for p in powers)
    return Budget(mean_snr, db_to_linear(threshold_db), watts), threshold_db, powers


def _edge_loss_db(scenario: Scenario) -> float:
    """Path loss at the distance where the mean SNR is to fall to the threshold."""
    radio, nodes = scenario.radio, scenario.nodes
    assert radio is not None
    assert radio.reachable is not None
    exponent = getattr(radio.path_loss, "exponent", 2.0)
    if nodes.placement != "disc" or radio.fading.kind != "rayleigh":
        raise ScenarioError(
            "[radio] reachable: the formula is for Rayleigh fading and nodes in a disc "
            '(placement = "disc") or alike links ("iid_links"); set threshold_db yourself'
        )
    ratio = calibration.solve_d0_over_radius(nodes.count, radio.reachable, exponent)
    return float(radio.path_loss.loss_db(ratio * nodes.radius_m, radio.carrier_hz))
