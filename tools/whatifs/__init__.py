"""Plays the what-ifs and writes their page."""
