"""Data sets; one a file, its name is its `kind` in a scenario."""
