"""Lazy learning: Refs, jobs, backends, virtual compute time."""
