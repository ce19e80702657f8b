"""Euclidean projection onto the simplex."""

import torch
from torch import Tensor


def project_to_simplex(v: Tensor, total: float | Tensor = 1.0) -> Tensor:
    """Nearest point with entries >= 0 that sum to `total`, row by row.

    Sorting algorithm of Held, Wolfe and Crowder (1974), as in Duchi et al. (ICML 2008), Fig. 1.

    Parameters
    ----------
    v : torch.Tensor
        (..., N)
    total : float or torch.Tensor
        Sum of each row.

    Returns
    -------
    torch.Tensor
        (..., N)
    """
    v = v - v.amax(dim=-1, keepdim=True)  # the projection is the same; large entries round less
    ordered = v.sort(dim=-1, descending=True).values
    excess = ordered.cumsum(dim=-1) - total
    rank = torch.arange(1, v.shape[-1] + 1, device=v.device, dtype=v.dtype)
    support = (ordered - excess / rank > 0).sum(dim=-1, keepdim=True).clamp(min=1)  # 0 if nan
    shift = excess.gather(-1, support - 1) / support
    return (v - shift).clamp(min=0)
