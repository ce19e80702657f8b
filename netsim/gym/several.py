"""A PettingZoo environment over a scenario, for methods in which several nodes decide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
from pettingzoo import AECEnv

from netsim.errors import ScenarioError
from netsim.gym import spaces
from netsim.gym.episode import Episode
from netsim.gym.episodes import NO_EPISODE, Episodes
from netsim.gym.source import Source
from netsim.node.decisions import Totals
from netsim.python_api.scenario import Scenario


def aec(
    scenario: Scenario | str | Path,
    algorithm: str | None = None,
    *,
    reward: Mapping[str, float] | None = None,
    record: str | Path | None = None,
    timing_only: bool = False,
) -> SeveralAgents:
    """Make a PettingZoo environment of a scenario: each node that decides is an agent.

    Parameters
    ----------
    scenario, algorithm, reward, record, timing_only
        As of `make`.

    Returns
    -------
    SeveralAgents

    Raises
    ------
    ScenarioError
        If no method of the scenario leaves decisions.
    """
    return SeveralAgents(Source(scenario, algorithm, reward, record, timing_only))


class SeveralAgents(AECEnv[str, dict[str, Any], Any]):  # type: ignore[misc] # it is untyped
    """A scenario in which nodes decide, each at its own instants, in the order of virtual time.

    The agent of node 3 is `node_3`. An agent's reward is what has been gained since its own last
    decision. All are terminated where the method has come to its end, and truncated at the horizon.

    Parameters
    ----------
    source : Source
        Maker of the episodes.
    """

    metadata = {"name": "netsim", "render_modes": [], "is_parallelizable": False}

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._declared = source, source.decides
        self._episodes = Episodes(source)
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
            None is known: a warning names those that are given.

        Raises
        ------
        NetsimError
            If the scenario can't be played, or nothing is decided before its end.
        """
        episode = self._episodes.begin(seed, options)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        nothing = spaces.observed(self._declared.observation, None)
        self._observed = dict.fromkeys(self.agents, nothing)
        self._decided: dict[str, Totals] = {}
        self._turn_to_next_agent(episode)

    def step(self, action: Any) -> None:
        """Take the decision of the agent whose turn it is, and play to the next one.

        Parameters
        ----------
        action : object
            Of its action space; None for an agent that is truncated.

        Raises
        ------
        ScenarioError
            If no episode is under way.
        ProtocolError
            If the action is not in the space; the decision still waits for one.
        """
        if not self.agents:
            raise ScenarioError(NO_EPISODE)
        agent = self.agent_selection
        if self.truncations[agent] or self.terminations[agent]:
            self._was_dead_step(action)
            return
        episode = self._episodes.under_way
        before = episode.totals
        episode.answer(action)
        self._cumulative_rewards[agent] = 0.0
        self._decided[agent] = before
        self._turn_to_next_agent(episode)
        self._accumulate_rewards()

    def _turn_to_next_agent(self, episode: Episode) -> None:
        """Turn to the agent that decides next; at the end of the run to each in turn."""
        self.rewards = dict.fromkeys(self.agents, 0.0)
        decision = episode.decision
        if decision is not None:
            turns = [f"node_{decision.node}"]
            observed = spaces.observed(self._declared.observation, decision.observation)
            self._observed[turns[0]] = observed
        else:
            turns = list(self.agents)
            self.terminations = dict.fromkeys(self.agents, episode.finished)
            self.truncations = dict.fromkeys(self.agents, not episode.finished)
        for agent in turns:
            if agent in self._decided:
                self.rewards[agent] = self._episodes.reward(self._decided[agent], episode)
            self.infos[agent] = self._episodes.info(episode)
        self.agent_selection = turns[0]

    def close(self) -> None:
        """End the episode where it is."""
        self._episodes.close()
