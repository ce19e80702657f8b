"""The world of a scenario: who the nodes are, where they stand, what they learn from."""

from netsim.world.builder import SERVER, World, build

__all__ = ["SERVER", "World", "build"]
