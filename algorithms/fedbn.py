"""FedBN: all is averaged but the normalisation layers, which stay with their nodes.

Source: Li, Jiang, Zhang, Kamp and Dou, "FedBN: Federated learning on non-IID features via local
batch normalization", ICLR 2021, Algorithm 1.

Symbols: w_k the parameters of node k, those of its batch normalisation layers apart.

A node trains its whole model from where it is; the parameters of layers that normalise (scale and
shift), like running statistics, are neither sent nor replaced. The model after averaging is
published as `mixed`, the one before as `trained`.
Departures: the part that stays is that of all layers that normalise, LayerNorm and GroupNorm
included; the paper has models with BatchNorm alone. A model without such layers makes it FedAvg.
The mean is by training samples; `weights = "equal"` is Algorithm 1's.

Personalizes: the normalisation layers.
Shares: all other parameters.
Sends: `b * (P - norm) + 32` per neighbour; with a server `b * (P - norm) + 32` up, `b * (P - norm)`
down.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from netsim.api import AveragedPart, Node, Process, RoundParams, algorithm, round_processes


class Params(RoundParams):
    """Rounds, as every method that averages has them."""


@algorithm(common_parts=("not normalisation",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which all but the normalisation layers is averaged."""
    return round_processes(node, params, AveragedPart(node, params, "not normalisation"))
