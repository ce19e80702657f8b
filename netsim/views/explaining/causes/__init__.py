"""Causes that can limit a run; one cause a file, found by its name.

A file states in its docstring what it measures, and `find(run)`, which returns findings: none where
the cause is not there.
"""
