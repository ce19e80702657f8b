"""Play small algorithms on a small world and keep their observations beside the message log."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import torch

from netsim import world
from netsim.engine.simulation import Simulation
from netsim.messaging.message import Envelope
from netsim.node.messaging import Inbox, Outbox
from netsim.scenario import from_dict
from netsim.scenario.kinds import Kinds, kinds_of

TOYS = Path(__file__).parent / "toys"

SCHEDULES = {
    "star": {"schedule": "star", "slot_s": 0.1, "slots_per_exchange": 5},
    "rounds": {"schedule": "rounds", "interval_s": 0.5},
    "poisson": {"schedule": "poisson", "rate_hz": 0.5, "slot_s": 0.1},
}
LOSSY = {"link": {"loss": 0.3, "latency_s": 0.01, "rate_bps": 1e6}}
FADING = {
    "radio": {
        "mean_snr_db": -12.0,
        "threshold_db": -18.0,
        "rate": {"kind": "fixed", "rate_bps": 2e6},
        "fading": {"kind": "rayleigh", "coherence_s": 0.02},
        "packet_error": {"kind": "exponential_snr"},
        "packet_payload_bytes": 200,
        "attempt_overhead_s": 1e-4,
        "arq": {"kind": "hole", "max_attempts": 2},
        "ttl_s": 0.4,
    }
}


@dataclass
class Played:
    """One run: its summary, the message log, and what the algorithm saw."""

    run: Simulation
    summary: dict[str, Any]
    log: pd.DataFrame
    seen: list[Any]
    created: int
    endings: int
    handed: int

    def saw(self, what: str, node: int | None = None) -> list[Any]:
        """Return the values seen under one name, in order of time; of one node if asked."""
        return [s for s in self.seen if s.what == what and node in (None, s.node)]

    def kind(self, name: str) -> pd.DataFrame:
        """Log rows of one message class."""
        return self.log[self.log.kind == name]


def tables(kind: str, schedule: str | dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A tiny world: five nodes, twenty samples each, a model of four hidden units."""
    params = changed.pop("params", {})
    base = {
        "horizon_s": 4.0,
        "nodes": {"count": 5},
        "exchange": SCHEDULES[schedule] if isinstance(schedule, str) else schedule,
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "training": {"learning_rate": 0.1},
        "metrics": {"every_s": 2.0, "common_test_samples": 5},
        "run": {"device": "cpu"},
        "algorithm": {"kind": kind, **params},
    }
    return base | changed


@cache
def toys() -> Kinds:
    """The kinds of a scenario, with the algorithms of `TOYS`, whose folder is read once."""
    return kinds_of((TOYS,))


def seen_module(toy: ModuleType) -> ModuleType:
    return importlib.import_module(f"{toy.__package__}._seen")


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Played]:
    """Play an algorithm of a folder; keyword arguments are tables of the scenario."""
    runs = 0

    def play_one(
        kind: str,
        schedule: str | dict[str, Any] = "rounds",
        folder: Path = TOYS,
        timing_only: bool = False,
        **changed: Any,
    ) -> Played:
        nonlocal runs
        runs += 1
        torch.set_num_threads(1)
        known = toys() if folder == TOYS else kinds_of((folder,))
        scenario = from_dict(tables(kind, schedule, **changed), kinds=known)
        module = known[kind]
        seen: list[Any] = seen_module(module).SEEN
        seen.clear()
        created: list[Any] = []
        endings: list[Any] = []
        handed: dict[tuple[int, int], Envelope] = {}
        deliver, hand = Inbox.deliver, Envelope.handed_to

        def counted(make: Any) -> Any:
            def made(outbox: Outbox, *args: Any, **marks: Any) -> Any:
                found = make(outbox, *args, **marks)
                created.extend((envelope, dst) for envelope, group in found for dst in group)
                return found

            return made

        def noted_end(inbox: Inbox, tx: Any, outcome: str, arrived: Any) -> None:
            endings.append((tx.envelope, tx.dst))  # kept, so that no other gets its id
            deliver(inbox, tx, outcome, arrived)

        def noted(envelope: Envelope, node: int, now_ns: int) -> Any:
            handed[id(envelope), node] = envelope  # kept, so that no other gets its id
            return hand(envelope, node, now_ns)

        with monkeypatch.context() as patch:
            for name in ("sendings", "to_peers"):
                patch.setattr(Outbox, name, counted(getattr(Outbox, name)))
            patch.setattr(Inbox, "deliver", noted_end)
            patch.setattr(Envelope, "handed_to", noted)
            out = tmp_path / f"run-{runs}"
            run = Simulation(world.build(scenario), scenario.algorithm[0], out, timing_only, None)
            run.write_inputs(out)
            run.to_horizon()
            summary = run.finish(out)
        ended = {(id(envelope), dst) for envelope, dst in endings}
        assert len(ended) == len(endings), "a message ended twice"
        log = pd.read_parquet(out / "messages").astype({"kind": str, "outcome": str})
        return Played(run, summary, log, list(seen), len(created), len(endings), len(handed))

    return play_one


@pytest.fixture
def play_source(tmp_path: Path, play: Callable[..., Played]) -> Callable[..., Played]:
    """Play an algorithm given as text: the body of its module after the usual imports."""
    written = 0

    def play_text(source: str, *args: Any, **changed: Any) -> Played:
        nonlocal written
        written += 1
        folder = tmp_path / f"algorithms-{written}"
        folder.mkdir()
        (folder / "_seen.py").write_text((TOYS / "_seen.py").read_text())
        (folder / "toy.py").write_text(HEADER + source)
        return play("toy", *args, folder=folder, **changed)

    return play_text


HEADER = """
from dataclasses import dataclass
from typing import ClassVar
import torch
from netsim import api
from netsim.api import Message, Node, Params, Process, Ref
from ._seen import saw

@dataclass(frozen=True)
class Note(Message):
    number: int = 0

@dataclass(frozen=True)
class Model(Message):
    theta: Ref

"""
