"""The way of one unicast message through the code, from `node.send` until its receiver has it.

    python benchmarks/message_path.py [--mac orthogonal csma] [--quiet]

Plays two nodes of which one sends a model once over a Rayleigh-fading channel, and prints every
function of netsim that is called on the way, in order; then how many calls there were, how often
one file handed over to another, and how many files took part.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import netsim
from netsim import engine, scenario, world

ROOT = str(Path(netsim.__file__).parent)

ALGORITHM = '''\
"""Node 0 sends its model to node 1, once."""

from dataclasses import dataclass

from netsim.api import Message, Params as Table, Ref


class Params(Table):
    """None."""


@dataclass(frozen=True)
class Model(Message):
    """A whole model."""

    theta: Ref


def processes(node, params):
    return [sender(node)] if node.id == 0 else [receiver(node)]


def mark(what):
    """The tracer sees this call."""


def sender(node):
    yield node.wakeup()
    model = Model(node.initial())
    mark("sent")
    yield node.send(1, model)


def receiver(node):
    yield node.receive(Model, timeout_s=None)
    mark("received")
    yield node.receive(Model, timeout_s=None)
'''


def tables(mac: str) -> dict[str, Any]:
    """The scenario with a medium access of the given kind."""
    return {
        "horizon_s": 30.0,
        "seed": 1,
        "nodes": {"count": 2, "placement": "disc", "radius_m": 20.0},
        "exchange": {"schedule": "periodic", "period_s": 10.0},
        "radio": {
            "fading": {"kind": "rayleigh", "coherence_s": 0.05},
            "rate": {"kind": "shannon_gap", "min_rate_bps": 1e4},
            "mac": {"kind": mac},
        },
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "one_message"},
    }


@contextmanager
def traced(calls: list[tuple[str, str]]) -> Iterator[None]:
    """Collect (file, function) of netsim's calls between the two marks."""
    on = False

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal on
        code = frame.f_code
        if event != "call":
            return
        if code.co_name == "mark":
            on = frame.f_locals["what"] == "sent"
        elif on and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            calls.append((code.co_filename[len(ROOT) + 1 :], code.co_qualname))

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def path(mac: str) -> list[tuple[str, str]]:
    """(file, function) of every call on the message's way."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one_message.py").write_text(ALGORITHM, encoding="utf-8")
        asked = scenario.from_dict(tables(mac), algorithms_folder=Path(folder))
        built = world.build(asked)
        calls: list[tuple[str, str]] = []
        with traced(calls):
            summary = engine.play(built, asked.algorithm[0], timing_only=True)
    assert summary["messages"]["delivered"] == 1
    return calls


def main(arguments: list[str] | None = None) -> None:
    """Print the ways over each medium access."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mac", nargs="+", default=["orthogonal", "csma"], metavar="KIND")
    parser.add_argument("--quiet", action="store_true", help="the counts alone")
    given = parser.parse_args(arguments)
    for mac in given.mac:
        calls = path(mac)
        if not given.quiet:
            for file, function in calls:
                print(f"{file:40s} {function}")
        files = [file for file, _ in calls]
        handed = sum(a != b for a, b in itertools.pairwise(files))
        print(f"{mac}: {len(calls)} calls, {handed} hand-overs, {len(set(files))} files")


if __name__ == "__main__":
    main()
