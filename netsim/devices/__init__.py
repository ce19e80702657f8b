"""What a node runs on: when it is on, how fast it computes, what energy it draws."""
