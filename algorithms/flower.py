"""Flower: an unchanged Flower app, over this network and in virtual time.

Source: Beutel et al. 2020, Flower, arXiv:2007.14390; the library flwr 1.42.

The server runs the app's ServerApp with any Strategy, the other nodes its ClientApp. Time passes
where messages cross links, where clients compute, and where the app sleeps.

Personalizes: what the app does.
Shares: what the app sends.
Sends: Flower's messages in their own encoding.
Needs: one server; flwr (`pip install 'netsim-dfl[flower]'`); no data and no model, which the app
brings (models may differ).
Cost a round: as many steps as the replies say.
Late or absent peers: they are missing among the replies after the strategy's timeout.
"""

from netsim import api
from netsim.api import Node, Process


class Params(api.FlowerParams):
    """A Flower app, and its time and bits."""


@api.algorithm(learns=False, wakes=False, needs_values=True)
def processes(node: Node, params: Params) -> list[Process]:
    """A ServerApp or a ClientApp."""
    return api.flower_processes(node, params)
