"""Renderers of marks: for the terminal, with Matplotlib for screens and papers, for the page."""
