"""Invariants: facts that hold in every run, one a file; an error names the one that a run breaks.

Every run checks the cheap ones at its end. A run with `--check` checks all of them, and also while
it goes on: at every evaluation, and at every message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim import registry
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy.meter import EnergyMeter
from netsim.engine.evaluation import Evaluator
from netsim.errors import InvariantError
from netsim.learning.scheduler import Scheduler
from netsim.links.hybrid import HybridLink
from netsim.links.link import Link
from netsim.links.radio.link import RadioLink
from netsim.node.internals import NodeInternals
from netsim.recording.recorder import Recorder
from netsim.units import to_s
from netsim.world.builder import SERVER, World

TOLERANCE = 1e-9
"""Relative difference of two numbers that should be equal: sums in another order."""


@dataclass(frozen=True)
class Observed:
    """One run, as invariants look at it; nothing of it is changed."""

    world: World
    clock: Clock
    recorder: Recorder
    link: Link
    availability: Availability
    meter: EnergyMeter
    parts: Sequence[NodeInternals]
    scheduler: Scheduler
    evaluator: Evaluator
    mixes_to_one: bool  # whether the algorithm has declared that the weights it logs sum to one

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that carry messages themselves."""
        link = self.link
        return (link.radio, link.wires) if isinstance(link, HybridLink) else (link,)

    @property
    def radios(self) -> list[RadioLink]:
        """Those of the links that are radios."""
        return [link for link in self.links if isinstance(link, RadioLink)]

    @property
    def is_wired(self) -> NDArray[np.bool_]:
        """Mask of the nodes that have wires, (N,): beside radios only servers have some."""
        wires = self.world.wiring is not None
        among = (SERVER,) if self.world.scenario.radio is not None else set(self.world.roles)
        return np.array([wires and role in among for role in self.world.roles])


class Invariant:
    """One fact; a subclass a file, whose name it bears in errors.

    Attributes
    ----------
    remedy : str
        What an error says beside what was found.
    """

    remedy = (
        "the run contradicts itself, so its numbers are not to be used; please report it with "
        "scenario.toml of the run folder"
    )

    def __init__(self, run: Observed) -> None:
        self.run = run

    def watch(self) -> None:
        """Ask to be told of what happens; called before the first event, with `--check` only."""

    def at_evaluation(self, now_ns: int) -> None:
        """Check now; called at every evaluation, with `--check` only.

        Raises
        ------
        InvariantError
        """

    def after(self, summary: Mapping[str, Any]) -> None:
        """Check the end of every run, by what its summary will say.

        Raises
        ------
        InvariantError
        """

    def left_behind(self) -> Callable[[], None] | None:
        """Return a check to call when the run has been dropped, with `--check` only."""
        return None

    def broken(self, where: str, now_ns: int, what: str, found: object, expected: object) -> None:
        """End the run.

        Parameters
        ----------
        where : str
            The node, such as "node 3", or what else it is about.
        now_ns : int
            Virtual time [ns].
        what : str
            What the first number is, and how it stands to the second.
        found, expected : object
            Both numbers.

        Raises
        ------
        InvariantError
        """
        name = type(self).__module__.rpartition(".")[2]
        raise InvariantError(
            f"invariant {name}: {where} at {to_s(now_ns):.9g} s: {what}: {found} against "
            f"{expected}; {self.remedy}"
        )


def kinds() -> list[type[Invariant]]:
    """The invariants, in alphabetical order of their files."""
    return [
        value
        for module in registry.public_modules(__name__).values()
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Invariant)
        and value.__module__ == module.__name__
    ]


def differ(a: float, b: float, scale: float = 0.0) -> bool:
    """Return whether two numbers are not equal but for rounding.

    Parameters
    ----------
    scale : float
        Of the numbers whose sums they are, where these are larger.
    """
    return not abs(a - b) <= TOLERANCE * max(abs(a), abs(b), scale)
