"""Partitions of a data set over nodes; one a file, its name is its `kind` in a scenario."""
