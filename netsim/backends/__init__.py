"""Execution of recorded jobs: one node at a time, or many nodes in one batched call."""
