"""Figures with Matplotlib, for run folders, notebooks and papers alike."""
