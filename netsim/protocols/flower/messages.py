"""Flower's messages as this network carries them."""

from __future__ import annotations

from dataclasses import dataclass

from netsim.messaging.message import Message, Opaque

FIRST_ID = 1000
"""Flower's id of node 0: its ids 0 and 1 are taken."""


@dataclass(frozen=True)
class Instruction(Message):
    """A message of the ServerApp to a ClientApp."""

    content: Opaque


@dataclass(frozen=True)
class Reply(Message):
    """A ClientApp's answer."""

    content: Opaque
