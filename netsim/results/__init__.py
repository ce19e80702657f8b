"""Summaries, comparisons, tables and figures of recorded runs."""
