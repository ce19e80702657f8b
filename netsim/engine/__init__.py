"""Playing: one run of an algorithm on a world, or the runs of a scenario one after the other."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netsim.engine.playing import play
    from netsim.engine.progress import Progress
    from netsim.engine.simulation import Simulation

__all__ = ["Progress", "Simulation", "play"]


def __getattr__(name: str) -> Any:
    # Imported on first use: `netsim list` and the like come by here and need no torch.
    if name in __all__:
        from netsim.engine import playing, progress, simulation

        return getattr({"play": playing, "Progress": progress}.get(name, simulation), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
