"""Learning as recorded work: handles to values not yet computed, jobs, samples, optimisers."""

from netsim.learning.simplex import project_to_simplex

__all__ = ["project_to_simplex"]
