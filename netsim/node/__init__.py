"""A node as its algorithm sees it."""
