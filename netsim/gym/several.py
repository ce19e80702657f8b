"""A PettingZoo environment over a scenario, for methods in which several nodes decide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
from pettingzoo import AECEnv

from netsim.gym import spaces
from netsim.gym.episode import Episode
from netsim.gym.source import Source
from netsim.node.decisions import Totals
from netsim.python_api.scenario import Scenario


def aec(
    scenario: Scenario | str | Path,
    algorithm: str | None = None,
    *,
    reward: Mapping[str, float] | None = None,
    record: str | Path | None = None,
) -> SeveralAgents:
    """Make a PettingZoo environment of a scenario: each node that decides is an agent.

    Parameters
    ----------
    scenario, algorithm, reward, record
        As of `make`.

    Returns
    -------
    SeveralAgents

    Raises
    ------
    ScenarioError
        If no method of the scenario leaves decisions.
    """
    return SeveralAgents(Source(scenario, algorithm, reward, record))


class SeveralAgents(AECEnv[str, dict[str, Any], Any]):  # type: ignore[misc] # it is untyped
    """A scenario in which nodes decide, each at its own instants, in the order of virtual time.

    The agent of node 3 is `node_3`. An agent's reward is what has been gained since its own last
    decision. All are truncated at the horizon.

    Parameters
    ----------
    source : Source
        Maker of the episodes.
    """

    metadata = {"name": "netsim", "render_modes": [], "is_parallelizable": False}

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._declared = source, source.decides
        self._episode: Episode | None = None
        self._seed = source.seed - 1
        self.possible_agents = [f"node_{i}" for i in self._declared.deciders]
        self._action_spaces = {a: spaces.of(self._declared.action) for a in self.possible_agents}
        self._observation_spaces = {
            a: spaces.of_each(self._declared.observation) for a in self.possible_agents
        }
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Space of what an agent is told; the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Space of an agent's actions; the same object at every call."""
        return self._action_spaces[agent]

    def observe(self, agent: str) -> dict[str, Any]:
        """Return the observation of an agent's last decision."""
        return self._observed[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode, and play to its first decision.

        Parameters
        ----------
        seed : int, optional
            The scenario's seed; None: that of the last episode and one more.
        options : dict, optional
            None is known.

        Raises
        ------
        NetsimError
            If the scenario can't be played, or nothing is decided before its end.
        """
        self.close()
        self._seed = self._seed + 1 if seed is None else seed
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        nothing = spaces.observed(self._declared.observation, None)
        self._observed = dict.fromkeys(self.agents, nothing)
        self._decided: dict[str, Totals] = {}
        self._episode = self._source.episode(self._seed)
        self._look(self._episode)

    def step(self, action: Any) -> None:
        """Take the decision of the agent whose turn it is, and play to the next one.

        Parameters
        ----------
        action : object
            Of its action space; None for an agent that is truncated.

        Raises
        ------
        ProtocolError
            If the action is not in the space; the episode has ended.
        """
        agent, episode = self.agent_selection, self._episode
        if self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert episode is not None
        self._cumulative_rewards[agent] = 0.0
        self._decided[agent] = episode.totals
        episode.answer(action)
        self._look(episode)
        self._accumulate_rewards()

    def _look(self, episode: Episode) -> None:
        """Turn to the agent that decides next; at the end of the run to each in turn."""
        self.rewards = dict.fromkeys(self.agents, 0.0)
        decision = episode.decision
        if decision is not None:
            turns = [f"node_{decision.node}"]
            told = spaces.observed(self._declared.observation, decision.observation)
            self._observed[turns[0]] = told
        else:
            turns = list(self.agents)
            self.truncations = dict.fromkeys(self.agents, True)
        for agent in turns:
            if agent in self._decided:
                self.rewards[agent] = self._source.gained(self._decided[agent], episode.totals)
            self.infos[agent] = {"seed": self._seed, **episode.totals._asdict()}
        self.agent_selection = turns[0]

    def close(self) -> None:
        """End the episode where it is."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None
