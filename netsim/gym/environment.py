"""A Gymnasium environment over a scenario, for methods in which one node decides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from netsim.errors import ScenarioError
from netsim.gym import spaces
from netsim.gym.episode import Episode
from netsim.gym.episodes import Episodes, as_int
from netsim.gym.source import Source
from netsim.python_api.scenario import Scenario


def make(
    scenario: Scenario | str | Path,
    algorithm: str | None = None,
    *,
    reward: Mapping[str, float] | None = None,
    record: str | Path | None = None,
    timing_only: bool = False,
) -> Environment:
    """Make a Gymnasium environment of a scenario whose method leaves its decisions to one agent.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a file, or the name of a shipped one.
    algorithm : str, optional
        Name of the method, where several of the scenario leave decisions; the first by default.
    reward : mapping of str to float, optional
        Weight of the growth of each of `time_s`, `energy_j`, `megabytes`, `score` and `fairness`
        (`netsim.node.decisions.Totals`) from one decision to the next; the method's by default.
    record : str or Path, optional
        Folder into which each episode is written as a run; by default nothing is written.
    timing_only : bool
        Play without tensor work, where the reward is of time, energy and data alone.

    Returns
    -------
    Environment

    Raises
    ------
    ScenarioError
        If no method of the scenario leaves decisions, or several nodes decide.

    Examples
    --------
    >>> env = netsim.gym.make("small_client_selection", reward={"time_s": -1.0})
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """
    return Environment(Source(scenario, algorithm, reward, record, timing_only))


class Environment(gymnasium.Env[dict[str, Any], Any]):
    """A scenario that plays from one decision of its method to the next.

    An episode is one run. It is terminated where the method has come to its end, so that nobody
    asks any more, and truncated at the scenario's horizon; the observation is then that of the last
    decision. `reset(seed=s)` plays seed s; `reset()` the next one. `info` has the `Totals` by this
    instant, and at the horizon the `warnings` of the run, if there are any. An environment can be
    pickled; the copy begins with `reset`.

    Parameters
    ----------
    source : Source
        Maker of the episodes.

    Attributes
    ----------
    observation_space : gymnasium.spaces.Dict
    action_space : gymnasium.Space
    """

    metadata = {"render_modes": []}

    def __init__(self, source: Source) -> None:
        self._source, self._episodes = source, Episodes(source)
        declared = source.decides
        if len(declared.deciders) != 1:
            raise ScenarioError(
                f"{len(declared.deciders)} nodes decide in this scenario; a Gymnasium environment "
                "has one agent: take netsim.gym.aec"
            )
        self.observation_space = spaces.of_each(declared.observation)
        self.action_space = spaces.of(declared.action)
        self._observed = spaces.observed(declared.observation, None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode, and play to its first decision.

        Parameters
        ----------
        seed : int, optional
            The scenario's seed; None: that of the last episode and one more.
        options : dict, optional
            None is known: a warning names those that are given.

        Returns
        -------
        (observation, info)

        Raises
        ------
        NetsimError
            If the scenario can't be played, or nothing is decided before its end.
        """
        super().reset(seed=None if seed is None else as_int(seed))
        episode = self._episodes.begin(seed, options)
        self._observe_agent(episode)
        return self._observed, self._episodes.info(episode)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take a decision, and play to the next one or to the horizon.

        Parameters
        ----------
        action : object
            Of `action_space`.

        Returns
        -------
        (observation, reward, terminated, truncated, info)

        Raises
        ------
        ScenarioError
            If no episode is under way.
        ProtocolError
            If the action is not in the space; the decision still waits for one.
        """
        episode = self._episodes.under_way
        before = episode.totals
        episode.answer(action)
        self._observe_agent(episode)
        reward = self._episodes.reward(before, episode)
        over, finished = episode.decision is None, episode.finished
        return self._observed, reward, finished, over and not finished, self._episodes.info(episode)

    def _observe_agent(self, episode: Episode) -> None:
        if episode.decision is not None:
            declared = self._source.decides.observation
            self._observed = spaces.observed(declared, episode.decision.observation)

    def policy_action(self) -> Any:
        """The action that the method's own policy takes now, as a rule beside an agent.

        Returns
        -------
        object
            Of `action_space`.

        Raises
        ------
        ScenarioError
            If no episode is under way.
        UnsuitableError
            If the policy does not know such actions.
        """
        decision = self._episodes.under_way.decision
        assert decision is not None
        return np.asarray(self._source.decides.policy(decision), dtype=self.action_space.dtype)

    def close(self) -> None:
        """End the episode where it is."""
        self._episodes.close()
