"""Lazy learning: Refs, jobs, backends, virtual compute time."""

from netsim.learning.simplex import project_to_simplex

__all__ = ["project_to_simplex"]
