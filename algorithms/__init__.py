"""One learning method a file; netsim finds them by file name.

They import `netsim.api`, which has all that methods share, and each other. The one file that begins
with an underscore, `_encoder`, is the network that meta-L2C compares updates with.
"""
