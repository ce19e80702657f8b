"""How recorded jobs are executed: one node at a time, or many nodes in one batched call."""
