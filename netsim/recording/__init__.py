"""The record of a run, written while it goes on: the event log, its tables and its totals."""
