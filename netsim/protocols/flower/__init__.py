"""Flower apps over a simulated network: what the method `flower` is made of.

A Flower app is a `ServerApp` and a `ClientApp` of the library flwr (Beutel et al. 2020). It plays
as it is: the node of role `server` runs the one, every other node the other, and what the server
sends and gets through Flower's `Grid` crosses the scenario's links in virtual time.

flwr is imported where a run begins, never when this package is.
"""

from __future__ import annotations

from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.flower.processes import flower_processes

__all__ = ["FlowerParams", "flower_processes"]
