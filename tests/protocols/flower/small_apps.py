"""Small Flower apps, and a network of three clients and a server on which they play."""

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp, strategy

from netsim import engine, world
from netsim.protocols.flower import apps
from netsim.recording.observers import Observers
from netsim.scenario import from_dict

CLIENTS, STEP_S = 3, 0.5


def played(server, client, *, params=None, **tables):
    """The summary, and the messages that have ended."""
    messages = []
    observers = Observers(on_message=messages.append)
    scenario = from_dict(
        {
            "horizon_s": 1000.0,
            "nodes": {"count": CLIENTS + 1, "groups": [{"name": "c", "count": CLIENTS}, SERVER]},
            "topology": {"kind": "hub"},
            "exchange": {"schedule": "periodic", "period_s": 500.0},
            "compute": {"kind": "fixed", "step_s": STEP_S},
            "metrics": {"every_s": 1000.0},
            "algorithm": {"kind": "flower", "batch_size": 10, **(params or {})},
        }
        | tables
    )
    built = world.build(scenario)
    with apps.given_app(server, client):
        found = engine.play(built, scenario.algorithm[0], observers=observers)
    return found, messages


SERVER = {"name": "s", "count": 1, "role": "server"}


def recorded(found, name):
    """The last number that was recorded, over nodes."""
    return found["recorded"][f"flower_{name}"]["mean"]


def quadratic_client(examples=lambda partition: 20):
    """A client that goes half the way to its own number."""
    app = ClientApp()

    @app.train()
    def on_train(message, context):
        partition = int(context.node_config["partition-id"])
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        metrics = MetricRecord({"loss": float(abs(w[0])), "num-examples": examples(partition)})
        arrays = ArrayRecord([(w + 10.0 * partition) / 2])
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def on_evaluate(message, context):
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        metrics = MetricRecord({"loss": float(w[0]), "num-examples": 10})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


def strategic_server(kind=strategy.FedAvg, rounds=2, timeout=3600.0, seen=None, **keys):
    app = ServerApp()

    @app.main()
    def main(grid, context):
        chosen = kind(min_available_nodes=CLIENTS, **keys)
        arrays = ArrayRecord([np.zeros(4, np.float64)])
        result = chosen.start(grid, arrays, num_rounds=rounds, timeout=timeout)
        if seen is not None:
            seen.append(result)

    return app


def asking_server(talk):
    """A ServerApp that does nothing but `talk(grid)`."""
    app = ServerApp()

    @app.main()
    def main(grid, context):
        talk(grid)

    return app


def instruction(node, kind="train", **keys):
    arrays = ArrayRecord([np.zeros(4, np.float64)])
    return Message(RecordDict({"arrays": arrays}), node, kind, **keys)
