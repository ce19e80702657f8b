"""Radios in the air without a scenario, and all kinds of medium access."""

from tests.links.radio.conftest import ether

__all__ = ["ether"]
