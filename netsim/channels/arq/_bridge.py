"""Sample the spread of successes over the attempts of a block, given their number."""

import numpy as np

_EXACT = 10**9
"""NumPy draws hypergeometric numbers from populations up to this size."""


def among_first(rng: np.random.Generator, used: int, attempts: int, marked: int) -> int:
    """Sample how many of some marked attempts are among the first ones.

    Every order is equally likely, so it is hypergeometric. Of more than 1e9 attempts it is drawn
    as binomial, which errs by less than `marked` / 1e9.

    Parameters
    ----------
    rng : numpy.random.Generator
    used : int
        How many are the first ones.
    attempts : int
        How many there are.
    marked : int
        How many of them are marked, such as successful.

    Returns
    -------
    int
        In [0, min(used, marked)].
    """
    if used >= attempts or marked == 0:
        return marked
    if marked == attempts:
        return used
    if attempts < _EXACT:
        return int(rng.hypergeometric(marked, attempts - marked, used))
    return int(rng.binomial(marked, used / attempts))
