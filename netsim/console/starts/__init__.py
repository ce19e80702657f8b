"""First files of `netsim new`: one working file for each family of components.

`starting` and `Starting` in a file become the name that was asked for.
"""
