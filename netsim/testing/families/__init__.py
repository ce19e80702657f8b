"""Promises of each family of components: one file a family, with a function `check`.

A file is named as the family's package: `channels_fading.py` is for `netsim.channels.fading`.
"""
