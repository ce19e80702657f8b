"""Episodes of a scenario: its method's decisions, worlds by seed, runs with or without a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from netsim import engine, world
from netsim.engine import runner
from netsim.errors import ScenarioError
from netsim.gym.episode import Episode
from netsim.node.decisions import Agent, Decides, Totals, is_weight
from netsim.protocols.declaration import declaration_of
from netsim.python_api.playing import run
from netsim.python_api.scenario import Scenario, as_scenario, kinds_for, parts
from netsim.registry import did_you_mean
from netsim.scenario.tables import AlgorithmEntry
from netsim.scenario.tables import Scenario as Tables
from netsim.traces.files import data_folder
from netsim.traces.input_files import FileStates, states_of

KEPT_WORLDS = 4
"""Worlds of so many seeds are kept for further episodes."""


class Source:
    """Maker of the episodes of one scenario.

    Parameters
    ----------
    scenario : Scenario, str or Path
    algorithm : str or None
        Name of the method in the scenario that leaves decisions to the agent; None: the only one
        that does, or the first of those of one kind.
    reward : mapping of str to float or None
        Weight of the growth of each of `Totals`; None: the method's.
    record : str, Path or None
        Folder into which each episode is written as a run, `episode-00000` and so on, with the
        first number that is free.
    timing_only : bool
        Whether to play without tensor work.

    Raises
    ------
    ScenarioError
        If the scenario has no such method.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        algorithm: str | None,
        reward: Mapping[str, float] | None,
        record: str | Path | None,
        timing_only: bool = False,
    ) -> None:
        self._scenario = as_scenario(scenario, None)
        self._algorithm = self._chosen(algorithm)
        self._scenario = self._scenario.replace(algorithm=[self._table()])
        self._record, self._recorded = None if record is None else Path(record), 0
        self._worlds: dict[int, tuple[Tables, Path | None, FileStates, world.World]] = {}
        self._timing_only = timing_only
        self.seed = int(self._scenario.tables.seed)
        self.decides = self._declared()
        self.reward = self._rewarded(self.decides.reward if reward is None else reward)

    def _rewarded(self, reward: Mapping[str, float]) -> dict[str, float]:
        """The weights of a reward, checked."""
        if not isinstance(reward, Mapping):
            raise ScenarioError(
                f'reward: {reward!r} must have a weight for each name, as {{"time_s": -1.0}}'
            )
        for name, weight in reward.items():
            if name not in Totals._fields:
                raise ScenarioError(
                    f"reward: {name!r} must be one of {', '.join(Totals._fields)}"
                    + did_you_mean(str(name), Totals._fields)
                )
            if not is_weight(weight):
                raise ScenarioError(f"reward: {name}: {weight!r} must be a finite number")
            if self._timing_only and weight and name in ("score", "fairness"):
                raise ScenarioError(
                    f"timing_only: the reward is of {name}, which nothing measures without tensor "
                    'work; state another one, as reward={"time_s": -1.0}, or leave timing_only out'
                )
        return {name: float(weight) for name, weight in reward.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        made_with = self._scenario, self._algorithm, self.reward, self._record, self._timing_only
        return Source, made_with

    def _deciding(self) -> list[str]:
        """Names of the methods that leave decisions to an agent."""
        with kinds_for(self._scenario) as kinds:
            return [
                entry.name
                for entry in self._scenario.tables.algorithm
                if declaration_of(kinds[entry.kind]).decides is not None
            ]

    def _chosen(self, algorithm: str | None) -> str:
        deciding = self._deciding()
        name = self._scenario.tables.name
        if not deciding:
            raise ScenarioError(
                f"{name}: [algorithm]: none leaves decisions to an agent (node.decide); play "
                '"client_selection", or a method of your own'
            )
        if algorithm is None:
            return deciding[0]
        if algorithm not in deciding:
            raise ScenarioError(
                f"{name}: algorithm {algorithm!r}: must be one of {', '.join(deciding)}"
                + did_you_mean(str(algorithm), deciding)
            )
        return algorithm

    def _table(self) -> dict[str, Any]:
        """The chosen method's table, as the scenario's file has it."""
        draft, _, _ = parts(self._scenario)
        tables = draft.raw["algorithm"]
        each = tables if isinstance(tables, list) else [tables]
        return next(dict(t) for t in each if t.get("name", t.get("kind")) == self._algorithm)

    def _declared(self) -> Decides:
        tables, entry = _as_played(self._scenario)
        with kinds_for(self._scenario) as kinds:
            declared = declaration_of(kinds[entry.kind])
            found = declared.decisions(entry.params, tables.per_node("role"))
        assert found is not None
        return found

    def episode(self, seed: int) -> Episode:
        """Begin an episode whose draws follow from a seed, up to its first decision.

        Raises
        ------
        NetsimError
            If the scenario can't be played, or nothing is decided before its end.
        """
        begun = Episode(self._player(seed), to_horizon=self._record is not None)
        if begun.decision is None:
            raise ScenarioError(
                f"the run of seed {seed} came to its end without a decision; give it a longer "
                "horizon_s"
            )
        return begun

    def _player(self, seed: int) -> Callable[[Agent], list[str]]:
        """Return a function that plays the run of a seed with an agent, and gives its warnings."""
        seeded = self._scenario.replace(seed=seed)
        if self._record is not None:
            folder = self._made_folder(self._record)

            def recorded(agent: Agent) -> list[str]:
                found = run(seeded, out=folder, agent=agent, timing_only=self._timing_only)
                return list(found.warnings)

            return recorded

        def played(agent: Agent) -> list[str]:
            with kinds_for(seeded):
                tables, entry = _as_played(seeded)
                built = self._world(seed, tables)
                found = engine.play(built, entry, None, self._timing_only, agent=agent)
            return list(found["warnings"])

        return played

    def _made_folder(self, record: Path) -> Path:
        """Make the folder of an episode; other environments, also in other processes, get others.

        Raises
        ------
        ScenarioError
            If it can't be made.
        """
        while True:
            folder = record / f"episode-{self._recorded:05}"
            self._recorded += 1
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                continue
            except OSError as error:
                raise ScenarioError(
                    f"record {folder}: cannot be created: {error.strerror}"
                ) from error

    def _world(self, seed: int, tables: Tables) -> world.World:
        """The world of a seed, built anew where files that it was made of have changed."""
        folder = data_folder()
        made_of = tables, None if folder is None else folder.absolute()
        kept = self._worlds.get(seed)
        if kept is not None:
            *made_before, states, there = kept
            if tuple(made_before) == made_of and states_of(there.inputs) == states:
                return there
        while len(self._worlds) >= KEPT_WORLDS:
            self._worlds.pop(next(iter(self._worlds)))
        built = runner.build(tables, tables.name)
        self._worlds[seed] = *made_of, states_of(built.inputs), built
        return built

    def gained(self, before: Totals, now: Totals) -> float:
        """The reward for what has happened from one instant to another."""
        old, new = before._asdict(), now._asdict()
        return float(sum(w * (new[name] - old[name]) for name, w in self.reward.items()))


def _as_played(scenario: Scenario) -> tuple[Tables, AlgorithmEntry]:
    """Return a scenario of one method with what its `set` says, and the method's entry in it."""
    (entry,) = scenario.tables.algorithm
    tables = scenario.tables.of(entry)
    return tables, next(one for one in tables.algorithm if one.name == entry.name)
