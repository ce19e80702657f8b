"""Data sets and how nodes share them."""
