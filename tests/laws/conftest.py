"""Radios in the air and wires without a scenario, and all kinds of medium access."""

from tests.links.radio.conftest import ether
from tests.links.wired.conftest import wires

__all__ = ["ether", "wires"]
