"""Provenance of a run: versions, machine, files (`environment.json`) and `nodes.parquet`."""

import platform
import sys
from dataclasses import asdict
from types import ModuleType
from typing import Any

import torch

from netsim.backends.native import library
from netsim.data.sets import Samples
from netsim.engine.assembly import Learning, Membership
from netsim.engine.equipment import PACKAGES, sources_sha256, version
from netsim.engine.network_assembly import Devices
from netsim.learning.scheduler import Scheduler
from netsim.registry import modules_of
from netsim.scenario import Scenario
from netsim.scenario.source_files import files_as_imported
from netsim.topology import component_sizes
from netsim.traces.input_files import InputFile
from netsim.units import NS_PER_S
from netsim.world.builder import World
from netsim.world.remarks import remarks


def versions() -> dict[str, Any]:
    """Versions of netsim, Python and libraries, as `environment.json` holds them."""
    return {
        "netsim": version("netsim-dfl"),
        "netsim_sources_sha256": sources_sha256(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "machine": platform.machine(),
        "native_kernel": library.describe_kernel(),
    }


def component_files(scenario: Scenario) -> tuple[InputFile, ...]:
    """The files of a scenario's components of the user's own, and what these import beside them."""
    modules = {name for name in modules_of(scenario) if not name.startswith("netsim.")}
    found = [files_as_imported(sys.modules[name]) for name in sorted(modules)]
    return tuple(dict.fromkeys(file for files in found for file in files))


def environment(
    world: World, learning: Learning, discovery: str, algorithm: ModuleType
) -> dict[str, Any]:
    """Versions, device, and what the scenario's calibration and data came to.

    Parameters
    ----------
    discovery : str
        How nodes learn who is in reach: the link's.
    algorithm : module
        That is played.
    """
    device = world.shards.x.device
    return {
        **versions(),
        "device": str(device),
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "backend": backend_name(learning.scheduler),
        "routes": learning.routes.as_dict(),
        "threads": world.scenario.run.threads,
        "actors": [one._asdict() for one in getattr(learning.scheduler.backend, "location", ())],
        "dtype": world.scenario.training.dtype,
        "seed": world.scenario.seed,
        "timing_only": learning.timing_only,
        "inputs": [asdict(file) for file in world.inputs],
        "algorithm": [asdict(file) for file in files_as_imported(algorithm)],
        "components": [asdict(file) for file in component_files(world.scenario)],
        "data": _data(world.samples),
        "model_parameters": sorted({a.num_parameters for a in world.architectures}),
        "threshold_db": world.threshold_db,
        "tx_power_dbm": sorted(set(world.tx_power_dbm)),
        "fidelity": world.fidelity
        and {"level": world.fidelity.level, "reason": world.fidelity.reason},
        "discovery": discovery,
        "on_arrival": world.scenario.training.on_arrival,
        "assumptions": _assumptions(world),
    }


def _data(samples: Samples) -> dict[str, Any]:
    """Description of the data set; of a user's table with its columns."""
    found: dict[str, Any] = {"name": samples.name, "notes": samples.notes}
    if samples.sha256:
        found["sha256"] = samples.sha256
    if samples.columns is None:
        return found
    return {**found, "columns": samples.columns.as_dict()}


def made_with(world: World, algorithm: ModuleType) -> dict[str, Any]:
    """Versions, machine, code and input files: what a run goes on with as it began."""
    found = versions()
    packages = found.pop("packages")
    components = [file.sha256 for file in component_files(world.scenario)]
    return {
        **found,
        **packages,
        "device": str(world.shards.x.device),
        "algorithm": [file.sha256 for file in files_as_imported(algorithm)],
        "inputs": [file.sha256 for file in world.inputs],
        **({"components": components} if components else {}),
    }


def _assumptions(world: World) -> list[str]:
    """Sentences for a reader of the results: limits of the links' models, remarks."""
    radio = world.scenario.radio
    if radio is None or world.budget is None:
        return remarks(world)
    by_distance = world.positions_m is not None
    sentences = [radio.path_loss.assumes] if by_distance and radio.path_loss.assumes else []
    if radio.mac.assumes:
        sentences.append(radio.mac.assumes)
    left_out = world.budget.mean_snr.pairs_left_out
    if left_out and world.budget.range_m is None:
        sentences.append(
            f"{left_out} pairs never hear each other: path_loss states no gain for them"
        )
    elif left_out:
        sentences.append(
            f"pairs over {world.budget.range_m:.0f} m apart never hear each other: a packet would "
            "be decoded less than once in a million times"
        )
    return sentences + remarks(world)


def backend_name(scheduler: Scheduler) -> str:
    """The backend that does the tensor work; `none` under `--timing-only`."""
    backend = scheduler.backend
    return "none" if backend is None else backend.name


def node_table(world: World, devices: Devices) -> dict[str, list[Any]]:
    """Columns of `nodes.parquet`: shard sizes, class counts of the training samples, speed.

    A task without one class a sample has no class counts.

    `step_s` is the mean virtual time of a local step, `delay_s`, where there is any, that of a
    training beside its steps.

    Classes are as the node sees them: flipped, under that attack, where it is `malicious`.
    """
    labels = world.shards.y.cpu().numpy()
    rows = world.shards.rows[: len(world.roles)]  # what nodes begin with
    classes = range(world.samples.num_classes if world.shards.task.has_classes else 0)
    ids = range(len(rows))
    table: dict[str, list[Any]] = {
        "node": list(ids),
        "role": list(world.roles),
        "malicious": [i in world.malicious for i in ids],
        "speed": list(devices.speed_factor),
        "step_s": [devices.speed.mean_step_s() / factor for factor in devices.speed_factor],
        "train_samples": [len(r.train) for r in rows],
        "validation_samples": [len(r.validation) for r in rows],
        "test_samples": [len(r.test) for r in rows],
        "class_counts": [[int((labels[r.train] == c).sum()) for c in classes] for r in rows],
        "parameters": [a.num_parameters for a in world.architectures],
    }
    if delay_s := devices.speed.mean_delay_s():
        table["delay_s"] = [delay_s / factor for factor in devices.speed_factor]
    if not world.shards.task.has_classes:
        del table["class_counts"]
    if world.positions_m is not None:
        axes = zip(("x_m", "y_m", "z_m"), world.positions_m.T, strict=False)
        table |= {name: list(column) for name, column in axes}
    for name, called in world.notes.ids.items():
        table[f"{name}_id"] = [*called, *[None] * len(ids)][: len(ids)]
    if world.heights_m:
        table["z_m"] = list(world.heights_m)
    if world.tx_power_dbm:
        table["tx_power_dbm"] = list(world.tx_power_dbm)
    if world.scenario.metrics.timeline:
        table |= _power_columns(world)
    return table


def _power_columns(world: World) -> dict[str, list[Any]]:
    """Return the columns of power for timelines: batteries, and sleep of radios (empty: never)."""
    columns: dict[str, list[Any]] = {}
    filled = world.supply is not None  # then energy drawn does not tell what is left
    if not filled and any(joules is not None for joules in world.batteries_j):
        columns["battery_j"] = list(world.batteries_j)
    if world.rhythms:
        for name, field in (("period", 0), ("awake", 1), ("offset", 2)):
            columns[f"sleep_{name}_s"] = [r and r[field] / NS_PER_S for r in world.rhythms]
    return columns


def task_summary(scenario: Scenario) -> dict[str, Any]:
    """Describe the task: the main metric, and the metrics of which low values are better."""
    task, main = scenario.task, scenario.main_metric
    kind = str(task.kind)  # type: ignore[attr-defined] # of every task
    return {"kind": kind, "metric": main.name, "lower": sorted({*task.lower, *main.lower})}


def graph_summary(membership: Membership) -> dict[str, int]:
    """Links and connected components of the graph, of a contact trace of all who ever meet."""
    neighbours, left_out = membership.neighbours, membership.left_out
    sizes = component_sizes(neighbours, left_out)
    return {
        "links": sum(map(len, neighbours)) // 2,
        "components": len(sizes),
        "largest_component": sizes[0],
        "isolated_nodes": sum(not peers for peers in neighbours) - len(left_out),
        "servers_left_out": len(left_out),
    }
