"""Accounts of the air: time on the air, bits and energy of each node."""
