"""Figures of runs and sweeps: one module a view, for run folders, notebooks and papers alike.

Every view gives a `numbers.Drawn`: the figure, and what is drawn as rows of a table.
"""
