"""FedSim: the classifier is averaged, the rest of each model stays with its node.

Source: Pillutla, Malik, Mohamed, Rabbat, Sanjabi and Xiao, "Federated learning with partial model
personalization", ICML 2022, Algorithm 2 (FedSim: both parts are trained at the same time), with the
head as the shared part, as a baseline of Mukherjee, Simonetto and Jamali-Rad 2024 (MAPL).

Heads must be alike, backbones need not. The model after averaging is published as `mixed`, the one
before as `trained`.
Departures: none known; the mean is plain as in MAPL, `weights = "sizes"` is FedAvg's.

Personalizes: the base.
Shares: the head.
Sends: `b * head + 32` per neighbour; with a server `b * head + 32` up, `b * head` down.
Needs: equal heads (bases may differ); a model of base and head.
Cost a round: `S` steps, a mean of heads.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Literal

from netsim.api import AveragedPart, Node, Process, RoundParams, algorithm, round_processes


class Params(RoundParams):
    """A plain mean, unless sizes are to count.

    Attributes
    ----------
    weights
        Weight of a node in the mean of heads: the same for all, or its number of training samples
        ("sizes").
    """

    weights: Literal["sizes", "equal"] = "equal"


@algorithm(common_parts=("head",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which heads are averaged."""
    return round_processes(node, params, AveragedPart(node, params, "head"))
