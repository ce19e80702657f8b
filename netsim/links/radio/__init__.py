"""Wireless links: one half-duplex radio a node, fading channels, interference, retransmissions."""
