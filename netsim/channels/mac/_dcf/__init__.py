"""The DCF of IEEE 802.11 in the mean: one fixed point for all senders that are active together."""
