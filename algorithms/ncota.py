"""NCOTA-DGD: decentralized gradient descent whose consensus step is made by the air.

Source: Michelusi, "Decentralized Federated Learning via Non-Coherent Over-the-Air Consensus", IEEE
ICC 2023 (arXiv:2210.15806), and "Non-Coherent Over-the-Air Decentralized Gradient Descent", IEEE
Trans. Signal Process. 2024 (arXiv:2211.10777), by their abstracts alone: energies over a codebook,
half-duplex frames without coordination, average channel gains as mixing weights, decreasing steps.

The formulas below follow from the abstracts; the choices marked * are assumptions.

Symbols: w_i a node's model (`w`), D its parameters, r the radius of the ball W that holds all
models (`params.radius`), z_m a codeword, p_im its share of the energy, S_ij mean SNRs, S_ref the
one that counts as 1 (`params.reference_snr_db`), l_ij = S_ij / S_ref. In round k

    1. transmit with probability q (`params.transmit`), else listen: all at the same time
    2. encode: w_i = sum over m of p_im z_m, p_im >= 0, sum p_im = 1; codewords +-sqrt(D) r e_d *
    3. receive r_im, of mean sum over senders j of l_ij p_jm  (`node.superposed`; the noise is out)
    4. consensus: d_i = sum over m of r_im (z_m - w_i), so that E d_i = sum of l_ij (w_j - w_i)
    5. w_i <- projection onto W of w_i + gamma_k d_i - (what local training takes off)

with gamma_k = gamma_0 (1 + delta k)^(-3/4) *. Over the coins, E d_i = q (1 - q) sum of l_ij (w_j -
w_i): nobody needs to know the weights, who sends, or a channel. Of one symbol the received energy
varies as its square, (1 + a)^2 with a = M sum of S_ij p_jm under Rayleigh fading, less the sum of
the squares of the senders' without fading.

Readings: W, whose 1-norms are at most sqrt(D) r, lies in the hull of codewords along the axes; what
|w|_1 leaves of the energy is shared out evenly. For D parameters M = 2 D symbols are sent, with the
full transmit power on average. A phase is drawn anew for each symbol.

Departures: a gradient step is local training as in all methods here, at the learning rate of the
scenario; where that is constant the error does not vanish. A frame in which nobody sends is not
heard: its listeners would hear noise, of mean 0. Running statistics (BatchNorm) stay with their
node. Over wires the shares come as numbers, and l_ij = 1.

Personalizes: nothing: one model for all.
Shares: the model's parameters.
Sends: `2 * b * P + 2 * b` per neighbour. Over a radio it sends 2 P symbols to all listeners, and no
bits.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: a node that is not on the air within `wait_s` of the first sends in a later
frame, which does not count; no node waits for it.
"""

import torch
from torch import Tensor

from netsim import api
from netsim.api import Energies, Finite, Fraction, Node, NonNegative, Positive, Process


class Params(api.PlainTraining):
    """Coins, the codebook's size and the steps of consensus.

    Attributes
    ----------
    transmit
        q, probability that a node transmits in a round, and does not listen.
    radius
        r, largest 2-norm of a model.
    reference_snr_db
        Mean SNR of a link whose weight is 1.
    consensus
        gamma_0, first step of consensus; its product with the sum of a node's weights is at most 1.
    decay
        delta, rate at which steps shrink: gamma_k = gamma_0 (1 + delta k)^(-3/4).
    wait_s
        Time for which a frame waits for those who send in it, from the first on.
    """

    transmit: Fraction = 0.5
    radius: Positive = 10.0
    reference_snr_db: Finite = 20.0
    consensus: Positive = 0.1
    decay: NonNegative = 0.05
    wait_s: NonNegative = 1e-3


@api.algorithm(schedules=("rounds",), knows_servers=False, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """A node's rounds, and what comes too late for one."""
    return [rounds(node, params), api.drop_late(node, Energies)]


def rounds(node: Node, params: Params) -> Process:
    """Process: a frame, local training, the step of both."""
    w, k = node.initial(), 0
    reference_snr = 10.0 ** (params.reference_snr_db / 10.0)
    while True:
        yield node.wakeup()
        (coin,) = node.uniform("transmit", 1)
        received = {}
        if coin < params.transmit:
            row = node.compute(shares, w.part("parameters"), params.radius)
            yield node.exchange(Energies(row, reference_snr, params.wait_s), expect=())
        else:
            received = yield node.exchange({}, expect=node.neighbours, kind=Energies)
        trained = (yield node.train(w, **params.how())).theta
        node.publish(trained, "trained")
        gamma = params.consensus * (1.0 + params.decay * k) ** -0.75
        energy = (node.superposed(received)[0],) if received else ()
        mine, own = w.part("parameters"), trained.part("parameters")
        mixed = node.compute(step, mine, own, energy, gamma, params.radius, like=mine)
        w, k = trained.with_part("parameters", mixed), k + 1
        node.publish(w, "mixed")


def shares(w: Tensor, radius: float) -> Tensor:
    """Shares of the energy, p: those of +e_1, ..., +e_D, then those of -e_1, ..., -e_D.

    Parameters
    ----------
    w : (D,) tensor
        Of 2-norm up to `radius`; a longer one is taken as if it were scaled to it.
    radius : float

    Returns
    -------
    (2 D,) tensor
    """
    inside, size = in_ball(w, radius), w.numel()
    scaled = inside / (size**0.5 * radius)
    both = torch.cat([scaled.clamp_min(0.0), (-scaled).clamp_min(0.0)])
    found: Tensor = both + (1.0 - scaled.abs().sum()) / (2 * size)
    return found


def consensus(w: Tensor, energy: Tensor, radius: float) -> Tensor:
    """The direction of consensus, the sum of r_m (z_m - w).

    Parameters
    ----------
    w : (D,) tensor
    energy : (2 D,) tensor
        r, as it was received.
    radius : float
    """
    size = w.numel()
    towards: Tensor = size**0.5 * radius * (energy[:size] - energy[size:])
    return towards - energy.sum() * w


def step(
    w: Tensor, trained: Tensor, energy: tuple[Tensor, ...], gamma: float, radius: float
) -> Tensor:
    """The next model: what training made, moved towards the neighbours, within the ball.

    Parameters
    ----------
    w, trained : (D,) tensor
        Before and after local training.
    energy : tuple of (2 D,) tensor
        What was received, or nothing.
    gamma : float
        Step of consensus.
    radius : float
    """
    found = trained
    if energy:
        found = found + gamma * consensus(w, energy[0], radius)
    return in_ball(found, radius)


def in_ball(w: Tensor, radius: float) -> Tensor:
    """The nearest vector of 2-norm up to `radius`."""
    inside: Tensor = w * (radius / w.norm().clamp_min(1e-30)).clamp_max(1.0)
    return inside
