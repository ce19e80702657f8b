"""What a run writes down while it goes on: the event log, its tables and its totals."""
