"""When nodes wake; one schedule a file, its name is its `schedule` in a scenario."""
