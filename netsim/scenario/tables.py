"""The tables of a scenario: names, types and ranges of every key, frozen.

Component tables (`topology`, `radio.fading`, `data`, ...) come from their families; this module
states only what no component owns. Scenarios are read and checked by `netsim.scenario`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    create_model,
    field_validator,
    model_validator,
)

from netsim.attacks import Attack
from netsim.backends.route import Route
from netsim.data.drifts import Drift
from netsim.data.partitions import Partition
from netsim.data.sets import DataSet
from netsim.devices.energy import Energy
from netsim.devices.speed import Speed
from netsim.learning.tasks import Task
from netsim.links.radio.table import Radio
from netsim.links.wired.wire import Wire
from netsim.models import ModelKind
from netsim.recording.main_metric import MainMetric
from netsim.recording.schema import wrong_record_name
from netsim.registry import (
    Count,
    Duration,
    FolderPath,
    Index,
    Recurs,
    Table,
    choice,
)
from netsim.scenario.changes import Change
from netsim.scenario.nodes import SERVER, AlgorithmName, ChurnChoice, Label, Nodes, overridden
from netsim.scenario.sweep import Sweep
from netsim.scenario.training import OwnTraining, Part, Training
from netsim.schedules import Schedule
from netsim.topology import Topology
from netsim.topology.mobility import Mobility

MOST_HORIZON_S = 4e9
"""The clock counts nanoseconds: it ends after 146 years."""


def _default(kind: str) -> Any:
    return Field(default={"kind": kind})


class Metrics(Table):
    """Times, samples and kinds of measurements.

    Attributes
    ----------
    every_s
        Virtual time between two evaluations of all nodes. Absent: a twentieth of `horizon_s`.
    common_test_samples
        Number of samples of the test set, the same for all nodes, on which every model is measured
        in addition to its node's own: they show its accuracy on all classes.
    stages
        Published models to measure, by the names that algorithms give them; empty: the one that
        each node published last. Example: `["received", "mixed", "trained"]`
    weights
        Whether each evaluation logs the weights that nodes give each other (`graph/`).
    ties
        Choice of a node's best among evaluations with equal validation accuracy: the first (as in
        pFedGraph) or the last (as in DPFL).
    keep
        Values of the last published models that the run keeps at its end, in `kept/`, a file for
        each name: the whole model (`theta`), the inputs of the head for each of a node's test
        samples, with their labels (`features`), or the parameters of the `head`.
    main
        Metric by which runs are judged, one that methods record (`node.record`): at each evaluation
        the last value of every node counts. Absent: that of the task. Example: `"reward"`
    lower_is_better
        Whether low values of `main` are better. Absent: true if its name contains `loss` or
        `error`.
    timeline
        Whether the run folder has the times at which every node trains, sends, receives and is off
        (`intervals/`), which `netsim export RUN --as timeline` reads.
    """

    every_s: Annotated[Duration, Recurs("evaluations", most=1e6)] | None = None
    common_test_samples: Count = 1000
    stages: tuple[str, ...] = ()
    weights: bool = True
    ties: Literal["first", "last"] = "first"
    keep: tuple[Literal["theta", "features", "head"], ...] = ()
    main: str | None = None
    lower_is_better: bool | None = None
    timeline: bool = False

    @field_validator("main")
    @classmethod
    def _is_recorded(cls, main: str | None) -> str | None:
        problem = None if main is None else wrong_record_name(main)
        if problem is not None:
            raise ValueError(f"{problem}; it is one that a method records")
        return main

    @model_validator(mode="after")
    def _of_a_metric(self) -> "Metrics":
        if self.main is None and self.lower_is_better is not None:
            raise ValueError("lower_is_better is of main, which is absent; name it, or leave both")
        is_named_low = MainMetric.reported(self.main or "", None).is_lower_better
        if is_named_low and self.lower_is_better is False:
            raise ValueError(
                f'lower_is_better = false: low values of main = "{self.main}" are better, for its '
                "name has loss or error in it; record it by another name"
            )
        return self


class Run(Table):
    """Device and backend of the tensor work; it does not change the meaning of a result.

    Attributes
    ----------
    device
        Device of tensors: "cpu", "cuda" or "cuda:1"; "auto" takes a GPU if there is one.
    backend
        Backend of the learning: node after node in PyTorch ("sequential"), many nodes in one call
        of PyTorch ("stacked"), or the compiled kernel ("native"). "auto" takes for each model the
        one that a table names: that of `netsim tune`, else the shipped one.
    threads
        Number of cores that the native kernel and trainings by PyTorch use; no bit of a result
        depends on it. "auto": all that the process may use, by its affinity and its container's
        limit; if a sweep plays several runs at a time, they share these cores.
    engine
        Place of the learning: this process ("local"), or actors of a Ray cluster ("ray", see
        docs/cluster.md), each with the samples and models of some of the nodes.
    actors
        Number of actors; each takes `threads` cores, or one if that is "auto". "auto": as many as
        the cluster has room for.
    spill_dir
        Folder on a disk for the models if memory cannot hold them; each machine of the run needs
        it. Empty: models stay in memory. Example: `"/scratch"`
    spill_above_gb
        With `spill_dir`, memory for models above which each process returns it to the
        operating system; a single call may take more for a while.
    tf32
        Whether a GPU may round the factors of its products to ten bits: faster, and precise enough
        for accuracy curves.
    log_messages
        Whether every message and wake-up is logged (`messages/`, `wakes/`).
    routes
        Routes of models' jobs, by signature; the scenario in a run folder holds the routes of that
        run.
    """

    device: str = "auto"
    backend: Literal["auto", "sequential", "stacked", "native"] = "auto"
    threads: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = "auto"
    engine: Literal["local", "ray"] = "local"
    actors: Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"] = "auto"
    spill_dir: str = ""
    spill_above_gb: Annotated[float, Field(gt=0, le=1e6)] = 4.0
    tf32: bool = False
    log_messages: bool = True
    routes: dict[str, Route] = {}

    def unread_keys(self) -> Mapping[str, str]:
        found = {}
        if self.engine == "local":
            found["actors"] = 'there are actors with engine = "ray"'
        if not self.spill_dir:
            found["spill_above_gb"] = "it is read with spill_dir"
        return found

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError('must be "auto", "cpu", "cuda" or "cuda:N"')
        return device

    @field_validator("spill_dir")
    @classmethod
    def _from_the_root(cls, folder: str) -> str:
        if folder and not Path(folder).is_absolute():
            raise ValueError('must be a path from the root on, such as "/scratch"')
        return folder


class AlgorithmEntry(Table):
    """One algorithm to play: its module's name, its label, its Params.

    Attributes
    ----------
    kind
        Algorithm: the name of its file.
    name
        Name in results and of its folder. Absent: its `kind`. Needed if the scenario plays one
        algorithm several times with different keys.
    params
        The keys of its own.
    training
        Keys of `[training]` that differ for it. Example: `{ learning_rate = 0.01, momentum = 0.9 }`
    stages
        Published models of this algorithm to measure; empty: as `[metrics] stages` says. Example:
        `["mixed"]`
    set
        Key paths of the scenario, as `--set` takes them, with other values for this algorithm,
        which then runs in another world with the same draws. Example: `{ ideal_network = true }`
    """

    kind: str
    name: AlgorithmName
    params: SerializeAsAny[Table]
    training: OwnTraining = OwnTraining()
    stages: tuple[str, ...] = ()
    set: dict[str, Any] = {}


class DataKeys(Table):
    """The keys of [data] that every data set has, beside the data set's own.

    Attributes
    ----------
    path
        Folder of the data sets' files. Absent: `--data`, else the environment variable
        `NETSIM_DATA`.
    partition
        Division of samples among nodes.
    validation
        Part of each node's training samples that is set aside as validation samples, for methods
        that choose by them and for searches.
    drift
        Changes of the data during the run, in any order (`[[data.drift]]`).
    """

    path: FolderPath | None = None
    partition: Any = None
    validation: Part = 0.0
    drift: Any = ()


if TYPE_CHECKING:

    class Data(DataKeys, DataSet):
        """A data set with the keys that every data set has."""

        partition: Partition
        drift: tuple[Drift, ...]

    TopologyChoice = Topology
    MobilityChoice = Mobility
    ScheduleChoice = Schedule
    ModelChoice = ModelKind
    SpeedChoice = Speed
    AttackChoice = Attack
    TaskChoice = Task
else:
    _partition = (
        choice("netsim.data.partitions"),
        _default("iid"),
    )

    _drift = choice("netsim.data.drifts")

    def _data_table(kind: str, data_set: type[DataSet]) -> type[Table]:
        """A data set with the keys that every data set has."""
        return create_model(
            f"{kind}_data",
            __base__=(DataKeys, data_set),
            __doc__=data_set.__doc__,
            partition=_partition,
            drift=(Annotated[tuple[_drift, ...], Field(max_length=1000)], ()),
        )

    Data = choice("netsim.data.sets", in_table=_data_table)
    TopologyChoice = choice("netsim.topology")
    MobilityChoice = choice("netsim.topology.mobility")
    ScheduleChoice = choice("netsim.schedules", tag="schedule")
    ModelChoice = choice("netsim.models")
    SpeedChoice = choice("netsim.devices.speed")
    AttackChoice = choice("netsim.attacks")
    TaskChoice = choice("netsim.learning.tasks")


class Paper(Table):
    """Table or figure of a paper that the scenario reproduces.

    A file speaks for itself: those that extend it do not inherit this.

    Attributes
    ----------
    name
        Name of the method in the paper. Example: `"DPFL"`
    plays
        Tables and figures of the paper that the scenario plays. Example: `["Table 1"]`
    """

    name: Label
    plays: Annotated[tuple[str, ...], Field(min_length=1)]


class Scenario(Table):
    """A whole scenario, validated and frozen; made by `netsim.scenario.load`.

    Attributes
    ----------
    radio
        The air between nodes. Absent: `link` carries all messages, over ideal links if that is
        absent, too. If a scenario has both, `link` carries messages to and from servers, which then
        have no radio, `radio` all others.
    model : tuple of ModelKind
        The architecture of all nodes, or a list of several: node i has entry i modulo their number.
    data : DataSet
        The samples, and their division among nodes.
    task : Task
        Task of learning: the loss, and the metrics of models.
    later : tuple of (float, Scenario)
        Start [s] and scenario of each period after one of the `changes`.
    name
        Name of the run in tables and figures, and of its folder. Absent: that of the file.
    paper
        Table or figure of a paper that the scenario plays. Absent: none.
    seed
        Source of all randomness: the same scenario and seed give the same run.
    horizon_s
        Virtual time at which the run ends.
    nodes
        Number of nodes, their positions, and groups that differ.
    topology
        Neighbours of nodes.
    churn
        On and off times of nodes.
    mobility
        Movement of nodes.
    link
        Wires, or links of a fixed rate, latency and loss, between nodes. Absent: `radio` carries
        all; if that is absent, too, links are ideal: messages arrive at once, and none is lost.
    ideal_network
        Whether all messages arrive whole and at once, whatever `radio` and `link` say. The
        difference between the two settings is the cost of the network.
    exchange
        Wake-up times of nodes: in rounds with a barrier, or each node by its own clock.
    training
        Local training: optimizer, learning rate, minibatches.
    compute
        Virtual time that a local step takes.
    energy
        Energy that radio and processor draw, and batteries.
    algorithm
        The method, or a list of several, each played on the same world with the same draws.
    attack
        Behaviour of malicious nodes. Absent: nobody is malicious.
    metrics
        Times, samples and kinds of measurements.
    run
        Device and backend of the tensor work; it does not change the meaning of a result.
    changes
        Keys that take other values at a time during the run.
    sweep
        Many runs of this scenario: a grid, a search, several seeds. Absent: a single run.
    """

    name: Label
    paper: Paper | None = None
    seed: Index = 0
    horizon_s: Annotated[Duration, Field(le=MOST_HORIZON_S)]
    nodes: Nodes
    topology: TopologyChoice = _default("complete")
    churn: ChurnChoice = _default("none")
    mobility: MobilityChoice = _default("static")
    radio: Radio | None = None
    link: Wire | None = None
    ideal_network: bool = False
    exchange: ScheduleChoice
    data: Data
    task: TaskChoice = _default("classification")
    model: Annotated[tuple[ModelChoice, ...], Field(min_length=1)]
    training: Training = Training()
    compute: SpeedChoice = _default("fixed")
    energy: Energy = Energy()
    algorithm: Annotated[tuple[AlgorithmEntry, ...], Field(min_length=1)]
    attack: AttackChoice | None = None
    metrics: Metrics = Metrics()
    run: Run = Run()
    changes: Annotated[tuple[Change, ...], Field(max_length=1000)] = ()
    sweep: Sweep | None = None
    _later: tuple[tuple[float, "Scenario"], ...] = PrivateAttr(())
    _own: dict[str, "Scenario"] = PrivateAttr({})
    _former_names: tuple[str, ...] = PrivateAttr(())

    @property
    def later(self) -> tuple[tuple[float, "Scenario"], ...]:
        return self._later

    @property
    def former_names(self) -> tuple[str, ...]:
        """A sentence for each key that its files state under the name of an earlier version."""
        return self._former_names

    def of(self, entry: AlgorithmEntry) -> "Scenario":
        """The scenario as one algorithm plays it, with what its `set` says.

        Algorithms whose `set` is the same have the same object, with all of them in it.
        """
        return self._own.get(entry.name, self) if entry.set else self

    def entry(self, name: str) -> AlgorithmEntry:
        """The algorithm of a name."""
        return next(entry for entry in self.algorithm if entry.name == name)

    @property
    def evaluate_every_s(self) -> float:
        """Virtual time between evaluations."""
        return self.metrics.every_s or max(self.horizon_s / 20, 1e-9)

    def per_node(self, key: str) -> tuple[Any, ...]:
        """A key by node: what its group says, else what the scenario says for all nodes."""
        stated = self.nodes.of_groups(key)
        path = overridden().get(key)
        if path is None:
            return stated
        common: Any = self
        for part in path.split("."):
            common = None if common is None else getattr(common, part)
        return tuple(common if value is None else value for value in stated)

    @property
    def servers_on_wires(self) -> frozenset[int]:
        """Servers that have wires, and no radio, where all others have one."""
        if self.link is None or self.radio is None:
            return frozenset()
        return frozenset(i for i, role in enumerate(self.per_node("role")) if role == SERVER)

    def training_of(self, entry: AlgorithmEntry) -> Training:
        """[training] with what one algorithm has of its own."""
        own = {key: getattr(entry.training, key) for key in type(entry.training).model_fields}
        return self.training.model_copy(update={k: v for k, v in own.items() if v is not None})

    @property
    def main_metric(self) -> MainMetric:
        """The metric that runs are judged by."""
        name = self.metrics.main
        if name is None:
            return MainMetric(self.task.main, self.task.lower)
        return MainMetric.reported(name, self.metrics.lower_is_better)

    @property
    def chosen_by(self) -> str | None:
        """The metric that chooses a sweep's best point; None: there is nothing to choose."""
        if self.sweep is None:
            return None
        usual = self.metrics.main or self.main_metric.validation
        return self.sweep.select or (usual if self.sweep.trials else None)

    def stages_of(self, entry: AlgorithmEntry) -> tuple[str, ...]:
        """The stages of one algorithm to measure; none: what each node published last."""
        return entry.stages or self.metrics.stages
