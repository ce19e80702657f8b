"""Radios by name; one preset a file, its name is its `kind`.

A preset is keys of `[radio]` with the values that a standard or a data sheet gives them. What the
scenario says of `[radio]` itself goes before it, key by key; a table of another kind than the
preset's replaces the preset's whole table. The scenario of a run's folder states all that came of
it.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from netsim.registry import TAGS, Component


class Preset(Component):
    """Values for keys of `[radio]`: base of the presets."""

    @abstractmethod
    def radio(self) -> dict[str, Any]:
        """The keys of `[radio]` that it sets, as a scenario states them."""


def merge_over_preset(given: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the keys of a scenario over those of a preset.

    Parameters
    ----------
    given : mapping
        The scenario's table.
    preset : mapping
        The preset's.

    Returns
    -------
    dict
        All keys of both; those of tables of one kind in turn.
    """
    merged = dict(preset) | dict(given)
    for key in given.keys() & preset.keys():
        one, other = given[key], preset[key]
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            alike = all(one.get(tag, other.get(tag)) == other.get(tag) for tag in TAGS)
            merged[key] = merge_over_preset(one, other) if alike else one
    return merged
