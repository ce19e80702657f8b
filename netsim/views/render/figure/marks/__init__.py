"""Marks drawn with Matplotlib: a `Drawer` in each file."""
