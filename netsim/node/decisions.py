"""Decisions that a method leaves to an agent: what the agent is told, and what it may answer.

A method declares both (`@netsim.api.algorithm(decides=...)`) and asks by `node.decide`. The answer
comes at the same instant of virtual time: from the agent that plays the run (`netsim.gym`,
`netsim.run(..., agent=...)`), or else from the policy that the scenario names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import ProtocolError

Array = NDArray[Any]


class Space(Protocol):
    """Values that an observation or an action may have."""

    def checked(self, value: Any) -> Any:
        """Return a value in the form in which methods and agents get it.

        Raises
        ------
        ProtocolError
            If it is not in the space.
        """

    def unknown_value(self) -> Any:
        """Return the value that stands for "not known yet"."""


@dataclass(frozen=True)
class Numbers:
    """Real numbers within bounds.

    Attributes
    ----------
    shape : tuple of int
    low, high : float
        Least and greatest of each.
    """

    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ProtocolError(f"Numbers: low = {self.low} must be at most high = {self.high}")

    def checked(self, value: ArrayLike) -> Array:
        """Check numbers, and return them as a float64 array of this shape."""
        given = np.asarray(value)
        if not _is_real(given):
            raise ProtocolError(f"{value!r} is of type {given.dtype}, which has no real numbers")
        found = np.array(given, dtype=np.float64)
        if found.shape != self.shape:
            raise ProtocolError(f"has shape {found.shape}; {self.shape} is declared")
        if not ((found >= self.low) & (found <= self.high)).all():
            wrong = found[~((found >= self.low) & (found <= self.high))][0]
            raise ProtocolError(f"{wrong:g} is not from {self.low:g} to {self.high:g}")
        return found

    def unknown_value(self) -> Array:
        """Zeros, or the nearest bound; see `Space`."""
        return np.full(self.shape, min(max(0.0, self.low), self.high))


@dataclass(frozen=True)
class Choice:
    """A whole number below `n`.

    Attributes
    ----------
    n : int
    """

    n: int

    def __post_init__(self) -> None:
        _require_count("Choice: n", self.n)

    def checked(self, value: Any) -> int:
        """Check a value, and return it as whole numbers."""
        return int(_whole_numbers(value, (), self.n))

    def unknown_value(self) -> int:
        """Action 0; see `Space`."""
        return 0


@dataclass(frozen=True)
class Choices:
    """Several whole numbers, each below its own limit.

    Attributes
    ----------
    sizes : tuple of int
        Limits.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_count("Choices: number of sizes", len(self.sizes))
        for size in self.sizes:
            _require_count("Choices: a size", size)

    def checked(self, value: Any) -> tuple[int, ...]:
        """Check a value, and return it as whole numbers."""
        return tuple(map(int, _whole_numbers(value, (len(self.sizes),), np.array(self.sizes))))

    def unknown_value(self) -> tuple[int, ...]:
        """Zeros; see `Space`."""
        return (0,) * len(self.sizes)


@dataclass(frozen=True)
class Subset:
    """A subset of any size of the numbers below `n`.

    Agents give and get 0 or 1 for each number; methods get those chosen, ascending.

    Attributes
    ----------
    n : int
    """

    n: int

    def __post_init__(self) -> None:
        _require_count("Subset: n", self.n)

    def checked(self, value: Any) -> tuple[int, ...]:
        """Check (n,) of 0 and 1, and return the numbers chosen."""
        return tuple(np.flatnonzero(_whole_numbers(value, (self.n,), 2)).tolist())

    def unknown_value(self) -> tuple[int, ...]:
        """No number chosen; see `Space`."""
        return ()


@dataclass(frozen=True)
class Best:
    """The `count` numbers below `n` that an agent scores highest.

    Methods get them ascending; of equal scores the lower number counts.

    Attributes
    ----------
    n, count : int
    """

    n: int
    count: int

    def __post_init__(self) -> None:
        _require_count("Best: n", self.n)
        _require_count("Best: count", self.count)
        if self.count > self.n:
            raise ProtocolError(f"Best: count = {self.count} must be at most n = {self.n}")

    def checked(self, value: ArrayLike) -> tuple[int, ...]:
        """Check (n,) scores from 0 to 1, and return the numbers with the highest."""
        scores = Numbers((self.n,), 0.0, 1.0).checked(value)
        return tuple(sorted(np.argsort(-scores, kind="stable")[: self.count].tolist()))

    def unknown_value(self) -> tuple[int, ...]:
        """The first numbers; see `Space`."""
        return tuple(range(self.count))


@dataclass(frozen=True)
class Shares:
    """Shares of a whole, one for each of `n`.

    Agents give numbers from 0 to 1, which are divided by their sum; equal shares if all are 0.

    Attributes
    ----------
    n : int
    """

    n: int

    def __post_init__(self) -> None:
        _require_count("Shares: n", self.n)

    def checked(self, value: ArrayLike) -> Array:
        """Check (n,) shares, and return them as float64 of sum 1."""
        given = Numbers((self.n,), 0.0, 1.0).checked(value)
        return given / given.sum() if given.sum() > 0 else self.unknown_value()

    def unknown_value(self) -> Array:
        """Equal shares; see `Space`."""
        return np.full(self.n, 1.0 / self.n)


def _require_count(what: str, number: Any) -> None:
    if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
        raise ProtocolError(f"{what} = {number!r} must be a whole number of at least 1")


def is_weight(number: Any) -> bool:
    """Return whether a number can weigh a part of a reward: it is real and finite."""
    return isinstance(number, Real) and not isinstance(number, bool) and isfinite(number)


def _whole_numbers(value: Any, shape: tuple[int, ...], below: Any) -> Array:
    """Whole numbers from 0, each below its limit."""
    found = np.asarray(value)
    if found.shape != shape:
        raise ProtocolError(f"has shape {found.shape}; {shape} is declared")
    if not _is_real(found) or (found != np.round(found)).any():
        raise ProtocolError(f"{value!r} is no whole number")
    if (found < 0).any() or (found >= below).any():
        raise ProtocolError(f"{value!r} is not from 0 to below {below}")
    return found.astype(np.int64)


def _is_real(found: Array) -> bool:
    """Return whether an array holds real numbers, or truth values."""
    kinds = np.integer, np.floating, np.bool_
    return any(np.issubdtype(found.dtype, kind) for kind in kinds)


class Abandoned(BaseException):
    """An agent raises it to end the run where it is: nobody asks for more of it."""


class Totals(NamedTuple):
    """Counts of the whole run so far, from which rewards are made.

    Attributes
    ----------
    time_s : float
        Virtual time [s].
    energy_j : float
        Energy that all nodes have drawn [J].
    megabytes : float
        Data that all nodes have transmitted [MB].
    score : float
        Mean over nodes of the main metric at the last evaluation; 0 before the first.
    fairness : float
        Jain's index of the nodes' main metric, (sum x)^2 / (n sum x^2); 1 before the first.
        Source: Jain, Chiu and Hawe 1984.
    """

    time_s: float
    energy_j: float
    megabytes: float
    score: float
    fairness: float


@dataclass(frozen=True, eq=False)
class Decision:
    """A decision that a node asks for.

    Attributes
    ----------
    node : int
        Node that asks.
    observation : mapping of str to array or number
        As declared.
    action : Space
        The space of the answer.
    totals : Totals
        At this instant.
    count : int
        Decisions that the node has asked for before.
    draw : callable
        n -> n uniform numbers in [0, 1) of the node's own, for policies that draw.
    """

    node: int
    observation: Mapping[str, Any]
    action: Space
    totals: Totals
    count: int
    draw: Callable[[int], list[float]]

    def checked(self, action: Any) -> Any:
        """Return an action in the form in which the method gets it.

        Raises
        ------
        ProtocolError
            If it is not in the space.
        """
        return _check_value("decide: the agent's action", self.action, action)


Agent = Callable[[Decision], Any]
"""Decision -> an action of its space.

One with a method `finished` is told the `Totals` when no decider has a process any more, one with a
method `ended` those at the end of the run.
"""


@dataclass(frozen=True, eq=False)
class Decides:
    """A method's declaration of the decisions that it leaves to an agent.

    Attributes
    ----------
    deciders : tuple of int
        The nodes that ask.
    observation : mapping of str to Space
        By name what the agent is told at each decision.
    action : Space
        Of the answers.
    reward : mapping of str to float
        By name of `Totals` the weight of its growth from one decision to the next.
    policy : callable
        Decision -> action, where no agent plays the run.
    """

    deciders: tuple[int, ...]
    observation: Mapping[str, Space]
    action: Space
    policy: Agent
    reward: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        deciders = self.deciders
        if not isinstance(deciders, tuple) or not all(isinstance(n, Integral) for n in deciders):
            raise ProtocolError(f"Decides: deciders = {deciders!r}: must be a tuple of nodes")
        if not deciders or len(set(deciders)) < len(deciders) or min(deciders) < 0:
            raise ProtocolError(
                f"Decides: deciders = {deciders!r}: must name a node at least, each once, from 0"
            )
        if not isinstance(self.observation, Mapping):
            raise ProtocolError(
                f"Decides: observation = {self.observation!r}: must have a space for each name"
            )
        spaces = {f"observation {name!r}": space for name, space in self.observation.items()}
        for what, space in {**spaces, "action": self.action}.items():
            if not hasattr(space, "checked"):
                raise ProtocolError(
                    f"Decides: {what}: {space!r} is no space; take api.Numbers, Choice, Choices, "
                    "Subset, Best or Shares"
                )
        if not callable(self.policy):
            raise ProtocolError(f"Decides: policy = {self.policy!r}: must be callable")
        if not isinstance(self.reward, Mapping):
            raise ProtocolError(f"Decides: reward = {self.reward!r}: must have a weight by name")
        for name, weight in self.reward.items():
            if name not in Totals._fields:
                raise ProtocolError(
                    f"Decides: reward {name!r}: must be one of {', '.join(Totals._fields)}"
                )
            if not is_weight(weight):
                raise ProtocolError(f"Decides: reward {name!r}: {weight!r} must be a finite number")


class Decisions:
    """Questions of the nodes of one run, and the agent that answers them.

    Parameters
    ----------
    decides : Decides or None
        Of the method; None: it has declared nothing.
    agent : callable or None
        Decision -> action; None: the method's policy answers.
    totals : callable
        () -> Totals of this instant.
    answer : callable
        (agent, decision) -> action; calls the agent.

    Attributes
    ----------
    by : {"agent", "policy"}
        Who answers.
    """

    def __init__(
        self,
        decides: Decides | None,
        agent: Agent | None,
        totals: Callable[[], Totals],
        answer: Callable[[Agent, Decision], Any] = lambda agent, asked: agent(asked),
    ) -> None:
        self._decides, self._totals, self._answer = decides, totals, answer
        self.by = "policy" if agent is None else "agent"
        self._agent = agent or (None if decides is None else decides.policy)
        self._asked: dict[int, int] = {}
        self._processes: dict[int, int] = {}

    def note_processes(self, node: int, processes: int) -> None:
        """Note how many processes a node begins with; of nodes that don't decide nothing is noted.

        Parameters
        ----------
        node : int
        processes : int
        """
        if self._decides is not None and node in self._decides.deciders:
            self._processes[node] = processes

    def process_ended(self, node: int) -> None:
        """Note that a process of a node has ended; after the last one nobody asks any more."""
        if node in self._processes:
            self._processes[node] -= 1
            if not any(self._processes.values()):
                self._tell("finished", self._totals())

    @property
    def count(self) -> int:
        """Number of decisions asked for so far."""
        return sum(self._asked.values())

    def ask(
        self, node: int, observation: Mapping[str, Any], draw: Callable[[int], list[float]]
    ) -> Any:
        """Return the action that the agent takes.

        Parameters
        ----------
        node : int
            Node that asks.
        observation : mapping of str to array_like
        draw : callable
            n -> uniform numbers.

        Raises
        ------
        ProtocolError
            If the method has not declared that it asks, or observation or action are not as
            declared.
        """
        declared = self._decides
        if declared is None or self._agent is None:
            raise ProtocolError(
                "decide: the method has not declared what it asks; write "
                "@netsim.api.algorithm(decides=...) above processes"
            )
        if node not in declared.deciders:
            raise ProtocolError(f"decide: node {node} is none of the declared deciders")
        if observation.keys() != declared.observation.keys():
            raise ProtocolError(
                f"decide: the observation has {', '.join(observation) or 'nothing'}; declared is "
                f"{', '.join(declared.observation)}"
            )
        observed = {
            name: _check_value(f"decide: observation {name}", space, observation[name])
            for name, space in declared.observation.items()
        }
        count = self._asked.get(node, 0)
        self._asked[node] = count + 1
        asked = Decision(node, observed, declared.action, self._totals(), count, draw)
        if self.by == "policy":
            return asked.checked(self._agent(asked))
        return asked.checked(self._answer(self._agent, asked))

    def end(self, totals: Totals) -> None:
        """Give the agent the totals of the run at its horizon, if it asks for them."""
        self._tell("ended", totals)

    def _tell(self, what: str, totals: Totals) -> None:
        listener = getattr(self._agent, what, None)
        if callable(listener):
            listener(totals)


def _check_value(where: str, space: Space, value: Any) -> Any:
    try:
        return space.checked(value)
    except ProtocolError as error:
        raise ProtocolError(f"{where}: {error}") from None
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ProtocolError(f"{where}: {error}") from error
