"""Memory that a scenario takes, estimated before models are made, and what the machine has.

What is counted: the data as numbers of the run's precision, the rows of models (several ages of
each node's, the copies that training makes of them, the states of optimisers), minibatches and
samples in evaluation, graph and tables. Right within a factor of `FACTOR` of the peak that runs of
several kinds have been measured at; a scenario is refused if even its `FACTOR`-th does not fit.
"""

import math
import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from netsim.data.sets import DataSet
from netsim.errors import ScenarioError
from netsim.scenario.tables import Scenario

FACTOR = 2.0
ROWS_PER_NODE, ROWS = 6, 32
"""Copies of models at the peak: of each node, those of several ages, and those by which the table
of them grows, in which a step works."""
MODULES = 2
"""Copies of a model beside those of nodes: the module, and the row that is made of it."""
DATA_COPIES = 1.6
"""Of a data set while it is read: as it is stored, and as numbers."""
_LAYERS = 8
"""Times a sample's size that a forward and backward pass over it keeps."""
_TABLES_BYTES = 64 << 20
"""Rows of tables that wait to be written; they do not grow with the run."""
_NODE_BYTES = 60_000
"""Of a node's processes, streams and lists."""
_NEIGHBOUR_BYTES = 8
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Part:
    """Something that takes memory.

    Attributes
    ----------
    what : str
        In a few words.
    size : float
        [bytes]
    """

    what: str
    size: float


@dataclass(frozen=True)
class Need:
    """Memory that a scenario is estimated to take, beside what the process has taken.

    Attributes
    ----------
    parts : tuple of Part
    there : float
        What can still be taken [bytes].
    where : str
        "this machine", or the GPU.
    """

    parts: tuple[Part, ...]
    there: float
    where: str

    @property
    def size(self) -> float:
        """All parts together [bytes]."""
        return sum(part.size for part in self.parts)

    def __str__(self) -> str:
        most = sorted(self.parts, key=lambda part: -part.size)[:3]
        parts = ", ".join(f"{part.what} {_format_bytes(part.size)}" for part in most)
        there = _format_bytes(self.there)
        return f"{_format_bytes(self.size)} of memory ({parts}), and {self.where} has {there}"

    def require(self, remedy: str) -> None:
        """Raise ScenarioError if it can't fit, even if it is `FACTOR` times less than estimated."""
        if self.size / FACTOR > self.there:
            raise ScenarioError(f"needs about {self}; {remedy}")

    @property
    def remark(self) -> str | None:
        """A warning where it may come close to all that there is."""
        if self.size <= self.there / 2:
            return None
        return f"the run may take about {self}: play fewer nodes or a smaller model if it is killed"


def of_data(scenario: Scenario) -> Need | None:
    """Memory for reading the data set; None where it does not say how large it is."""
    if not isinstance(scenario.data, DataSet):  # arrays, which are read already
        return None
    try:
        outline = scenario.data.outline()
    except NotImplementedError:
        return None
    rows = outline.train_rows + outline.test_rows
    size = DATA_COPIES * rows * math.prod(outline.input_shape) * _item_bytes(scenario)
    return Need((Part("the data set", size),), available_bytes(), "this machine")


def of_models(
    scenario: Scenario, values: Sequence[int], inputs: tuple[int, ...], device: torch.device
) -> Need:
    """Memory for playing a scenario once its data are read.

    Parameters
    ----------
    scenario : Scenario
    values : sequence of int
        Of each `[model]`, the numbers in one.
    inputs : tuple of int
        (n, ...) shape of all samples: no minibatch has more.
    device : torch.device
        Where models and data are.
    """
    nodes, item = scenario.nodes.count, _item_bytes(scenario)
    copies = MODULES + 0.0
    own, each = 0.0, list[tuple[int, int]]()
    for which, length in enumerate(values):
        users = len(range(which, nodes, len(values)))
        each.append((users, length))
        own += (copies + (0 if scenario.training.common_initial else users)) * length * item
    batch = max(scenario.training_of(entry).batch_size for entry in scenario.algorithm)
    measured = scenario.metrics.common_test_samples
    most, input_size = inputs[0], math.prod(inputs[1:])
    samples = (min(nodes, 64) * min(batch, most) + min(measured, most)) * input_size
    under_way = samples * _LAYERS * item
    elsewhere = scenario.run.engine == "ray"  # where each actor looks for itself
    on_device = (
        Part("models of all nodes", 0.0 if elsewhere else _of_rows(scenario, each)),
        Part("first models", own),
        Part("samples under way", under_way),
    )
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return Need(on_device, float(free), str(device))
    kind = getattr(scenario.topology, "kind", "")
    links = nodes * (nodes if kind == "complete" else 20.0) * _NEIGHBOUR_BYTES
    host = (Part("nodes and links", nodes * _NODE_BYTES + links), Part("tables", _TABLES_BYTES))
    return Need((*on_device, *host), available_bytes(), "this machine")


def of_actor(scenario: Scenario, lengths: Sequence[int], device: torch.device) -> Need:
    """Memory that the models of an actor's nodes take, beside what it has taken.

    Parameters
    ----------
    scenario : Scenario
    lengths : sequence of int
        Values in the model of each of its nodes.
    device : torch.device
    """
    each = [(users, length) for length, users in Counter(lengths).items()]
    parts = (Part("models of its nodes", _of_rows(scenario, each)),)
    if device.type == "cuda":
        return Need(parts, float(torch.cuda.mem_get_info(device)[0]), str(device))
    return Need(parts, available_bytes(), f"the machine {socket.gethostname()}")


def _of_rows(scenario: Scenario, each: Sequence[tuple[int, int]]) -> float:
    """The rows of models; of those in files what may be in memory at a time.

    Parameters
    ----------
    scenario : Scenario
    each : sequence of (int, int)
        How many nodes have a model of so many values.
    """
    item, copies = _item_bytes(scenario), ROWS_PER_NODE + _optimizer_states(scenario)
    size = float(sum((users * copies + ROWS) * length * item for users, length in each))
    if not scenario.run.spill_dir:
        return size
    return min(size, 1e9 * scenario.run.spill_above_gb)


def _optimizer_states(scenario: Scenario) -> int:
    """Values as long as a model that an optimiser keeps beside it."""
    used = [scenario.training_of(entry) for entry in scenario.algorithm]
    return max(2 if t.optimizer == "adam" else int(t.momentum > 0) for t in used)


def available_bytes() -> float:
    """Memory that this process may still take, of the machine's and of its cgroups'."""
    return min([_of_machine(), *_of_cgroups()])


def _of_machine() -> float:
    """Memory that the system can give without swapping; without end where it does not say."""
    meminfo = _text(_PROC / "meminfo")
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def _of_cgroups() -> Iterator[float]:
    """Memory that each limit above this process leaves, of version 2 and of version 1."""
    for line in _text(_PROC / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _remaining_bytes(
                path, _CGROUPS, "memory.max", "memory.current", "inactive_file"
            )
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _remaining_bytes(path, _CGROUPS / "memory", *names)


def _remaining_bytes(
    path: str, root: Path, limit: str, usage: str, given_up: str
) -> Iterator[float]:
    """Limit less usage of a group and of those above it; pages of files can be given up.

    Parameters
    ----------
    path : str
        Of the group, as `/proc/self/cgroup` has it; in a container it may be the host's.
    root : Path
        Where groups are mounted.
    limit, usage : str
        Files of a group.
    given_up : str
        The line of `memory.stat` that says how much of it the system takes back on demand.
    """
    group = root / path.lstrip("/")
    groups = [root, *(p for p in (group, *group.parents) if root in p.parents)]
    for folder in dict.fromkeys(groups):
        most, used = _text(folder / limit).strip(), _text(folder / usage).strip()
        if most.isdecimal() and used.isdecimal():
            stat = dict(line.split() for line in _text(folder / "memory.stat").splitlines())
            yield max(0.0, float(most) - float(used) + float(stat.get(given_up, 0)))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _item_bytes(scenario: Scenario) -> int:
    return 8 if scenario.training.dtype == "float64" else 4


def _format_bytes(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
