"""The trips of one thing through the code: functions called, and how often files hand over.

    python benchmarks/trips.py [--only TRIP...] [--calls] [--json FILE]

A trip begins at one line of an algorithm and ends at another; every function of netsim that is
called between them counts. A hand-over is a call that lies in another file than the call before
it, a return one to a file that was left before. `--calls` prints the functions in order.

Trips are a message from `node.send` until its receiver has it (over a wire, over radio, over CSMA
frame by frame), two trainings and a loss from the first verb until the algorithm waits for the
number, and a scenario from its name to a `Scenario`.
"""

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import netsim
from netsim import engine, scenario, world

ROOT = str(Path(netsim.__file__).parent) + "/"

Call = tuple[str, str]
"""File below `netsim/`, and function."""

MARKED = '''\
"""One trip, from `mark("begin")` until `mark("end")`."""

from dataclasses import dataclass

from netsim.api import Message, Params as Table, Ref


class Params(Table):
    """None."""


@dataclass(frozen=True)
class Model(Message):
    """A whole model."""

    theta: Ref


def mark(what):
    """Begin or end the count."""

'''

MESSAGE = """
def processes(node, params):
    return [sender(node)] if node.id == 0 else [receiver(node)]


def sender(node):
    yield node.wakeup()
    model = Model(node.initial())
    mark("begin")
    yield node.send(1, model)


def receiver(node):
    yield node.receive(Model, timeout_s=None)
    mark("end")
    yield node.receive(Model, timeout_s=None)
"""

TRAINING = """
def processes(node, params):
    return [train(node)] if node.id == 0 else []


def train(node):
    yield node.wakeup()
    theta = node.initial()
    mark("begin")
    first = yield node.train(theta, steps=2)
    second = yield node.train(first.theta, steps=2)
    waited = node.value(node.loss(second.theta, "train"), default=0.0)
    mark("end")
    yield waited
"""

WORLD: dict[str, Any] = {
    "horizon_s": 30.0,
    "seed": 1,
    "nodes": {"count": 2, "placement": "disc", "radius_m": 20.0},
    "exchange": {"schedule": "periodic", "period_s": 10.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
}
FRAMES = {
    "mac": {"kind": "csma"},
    "fidelity": "packet",
    "packet_payload_bytes": 100_000,
}
"""The whole model is one frame."""


@contextmanager
def counted(calls: list[Call], on: bool = False) -> Iterator[None]:
    """Collect netsim's calls: between the marks, or all of them."""

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal on
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == "mark" and not code.co_filename.startswith(ROOT):
            on = frame.f_locals["what"] == "begin"
        elif on and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            calls.append((code.co_filename[len(ROOT) :], code.co_qualname))

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def in_run(body: str, tables: dict[str, Any], timing_only: bool) -> list[Call]:
    """Calls between the marks of an algorithm, played in a world of two nodes."""
    calls: list[Call] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one_trip.py").write_text(MARKED + body, encoding="utf-8")
        asked = scenario.from_dict(
            {**WORLD, **tables, "algorithm": {"kind": "one_trip"}}, algorithms_folder=Path(folder)
        )
        built = world.build(asked)
        with counted(calls):
            engine.play(built, asked.algorithm[0], timing_only=timing_only)
    return calls


def message(tables: dict[str, Any]) -> list[Call]:
    """The way of a message, from `node.send` until its receiver has it."""
    return in_run(MESSAGE, tables, timing_only=True)


def loading() -> list[Call]:
    """A shipped scenario from its name to a `Scenario`, as the first thing of a process."""
    calls: list[Call] = []
    with counted(calls, on=True):
        scenario.load("quickstart")
    return calls


TRIPS: dict[str, Callable[[], list[Call]]] = {
    "scenario to Scenario": loading,
    "message over a wire": lambda: message({"link": {}}),
    "message over radio": lambda: message({"radio": {}}),
    "message over radio, Rayleigh fading": lambda: message(
        {"radio": {"fading": {"kind": "rayleigh", "coherence_s": 0.05}}}
    ),
    "message, CSMA frame by frame": lambda: message({"radio": FRAMES}),
    "two trainings, a loss, up to the wait": lambda: in_run(TRAINING, {"radio": {}}, False),
}


def counts(calls: list[Call]) -> dict[str, int]:
    """Calls, hand-overs, files, and returns to a file left."""
    files = [file for file, _ in calls]
    handed = sum(a != b for a, b in itertools.pairwise(files))
    apart = len(set(files))
    return {"calls": len(calls), "hand-overs": handed, "files": apart,
            "returns": handed - max(apart - 1, 0)}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Print the table of trips."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TRIPS, default=list(TRIPS), metavar="TRIP")
    parser.add_argument("--calls", action="store_true", help="every function called, in order")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    given = parser.parse_args(arguments)
    found: dict[str, dict[str, int]] = {}
    for name in given.only:
        calls = TRIPS[name]()
        if given.calls:
            print(f"\n{name}")
            for file, function in calls:
                print(f"    {file:40s} {function}")
        found[name] = counts(calls)
    print(f"{'trip':40s}{'calls':>8}{'hand-overs':>12}{'files':>8}{'returns':>9}")
    for name, row in found.items():
        print(
            f"{name:40s}"
            + "".join(f"{n:>{w}}" for n, w in zip(row.values(), (8, 12, 8, 9), strict=True))
        )
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
