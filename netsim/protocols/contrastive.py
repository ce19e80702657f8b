"""The three contrastive losses of MAPL, as its code has them.

Source: Mukherjee, Simonetto and Jamali-Rad, "MAPL: model agnostic peer-to-peer learning", 2024
(arXiv:2403.19792); code at github SayakMukherjee/MAPL. In L_supcon the log is of the sum over
positives (after Khosla et al., "Supervised contrastive learning", NeurIPS 2020, whose loss is the
mean of logs). The code divides by tau outside the exponential in L_proto, where it cancels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def supervised_contrastive_loss(z: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """L_supcon = -mean_a log(sum_{b != a, y_b = y_a} e^{s_ab} / sum_{b != a} e^{s_ab}).

    s_ab = z_a.z_b / tau.

    Parameters
    ----------
    z : torch.Tensor
        (2B, D) projections of both views; normalised here.
    labels : torch.Tensor
        (2B,)
    temperature : float

    Returns
    -------
    torch.Tensor
        Scalar.
    """
    z = F.normalize(z, dim=-1)
    similarity = z @ z.T / temperature
    self_pairs = torch.eye(len(z), dtype=torch.bool, device=z.device)
    positive = (labels[:, None] == labels) & ~self_pairs
    everyone = similarity.masked_fill(self_pairs, -torch.inf).logsumexp(dim=1)
    positives = similarity.masked_fill(~positive, -torch.inf).logsumexp(dim=1)
    return (everyone - positives).mean()


def prototype_loss(z: Tensor, labels: Tensor, prototypes: Tensor) -> Tensor:
    """L_proto = -mean_a log(e^{z_a.P_y} / sum_c e^{z_a.P_c}).

    Parameters
    ----------
    z : torch.Tensor
        (2B, D) projections; normalised here.
    labels : torch.Tensor
        (2B,)
    prototypes : torch.Tensor
        (C, D), as they are.

    Returns
    -------
    torch.Tensor
        Scalar.
    """
    return F.cross_entropy(F.normalize(z, dim=-1) @ prototypes.T, labels)


def uniformity_loss(prototypes: Tensor, temperature: float) -> Tensor:
    """L_unif = mean_c sum_{c' != c} e^{P_c.P_c'/tau}.

    The sum leaves the diagonal out before it takes exponentials: for prototypes of norm 3 at tau =
    0.1 a term of the diagonal is e^90, which float32 cannot hold.

    Parameters
    ----------
    prototypes : torch.Tensor
        (C, D), as they are.
    temperature : float

    Returns
    -------
    torch.Tensor
        Scalar.
    """
    similarity = prototypes @ prototypes.T / temperature
    self_pairs = torch.eye(len(prototypes), dtype=torch.bool, device=prototypes.device)
    return similarity.masked_fill(self_pairs, -torch.inf).exp().sum() / len(prototypes)
