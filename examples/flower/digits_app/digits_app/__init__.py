"""A Flower app: handwritten digits, split by label among the clients."""
