"""What the first attempts of a segment brought, given what all of them did."""

import numpy as np

_EXACT = 10**9
"""NumPy draws hypergeometric numbers from populations up to this size."""


def among_first(rng: np.random.Generator, used: int, attempts: int, marked: int) -> int:
    """How many of the `marked` among so many attempts are among the first `used`.

    Every order is equally likely, so it is hypergeometric. Of more than 1e9 attempts it is drawn
    as binomial, which errs by less than `marked` / 1e9.
    """
    if used >= attempts or marked == 0:
        return marked
    if marked == attempts:
        return used
    if attempts < _EXACT:
        return int(rng.hypergeometric(marked, attempts - marked, used))
    return int(rng.binomial(marked, used / attempts))
