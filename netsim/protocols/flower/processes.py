"""The processes of a node that plays its part of a Flower app."""

from __future__ import annotations

from importlib import metadata

from netsim.errors import UnsuitableError
from netsim.node.node import Node, Process
from netsim.protocols.flower.apps import FlowerApp, count_of, found_app
from netsim.protocols.flower.params import FlowerParams
from netsim.protocols.rounds import require_one_server

TESTED = (1, 42)
"""The release of flwr whose inner parts this is written for."""


def flower_processes(node: Node, params: FlowerParams) -> list[Process]:
    """A ServerApp at the server, a ClientApp at every other node.

    Parameters
    ----------
    node : Node
    params : FlowerParams

    Returns
    -------
    list of generator

    Raises
    ------
    UnsuitableError
        If flwr is not installed in a version that is known, the app is not, or there is not one
        server.
    """
    _require_flwr()
    app = found_app(params)
    _require_counts(params, app)
    require_one_server(node)
    if node.role != "server" and not (node.servers or node.far_servers):
        raise UnsuitableError(
            "[nodes] groups: a Flower app has a ServerApp; give one node the role server, "
            'such as [[nodes.groups]] name = "server", count = 1, role = "server"'
        )
    from netsim.protocols.flower import client, server  # here: they bring flwr

    if node.role == "server":
        return server.processes(node, params, app)
    return client.processes(node, params, app) if node.servers else []


def _require_flwr() -> None:
    remedy = "pip install 'netsim-dfl[flower]'"
    try:
        version = metadata.version("flwr")
    except metadata.PackageNotFoundError:
        raise UnsuitableError(
            f'[algorithm] kind = "flower" needs Flower (flwr), which is not installed: {remedy}'
        ) from None
    if tuple(version.split(".")[:2]) != tuple(map(str, TESTED)):
        raise UnsuitableError(
            f'[algorithm] kind = "flower": flwr {version} is installed, and flwr '
            f"{'.'.join(map(str, TESTED))} is the release that it was tested with: {remedy}"
        )


def _require_counts(params: FlowerParams, app: FlowerApp) -> None:
    for key in ("batch_size", "epochs"):
        count_of(params, app, key)
    for key in ("train_steps", "evaluate_steps"):
        count_of(params, app, key, least=0)
