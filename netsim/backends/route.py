"""How the jobs of one model run: many nodes in one call, or one node after another."""

from typing import Literal

from netsim.registry import Count, Table

Way = Literal["stacked", "sequential"]


class Route(Table):
    """One model's route.

    Parameters
    ----------
    train : {"stacked", "sequential"}
        Local steps with the default loss.
    loss : {"stacked", "sequential"}
        Local steps with a loss of the algorithm's, and whatever is learned beside the model.
    look : {"stacked", "sequential"}
        Outputs, losses, gradients, measurements, selections.
    lanes : int or None
        Nodes that train in one call at most; None: what fits the caches or the GPU.
    """

    train: Way = "stacked"
    loss: Way = "stacked"
    look: Way = "stacked"
    lanes: Count | None = None
