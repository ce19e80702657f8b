"""What was recorded: event log, metrics, tables and figures."""
