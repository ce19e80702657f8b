"""The tables of a scenario: names, types and ranges of every key, frozen.

Component tables (`topology`, `radio.fading`, `data`, ...) come from their families; this module
states only what no component owns. Scenarios are read and checked by `netsim.scenario`.
"""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    Field,
    SerializeAsAny,
    create_model,
    field_validator,
    model_validator,
)

from netsim.compute.speed import Speed
from netsim.data.partitions import Partition
from netsim.data.sets import DataSet
from netsim.exchange import Schedule
from netsim.models import ModelKind
from netsim.radio import Radio
from netsim.registry import Count, Finite, Index, NonNegative, Positive, Table, choice, family
from netsim.topology import Topology
from netsim.wire import Wire

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.=-]*$", max_length=100)]
"""A name that becomes a folder."""
Part = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


def _default(package: str, kind: str) -> Any:
    return Field(default_factory=family(package)[kind])


class Group(Table):
    """Nodes that differ from the plain ones; groups take ids from 0 in the order of the file."""

    name: Label
    count: Count
    role: str = "node"
    speed: Positive = 1.0
    tx_power_dbm: Finite | None = None


class Nodes(Table):
    """How many nodes, where they are, and which differ."""

    count: Annotated[int, Field(ge=1, le=100_000)]
    placement: Literal["iid_links", "disc", "given"] = "iid_links"
    radius_m: Positive = 100.0
    positions_m: tuple[tuple[Finite, Finite], ...] = ()
    groups: tuple[Group, ...] = ()

    @model_validator(mode="after")
    def _agree(self) -> "Nodes":
        if self.placement == "given" and len(self.positions_m) != self.count:
            raise ValueError(
                f'placement = "given" needs one [x, y] a node in positions_m: '
                f"{self.count} nodes, {len(self.positions_m)} positions"
            )
        if self.placement != "given" and self.positions_m:
            raise ValueError('positions_m are read only with placement = "given"')
        grouped = sum(group.count for group in self.groups)
        if grouped > self.count:
            raise ValueError(f"the groups have {grouped} nodes, but count = {self.count}")
        names = [group.name for group in self.groups]
        if len(set(names)) < len(names):
            raise ValueError("two groups have the same name")
        return self


class Training(Table):
    """Local training: the optimizer, and what happens to models that arrive meanwhile."""

    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: Positive = 0.05
    batch_size: Count = 10
    momentum: Part = 0.0
    weight_decay: NonNegative = 0.0
    beta1: Part = 0.9
    beta2: Part = 0.999
    dtype: Literal["float32", "float64"] = "float32"
    common_initial: bool = True
    parameter_bits: Count = 32
    on_arrival: Literal["wait", "rebase", "discard_step"] = "wait"


class Metrics(Table):
    """What is measured when; `every_s` defaults to a twentieth of the horizon."""

    every_s: Positive | None = None
    stages: tuple[str, ...] = ()
    weights: bool = True


class Run(Table):
    """Where and how the tensor work is done; changes no result's meaning."""

    device: str = "auto"
    backend: Literal["auto", "sequential"] = "auto"
    threads: Count = 1
    log_messages: bool = True

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError('must be "auto", "cpu", "cuda" or "cuda:N"')
        return device


class Draw(Table):
    """What a random trial draws one key from: a range, or a list of values.

    In a file a list stands for itself: `"training.batch_size" = [10, 20, 50]`.
    """

    low: Finite | None = None
    high: Finite | None = None
    log: bool = False
    values: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _one_of_both(self) -> "Draw":
        if self.values:
            if self.low is not None or self.high is not None:
                raise ValueError("is either a list or a range with low and high")
        elif self.low is None or self.high is None:
            raise ValueError("needs low and high, or a list with at least one value")
        elif not self.low < self.high:
            raise ValueError(f"low = {self.low} must be below high = {self.high}")
        elif self.log and self.low <= 0:
            raise ValueError("a logarithmic range needs low > 0")
        return self

    def at(self, u: float) -> Any:
        """The value at `u` in [0, 1): uniform over the range, its logarithm, or the list."""
        if self.values:
            return self.values[int(u * len(self.values))]
        assert self.low is not None
        assert self.high is not None
        if self.log:
            return float(self.low * (self.high / self.low) ** u)
        return float(self.low + (self.high - self.low) * u)


class Sweep(Table):
    """Many runs of one scenario: a grid (`over`), random trials (`draw`), seeds.

    Keys of `over` and `draw` are key paths as `--set` takes them. `select` is the metric by which
    the best trial of an algorithm is chosen.
    """

    over: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}  # noqa: RUF012 - pydantic copies it
    seeds: tuple[Index, ...] = ()
    trials: Count | None = None
    draw: dict[str, Draw] = {}  # noqa: RUF012 - pydantic copies it
    select: str = "accuracy_validation"
    jobs: Count | None = None

    @model_validator(mode="after")
    def _agree(self) -> "Sweep":
        if bool(self.draw) != (self.trials is not None):
            raise ValueError("trials (how many) and draw (of what) go together")
        both = sorted(self.over.keys() & self.draw.keys())
        if both:
            raise ValueError(f'"{both[0]}" is both in over and in draw')
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds repeat")
        return self


class AlgorithmEntry(Table):
    """One algorithm to play: its module's name, its label (a folder), its Params."""

    kind: str
    name: Label
    params: SerializeAsAny[Table]


class DataKeys(Table):
    """The keys of [data] that every data set has, beside the data set's own.

    `path` is the folder of the data sets' files; `validation` is the part of each node's training
    samples that is set aside.
    """

    path: str | None = None
    partition: Any = None
    validation: Part = 0.0


if TYPE_CHECKING:

    class Data(DataKeys, DataSet):
        """A data set with the keys that every data set has."""

        partition: Partition

    TopologyChoice = Topology
    ScheduleChoice = Schedule
    ModelChoice = ModelKind
    SpeedChoice = Speed
else:
    _partition = (
        choice("netsim.data.partitions"),
        Field(default_factory=family("netsim.data.partitions")["iid"]),
    )
    Data = Annotated[
        Union[  # noqa: UP007 - built at run time
            tuple(
                create_model(
                    f"{kind}_data",
                    __base__=(DataKeys, cls),
                    __doc__=cls.__doc__,
                    partition=_partition,
                )
                for kind, cls in family("netsim.data.sets").items()
            )
        ],
        Field(discriminator="kind"),
    ]
    TopologyChoice = choice("netsim.topology")
    ScheduleChoice = choice("netsim.exchange", tag="schedule")
    ModelChoice = choice("netsim.models")
    SpeedChoice = choice("netsim.compute.speed")


class Scenario(Table):
    """A whole scenario, validated and frozen; made by `netsim.scenario.load`.

    Attributes
    ----------
    radio, link
        Exactly one of them is set; a scenario that names neither has the ideal link.
    model : tuple of ModelKind
        One architecture for all nodes, or several (mixed).
    data : DataSet
        The data set itself (`data.load(folder)`), with `path`, `partition` and `validation`.
    """

    name: Label
    seed: Index = 0
    horizon_s: Positive
    nodes: Nodes
    topology: TopologyChoice = Field(
        default_factory=lambda: family("netsim.topology")["complete"]()
    )
    radio: Radio | None = None
    link: Wire | None = None
    exchange: ScheduleChoice
    data: Data
    model: Annotated[tuple[ModelChoice, ...], Field(min_length=1)]
    training: Training = Training()
    compute: SpeedChoice = Field(default_factory=lambda: family("netsim.compute.speed")["fixed"]())
    algorithm: Annotated[tuple[AlgorithmEntry, ...], Field(min_length=1)]
    metrics: Metrics = Metrics()
    run: Run = Run()
    sweep: Sweep | None = None

    @property
    def evaluate_every_s(self) -> float:
        """Virtual time between evaluations."""
        return self.metrics.every_s or self.horizon_s / 20


def file_model(modules: Mapping[str, ModuleType]) -> type[Scenario]:
    """The scenario as a file states it: an [algorithm] table holds its Params' keys directly.

    Parameters
    ----------
    modules : mapping of str to module
        The algorithms that the file may name.
    """
    params: dict[type, type[Table]] = {}

    def entry(flat: Any) -> AlgorithmEntry:
        own = params[type(flat)]
        values = {key: getattr(flat, key) for key in own.model_fields}
        return AlgorithmEntry(kind=flat.kind, name=flat.name, params=own.model_construct(**values))

    for kind, module in modules.items():
        flat = create_model(
            f"{kind}_algorithm",
            __base__=module.Params,
            __doc__=(module.__doc__ or "").strip().partition("\n")[0],
            kind=(Literal[kind], Field()),  # type: ignore[valid-type]
            name=(Label, kind),
        )
        params[flat] = module.Params
    members = tuple(params)
    one = Annotated[Union[members], Field(discriminator="kind")] if len(members) > 1 else members[0]  # type: ignore[valid-type] # noqa: UP007
    entries = tuple[Annotated[one, AfterValidator(entry)], ...]  # type: ignore[valid-type]
    return create_model("ScenarioFile", __base__=Scenario, algorithm=(entries, Field(min_length=1)))
