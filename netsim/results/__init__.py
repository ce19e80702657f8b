"""Reads what runs recorded: summaries, comparisons, tables and figures."""
