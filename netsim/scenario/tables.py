"""The tables of a scenario: names, types and ranges of every key, frozen.

Component tables (`topology`, `radio.fading`, `data`, ...) come from their families; this module
states only what no component owns. Scenarios are read and checked by `netsim.scenario`.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    create_model,
    field_validator,
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
from netsim.registry import (
    Count,
    Duration,
    FolderPath,
    Index,
    NonNegative,
    Positive,
    Recurs,
    Table,
    choice,
)
from netsim.scenario.changes import Change
from netsim.scenario.nodes import AlgorithmName, ChurnChoice, Label, Nodes, overridden
from netsim.scenario.sweep import Sweep
from netsim.schedules import Schedule
from netsim.topology import Topology
from netsim.topology.mobility import Mobility

MOST_HORIZON_S = 4e9
"""The clock counts nanoseconds: it ends after 146 years."""
Part = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


def _default(kind: str) -> Any:
    return Field(default={"kind": kind})


class Training(Table):
    """Local training: the optimizer, and what happens to models that arrive meanwhile.

    A gradient whose L2 norm over all that is trained exceeds `clip_norm` is scaled down to it.
    """

    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: Positive = 0.05
    batch_size: Count = 10
    momentum: Part = 0.0
    weight_decay: NonNegative = 0.0
    beta1: Part = 0.9
    beta2: Part = 0.999
    clip_norm: Positive | None = None
    dtype: Literal["float32", "float64"] = "float32"
    common_initial: bool = True
    parameter_bits: Count = 32
    on_arrival: Literal["wait", "rebase", "discard_step"] = "wait"


class Metrics(Table):
    """What is measured when.

    `every_s` defaults to a twentieth of the horizon; `common_test_samples` of the test set, the
    same for all nodes, show how models do on every class. `ties` says which of a node's
    evaluations with equal validation accuracy is its best on validation: the first (pFedGraph) or
    the last (DPFL). `keep` writes, at the end, of the models published last, `features` of each
    node's test samples (what the head takes) with their labels, or the parameters of the `head`.
    """

    every_s: Annotated[Duration, Recurs("evaluations", most=1e6)] | None = None
    common_test_samples: Count = 1000
    stages: tuple[str, ...] = ()
    weights: bool = True
    ties: Literal["first", "last"] = "first"
    keep: tuple[Literal["features", "head"], ...] = ()


class Run(Table):
    """Where and how the tensor work is done; changes no result's meaning.

    `tf32` lets a GPU round the factors of its products to ten bits: faster, and good enough for
    accuracy curves. `threads` are the cores that the native kernel takes; `auto`: all that the
    process may use, by its affinity and its container's limit, and of these its part where
    `netsim sweep` plays several runs at a time. No bit depends on it. `routes` says which backend
    runs which models' jobs, by signature; a finished run's scenario holds those that it took.
    """

    device: str = "auto"
    backend: Literal["auto", "sequential", "stacked", "native"] = "auto"
    threads: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = "auto"
    tf32: bool = False
    log_messages: bool = True
    routes: dict[str, Route] = {}

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError('must be "auto", "cpu", "cuda" or "cuda:N"')
        return device


class OwnTraining(Table):
    """Keys of [training] that differ for one algorithm: methods are tuned one by one."""

    optimizer: Literal["sgd", "adam"] | None = None
    learning_rate: Positive | None = None
    batch_size: Count | None = None
    momentum: Part | None = None
    weight_decay: NonNegative | None = None
    beta1: Part | None = None
    beta2: Part | None = None
    clip_norm: Positive | None = None
    parameter_bits: Count | None = None


class AlgorithmEntry(Table):
    """One algorithm to play: its module's name, its label (a folder), its Params.

    `stages` are those to measure of it, where methods report different ones.
    """

    kind: str
    name: AlgorithmName
    params: SerializeAsAny[Table]
    training: OwnTraining = OwnTraining()
    stages: tuple[str, ...] = ()


class DataKeys(Table):
    """The keys of [data] that every data set has, beside the data set's own.

    `path` is the folder of the data sets' files; `validation` is the part of each node's training
    samples that is set aside; `drift` is a list of changes in mid-run (`[[data.drift]]`).
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
    """What of a paper a scenario plays: `name` of its method, and which tables and figures.

    A file speaks for itself: those that extend it do not inherit this.
    """

    name: Label
    plays: Annotated[tuple[str, ...], Field(min_length=1)]


class Scenario(Table):
    """A whole scenario, validated and frozen; made by `netsim.scenario.load`.

    Attributes
    ----------
    radio, link
        A scenario that names neither has the ideal link. Where both are, `link` carries what goes
        to or comes from a server, `radio` all else.
    model : tuple of ModelKind
        One architecture for all nodes, or several (mixed).
    data : DataSet
        The data set itself (`data.load(folder)`), with `path`, `partition` and `validation`.
    task : Task
        What is learned: loss and metrics.
    later : tuple of (float, Scenario)
        What holds after each of the `changes`, and from when on [s].
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

    @property
    def later(self) -> tuple[tuple[float, "Scenario"], ...]:
        return self._later

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

    def training_of(self, entry: AlgorithmEntry) -> Training:
        """[training] with what one algorithm has of its own."""
        return self.training.model_copy(update=entry.training.model_dump(exclude_none=True))

    @property
    def main_metric(self) -> MainMetric:
        """The metric that runs are judged by."""
        return MainMetric(self.task.main, self.task.lower)

    @property
    def chosen_by(self) -> str | None:
        """The metric that chooses a sweep's best point; None: there is nothing to choose."""
        if self.sweep is None:
            return None
        return self.sweep.select or (self.main_metric.validation if self.sweep.trials else None)

    def stages_of(self, entry: AlgorithmEntry) -> tuple[str, ...]:
        """The stages of one algorithm to measure; none: what each node published last."""
        return entry.stages or self.metrics.stages
