"""Checks that every algorithm must pass."""

import inspect
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from netsim import engine, world
from netsim.campaign import resume as resuming
from netsim.engine.interruption import USUAL, Interrupted
from netsim.engine.progress import Progress
from netsim.engine.simulation import Simulation
from netsim.messaging.message import Message
from netsim.protocols.declaration import declaration_of
from netsim.recording import run_folder
from netsim.recording.scratch import ScratchFolder
from netsim.registry import Table, family, use_components
from netsim.scenario import Scenario, from_dict
from netsim.scenario.kinds import Kinds
from netsim.testing.small_world import (
    CELL,
    CELL_PLACES,
    CHURN,
    SCHEDULES,
    WORLDS,
    played,
    require,
    tables,
)

FINGERPRINTS = ("event_log_sha256", "parameters_sha256")


@dataclass(frozen=True)
class AlgorithmCase:
    """An algorithm to test.

    Attributes
    ----------
    kinds : Kinds
        All that a scenario can name.
    kind : str
        The algorithm's name.
    params : mapping
        Those that differ from their defaults; steps and epochs are one unless they are here.
    tables : mapping
        Other tables of the scenarios that it is played in, such as another `[data]`.
    folder : Path or None
        The data folder.
    """

    kinds: Kinds
    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def module(self) -> ModuleType:
        """The algorithm."""
        return self.kinds[self.kind]

    @property
    def learns(self) -> bool:
        """Return whether it trains and publishes models."""
        return declaration_of(self.module).learns

    @property
    def needs_values(self) -> bool:
        """Return whether it can't be played without learning."""
        return declaration_of(self.module).needs_values

    @property
    def asks_for_numbers(self) -> bool:
        """Return whether it reads computed values in mid-run, or chooses by them."""
        source = Path(str(self.module.__file__)).read_text(encoding="utf-8")
        return any(verb in source for verb in (".value(", ".select("))

    @property
    def schedules(self) -> tuple[str, ...]:
        """List the shipped schedules that it runs under."""
        allowed = declaration_of(self.module).schedules
        return tuple(s for s in SCHEDULES if allowed is None or s in allowed)

    @property
    def worlds(self) -> tuple[str, ...]:
        """`server` only where it takes notice of servers, or leaves them out."""
        source = Path(str(self.module.__file__)).read_text(encoding="utf-8")
        servers = "node.servers" in source or not declaration_of(self.module).knows_servers
        return tuple(w for w in WORLDS if w != "server" or servers)

    def scenario(self, schedule: str, **changed: Any) -> Scenario:
        """A small scenario that plays it.

        Parameters
        ----------
        schedule : str
            One of `SCHEDULES`.
        **changed : object
            Tables that differ.
        """
        params = {**shortest(self.module.Params), **self.params}
        if declaration_of(self.module).needs_server:
            changed = {**WORLDS["server"], **changed}
        found = tables(self.kind, SCHEDULES[schedule], params=params, **changed) | dict(self.tables)
        if self.folder is not None:
            found["data"] = {**found["data"], "path": str(self.folder.absolute())}
        if declaration_of(self.module).allocates and "radio" not in self.tables:
            found.pop("link", None)
            found["radio"], found["nodes"] = CELL, {**found["nodes"], **CELL_PLACES}
        return from_dict(found, f"test-{self.kind}", kinds=self.kinds)


def shortest(params: type[Table]) -> dict[str, Any]:
    """Params that are required, and as few local steps as there may be."""
    known = params.model_fields
    counts = {key for key, info in known.items() if isinstance(info.default, int)}
    few = {key: 1 for key in counts if re.search("steps|epochs", key)}
    required = {key: info.annotation for key, info in known.items() if info.is_required()}
    return {key: 1 if kind is int else 1.0 for key, kind in required.items()} | few


SCHEDULED = ("node.wakeup", "node.exchange", "node.tick", "node.round", "max_age_s", "Inbox(")
"""Calls of a method that follow the schedule."""


def keeps_the_contract(case: AlgorithmCase) -> None:
    """Params and messages are frozen, the file says what it is, its schedules exist."""
    module = case.module
    require(inspect.getdoc(module), f"{module.__file__}: has no docstring: say what it is")
    config = module.Params.model_config
    require(config.get("frozen"), "Params must be frozen: derive it from netsim.api.Params")
    require(config.get("extra") == "forbid", "Params must refuse unknown keys: see netsim.api")
    with use_components(case.kinds.components):
        known = set(family("netsim.schedules", "schedule"))
    unknown = set(declaration_of(module).schedules or ()) - known
    require(not unknown, f"it declares schedules that there are not: {sorted(unknown)}")
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    read = [word for word in SCHEDULED if word in source]
    require(
        declaration_of(module).wakes or not read,
        f"it declares wakes=False and has {', '.join(read)}, which follow the schedule",
    )
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, Message) and value is not Message:
            frozen = getattr(value, "__dataclass_params__", None)
            require(
                frozen is not None and frozen.frozen,
                f"message {value.__name__} is not frozen: write @dataclass(frozen=True) above it",
            )


def plays(case: AlgorithmCase, schedule: str, where: str) -> None:
    """It plays thirty seconds and learns; over lossy links, twice the same.

    Parameters
    ----------
    case : AlgorithmCase
    schedule : str
        One of `SCHEDULES`.
    where : str
        One of `WORLDS`.
    """
    scenario = case.scenario(
        schedule,
        horizon_s=30.0,
        compute={"kind": "fixed", "step_s": 0.5},
        metrics={"every_s": 15.0, "common_test_samples": 5},
        **WORLDS[where],
    )
    found = played(scenario)
    if case.learns:
        trained = "no node has trained: is node.train waited for with yield?"
        require(found["local_steps"] > 0, trained)
        measured = found.get("accuracy", {"nodes": 0})["nodes"]  # not all, where not all have woken
        require(measured > 0, "no node has published a model: node.publish(theta)")
    else:
        worked = found["local_steps"] or found["messages"]["sent"] or found.get("recorded")
        require(worked, "no node has worked, sent or recorded anything")
    if where != "lossy":  # once is enough to see that a run repeats itself
        return
    again = played(scenario)
    for name in FINGERPRINTS:
        require(
            again[name] == found[name],
            f"played twice, {name} is another one: draw with node.uniform and node.permutation, "
            "keep nothing in module variables, iterate over no set",
        )


def survives_churn(case: AlgorithmCase, schedule: str) -> None:
    """Nodes are switched off and on while it plays, and it goes on.

    Parameters
    ----------
    case : AlgorithmCase
    schedule : str
        One of `SCHEDULES`.
    """
    scenario = case.scenario(
        schedule,
        horizon_s=60.0,
        churn=CHURN,
        link={"latency_s": 0.3},
        compute={"kind": "fixed", "step_s": 0.5},
        metrics={"every_s": 60.0, "common_test_samples": 5},
    )
    found = played(scenario, timing_only=not case.needs_values)
    require(found["local_steps"] > 0 or not case.learns, "no node has trained")
    require(found["power"]["switch_offs"] > 10, "nodes were not switched off")
    if found["messages"]["sent"]:
        skipped = found["wakes"]["skipped"] > 0 or not any(found["wakes"].values())
        require(skipped, "no wake-up was skipped, though nodes were off")
        off = any(outcomes.get("off") for outcomes in found["outcomes"].values())
        require(off, "no message was lost to a node that was off")


def plays_without_learning(case: AlgorithmCase) -> None:
    """With `--timing-only` it sends; the same at the same times if it asks for no numbers."""
    scenario = case.scenario(case.schedules[-1], horizon_s=30.0)
    learned, timed = played(scenario), played(scenario, timing_only=True)
    sent = [found["messages"]["sent"] > 0 for found in (learned, timed)]
    require(sent[0] == sent[1], "without learning it sends where it does not with, or the reverse")
    if case.asks_for_numbers:
        return  # their defaults stand in, and may lead elsewhere
    require(
        timed["event_log_sha256"] == learned["event_log_sha256"],
        "without learning another course is taken: if it depends on computed values, declare "
        "@netsim.api.algorithm(needs_values=True)",
    )


def learns_alike_on_two_backends(case: AlgorithmCase) -> None:
    """One node after the other, and many in one call: the same models but for rounding."""
    alone, grouped = (models_learned(case, backend) for backend in ("sequential", "stacked"))
    _require_alike(
        grouped,
        alone,
        "learned otherwise in a group: a loss or a function of values must be pure and for one "
        "node",
    )


def learns_alike_on_a_gpu(case: AlgorithmCase) -> None:
    """On a GPU, where there is one, as on the CPU: the same models but for rounding."""
    _require_alike(
        models_learned(case, "stacked", "cuda"),
        models_learned(case, "sequential"),
        "learned otherwise on a GPU: a loss or a function of values must draw no numbers of its "
        "own",
    )


def _require_alike(
    found: Mapping[tuple[int, str], torch.Tensor],
    expected: Mapping[tuple[int, str], torch.Tensor],
    why: str,
) -> None:
    require(found.keys() == expected.keys(), f"other models are published: {why}")
    for (node, stage), model in expected.items():
        torch.testing.assert_close(
            found[node, stage],
            model,
            rtol=1e-7,
            atol=1e-7,
            msg=lambda text, node=node, stage=stage: f"node {node}, {stage}: {why}: {text}",  # type: ignore[misc]
        )


def models_learned(
    case: AlgorithmCase, backend: str, device: str = "cpu"
) -> dict[tuple[int, str], torch.Tensor]:
    """Every model that is published last, by node and stage, in float64, on the CPU.

    Parameters
    ----------
    case : AlgorithmCase
    backend, device : str
        As in `[run]`.
    """
    scenario = case.scenario(
        case.schedules[-1],
        horizon_s=20.0,
        training={"learning_rate": 0.1, "dtype": "float64"},
        run={"device": device, "backend": backend},
    )
    run = Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    run.to_horizon()
    found = {
        (node.id, stage): publication.ref.tensor().to("cpu", copy=True)
        for node in run.parts
        for stage, publication in node.publishing.published.items()
    }
    run.finish(None)
    return found


def goes_on_after_an_interrupt(case: AlgorithmCase) -> None:
    """Broken off half-way and resumed, it comes to the same end.

    Outside of the main thread no signal can break it off: then nothing is checked.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    scenario = case.scenario(case.schedules[-1], horizon_s=20.0)
    whole = played(scenario)
    built, [entry] = world.build(scenario), scenario.algorithm
    with ScratchFolder("testing") as place, _signals_as_usual():
        folder = place / "run"
        try:
            engine.play(built, entry, folder, on_progress=_interrupts_at(10.0))
        except Interrupted:
            resuming.play(
                resuming.read_unfinished(folder, case.kinds), case.kinds, lambda _: None, None
            )
        resumed = run_folder.summary(folder)
    for name in FINGERPRINTS:
        require(
            resumed[name] == whole[name],
            f"resumed, {name} is another one: what a node knows belongs into its processes, "
            "not into module variables",
        )


def _interrupts_at(virtual_s: float) -> Any:
    """A watcher that asks the run to end, once, at the first progress from an instant on."""
    asked: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.virtual_s >= virtual_s and not asked:
            asked.append(progress.virtual_s)
            signal.raise_signal(signal.SIGINT)

    return watch


@contextmanager
def _signals_as_usual() -> Iterator[None]:
    """Ctrl-C means what it does in a terminal, whatever the test runner has made of it."""
    before = signal.signal(signal.SIGINT, USUAL[signal.SIGINT])
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
