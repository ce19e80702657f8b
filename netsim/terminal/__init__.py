"""Terminals: consoles, the progress of what is played, and words about it."""
