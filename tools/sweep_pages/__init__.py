"""Plays sweeps that pages tell of, and writes these pages."""
