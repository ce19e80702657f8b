"""The stacked backend: many nodes' models run side by side, as the lanes of one call."""
