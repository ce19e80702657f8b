"""The drawing of a mark in a panel, and the legend that all panels of a figure share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from matplotlib.axes import Axes

from netsim.views import Mark, Table

M = TypeVar("M", bound=Mark)


@dataclass(frozen=True)
class Legend:
    """Entries of a legend, in the order in which they are drawn.

    Attributes
    ----------
    places : mapping of str to int
        Numbers of curves, the same in every panel: by them each has its colour and line.
    entries : dict of str to artist
        By name.
    """

    places: Mapping[str, int]
    entries: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, artist: Any) -> None:
        """Add an entry, unless an earlier panel has."""
        self.entries.setdefault(name, artist)


class Drawer(ABC, Generic[M]):
    """Drawing of one sort of mark; each file of `marks` has one.

    Attributes
    ----------
    mark : type
        The class of `netsim.views` that it draws.
    size_in : tuple of float
        Width and height of a panel on a screen [in].
    """

    mark: ClassVar[type]
    size_in: ClassVar[tuple[float, float]]

    @abstractmethod
    def draw(self, mark: M, table: Table, on: Axes, legend: Legend) -> None:
        """Draw a mark.

        Parameters
        ----------
        mark : Mark
        table : Table
            Its numbers.
        on : matplotlib.axes.Axes
            Of its panel.
        legend : Legend
            To which names are added.
        """
