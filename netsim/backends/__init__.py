"""How recorded jobs run: one node at a time, or many nodes in one batched call."""
