"""Episodes of an environment, one after the other: their seeds, and the one under way."""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Mapping
from math import isfinite
from typing import Any

from netsim.errors import RunWarning, ScenarioError
from netsim.gym.episode import Episode
from netsim.gym.source import Source
from netsim.node.decisions import Totals

NO_EPISODE = "no episode is under way; call reset first"


class Episodes:
    """The episodes of an environment, of one agent or of several.

    An episode ends with `close`, with the next one, or where nobody has these episodes any more.
    What is pickled is where they come from and the seed of the last one: a copy, in this process or
    another, begins with `begin`.

    Parameters
    ----------
    source : Source
        Maker of the episodes.
    """

    def __init__(self, source: Source) -> None:
        self.source, self._seed = source, source.seed - 1
        self._episode: Episode | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._warned: Episode | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_episode": None, "_end": None, "_warned": None}

    def begin(self, seed: int | None, options: Mapping[str, Any] | None) -> Episode:
        """Begin an episode, and play to its first decision.

        Parameters
        ----------
        seed : int or None
            The scenario's seed; None: that of the last episode and one more.
        options : mapping or None
            As `reset` takes them; none is known, which a warning says.

        Raises
        ------
        NetsimError
            If the seed is no whole number, the scenario can't be played, or nothing is decided
            before its end.
        """
        if options:
            warning = (
                f"reset: options = {options!r}: none is known and none is read; a scenario "
                'says what is played: netsim.load("quickstart", horizon_s=200.0)'
            )
            warnings.warn(warning, RunWarning, stacklevel=3)
        self.close()
        seed = self._seed + 1 if seed is None else as_int(seed)
        episode = self._episode = self.source.episode(seed)
        self._seed = seed
        self._end = weakref.finalize(self, episode.close)
        return episode

    @property
    def under_way(self) -> Episode:
        """The episode whose decision waits.

        Raises
        ------
        ScenarioError
            If there is none.
        """
        episode = self._episode
        if episode is None or episode.decision is None or not episode.is_here:
            raise ScenarioError(NO_EPISODE)
        return episode

    def reward(self, before: Totals, episode: Episode) -> float:
        """Reward for what has happened since; warn once an episode if it is no number."""
        reward = self.source.gained(before, episode.totals)
        if not isfinite(reward) and self._warned is not episode:
            self._warned = episode
            warning = (
                f"seed {self._seed}, {episode.totals.time_s:g} s: the reward is {reward}, since "
                "models have diverged; end the episode, and lower [training] learning_rate"
            )
            warnings.warn(warning, RunWarning, stacklevel=3)
        return reward

    def info(self, episode: Episode) -> dict[str, Any]:
        """The seed, the `Totals` by now, and at the end of a run what it warns of."""
        told = {"warnings": episode.warnings} if episode.warnings else {}
        return {"seed": self._seed, **episode.totals._asdict(), **told}

    def close(self) -> None:
        """End the episode where it is."""
        if self._end is not None:
            self._end()
        self._episode = self._end = self._warned = None


def as_int(seed: Any) -> int:
    """A seed of whatever type of whole numbers.

    Raises
    ------
    ScenarioError
        If it is none.
    """
    try:
        return operator.index(seed)
    except TypeError:
        raise ScenarioError(f"seed = {seed!r}: must be a whole number, such as 0") from None
