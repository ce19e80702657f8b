"""DivShare: fragments of the model to random peers; what is still unsent gives way to newer ones.

Source: Biswas, Kermarrec, Marouani, Pires, Sharma and de Vos, "Boosting Asynchronous Decentralized
Learning with Model Fragmentation", WWW 2025, arXiv:2410.12918, Algorithms 1 to 3. In a round a node

1. averages, parameter by parameter, its own model and the fragments that have come since its last
   round: x(k) <- (x(k) + sum of those received of k) / (1 + how many of k came),
2. takes H local steps,
3. clears its sending queue, cuts the model into 1 / Omega fragments, and for each draws J nodes to
   which it is queued; the queue is sent in a random order while the next round goes on.

Symbols: Omega is `fraction`, J `receivers`, H `local_steps` or `local_epochs`.
Readings: a fragment is every (1 / Omega)-th parameter, so that each has some of all layers; of two
of the same number and sender the later one counts. Receivers are drawn among the peers. Step 1
follows steps 2 and 3 of the same wake-up; under `rounds` the fragments of a round are averaged in
it. What is cleared is what has not begun to be sent (`node.withdraw`). Running statistics stay with
the node.
Departures: none known.

Personalizes: nothing: all models agree in the end.
Shares: fragments of the model.
Sends: `b * fragment + 32` per message, each fragment to J neighbours at random.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: a node averages a fragment when it comes, unless it is older than `max_age_s`;
entries that no peer has sent keep the node's own values.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from netsim import api
from netsim.api import Message, Node, Process, Received, Ref


class Params(api.PlainTraining, api.StalenessParams):
    """Omega, J, local training, and what is too old.

    Attributes
    ----------
    fraction
        Omega, size of a fragment as a share of the model; fragments are as equal as may be. Source:
        Biswas et al. 2024; 0.1 there.
    receivers
        J, number of receivers of each fragment. Absent: the logarithm of the number of nodes to the
        base 2, rounded up.
    max_age_s
        Greatest age of a message that counts. Absent: three mean intervals of the schedule; under
        `rounds` any counts.
    """

    fraction: api.Fraction = 0.1
    receivers: api.Count | None = None
    max_age_s: api.Positive | None = None

    @api.model_validator(mode="after")
    def _is_some(self) -> "Params":
        if not self.fraction:
            raise ValueError("fraction = 0 leaves nothing to send; it is at most 1, and above 0")
        return self

    def fragments(self, size: int) -> int:
        """Number of fragments that so many parameters are cut into."""
        return max(1, min(size, round(1.0 / self.fraction)))


@dataclass(frozen=True)
class Fragment(Message):
    """Fragment f of x_j: the parameters f, f + n, f + 2 n, ..."""

    number: int
    values: Ref


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """All that a node does."""
    return [on_round(node, params, api.Arrivals(node, Fragment, node.max_age_s))]


def on_round(node: Node, params: Params, arrivals: api.Arrivals) -> Process:
    """Algorithms 1 to 3 for one node."""
    theta = node.initial()
    size = theta.part("parameters").num_values
    n = params.fragments(size)
    j = params.receivers or max(1, (node.num_nodes - 1).bit_length())
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, **params.how())).theta
        node.publish(theta, "trained")
        x = theta.part("parameters")
        node.withdraw(Fragment)
        came: list[Received[Fragment]] = []
        for phase, number in enumerate(node.permutation("order", range(n))):
            like = (len(range(number, size, n)),)
            fragment = Fragment(number, node.compute(fragment_of, x, number, n, like=like))
            to = node.permutation("receivers", node.peers)[:j]
            came += yield from arrivals.exchange(dict.fromkeys(to, fragment), phase)
        latest = {(one.sender, one.msg.number): one.msg.values for one in sorted(came, key=sent_s)}
        left = api.staleness_factors(node, params, list(latest.values()), own=None)
        received = tuple(
            (number, values, s)
            for (_, number), values, s in zip(latest, latest.values(), left, strict=True)
        )
        x = node.compute(averaged, x, received, n, like=x)
        log_shares(node, list(latest), left, n)
        theta = theta.with_part("parameters", x)
        node.publish(theta, "mixed")


def sent_s(received: Received[Fragment]) -> float:
    """Time at which a fragment was sent."""
    return received.sent_s


def log_shares(
    node: Node, received: list[tuple[int, int]], left: tuple[float, ...], n: int
) -> None:
    """Log each sender's share of the parameters: of a fragment that c have sent, 1 / (1 + c)."""
    count = [1] * n
    for _, number in received:
        count[number] += 1
    shares = {node.id: 1.0}
    for (sender, number), s in zip(received, left, strict=True):
        share = s / (n * count[number])
        shares[sender] = shares.get(sender, 0.0) + share
        shares[node.id] -= share
    node.log_weights(list(shares), list(shares.values()))


def fragment_of(x: Tensor, number: int, n: int) -> Tensor:
    """The parameters number, number + n, ..."""
    return x[number::n].clone()


def averaged(x: Tensor, received: tuple[tuple[int, Tensor, float], ...], n: int) -> Tensor:
    """x(k) plus all that was received of k, over how many that are.

    What is left of a fragment's weight by its age is s; the rest of it is the own one's.
    """
    change, count = torch.zeros_like(x), torch.ones_like(x)
    for number, values, s in received:
        change[number::n] += s * (values - x[number::n])
        count[number::n] += 1
    return x + change / count
