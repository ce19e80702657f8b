"""Measured networks: graphs, contacts, bandwidth and latency from files."""
