"""What `netsim new` begins with: one file a sort of component, which works as it is.

`starting` and `Starting` in a file become the name that was asked for.
"""
