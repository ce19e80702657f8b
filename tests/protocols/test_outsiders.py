"""Methods that somebody else writes, in a folder of their own, from `netsim.api` alone."""

import inspect
import textwrap

import pandas as pd
import pytest

from netsim import api, engine, world
from netsim.scenario import from_dict

WORLD = {
    "horizon_s": 40.5,
    "nodes": {"count": 5},
    "link": {"latency_s": 0.05, "loss": 0.2},
    "data": {
        "kind": "digits",
        "validation": 0.3,
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 20},
    },
    "model": {"kind": "mlp", "hidden": [6]},
    "training": {"learning_rate": 0.1, "batch_size": 10},
    "metrics": {"every_s": 40.5},
}
ROUNDS = {"schedule": "rounds", "interval_s": 10.0}
STAR = {"schedule": "star", "slots_per_exchange": 4}
POISSON = {"schedule": "poisson", "rate_hz": 0.2}

HEADER = '''"""A method of the user's own."""
from netsim import api
from netsim.api import *

'''
PARAMS = """
class Params({bases}):
    pass
"""

ROUND_OF_ITS_OWN = """
@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def smoothed(model, batch, learned):
    return api.augmented_cross_entropy(model, batch, learned) / 2

class Mine(api.AveragedModel):
    def how(self):
        return {**super().how(), "loss": smoothed}

def processes(node, params):
    return api.round_processes(node, params, Mine(node, params))
"""

HEAD_ONLY = """
def processes(node, params):
    return api.round_processes(node, params, api.AveragedPart(node, params, "head"))
"""

DOWNLOADS = """
def processes(node, params):
    return [on_start(node, params)]

def on_start(node, params):
    downloads = api.Downloads(node, 2, params)
    theta = (yield node.train(node.initial(), epochs=1)).theta
    downloads.offer(theta)
    rest = sorted((yield from downloads.sizes(node.neighbours)))
    while rest:
        models, lost, rest = yield from downloads.batch(rest)
        thetas = [theta, *models.values()]
        theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
    node.publish(theta, "mixed")
"""


def example(thing):
    """The code of the `Examples` in a docstring."""
    lines = inspect.getdoc(thing).partition("Examples\n--------\n")[2].splitlines()
    return "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))


def whole_algorithm():
    """The algorithm in the docstring of `netsim.api`."""
    code = api.__doc__.partition("over lossy links:\n\n")[2]
    return textwrap.dedent(code)


TRAINS = """
        node.publish((yield node.train(theta, steps=1)).theta, "trained")
"""
METHODS = {
    "gossip": (whole_algorithm(), None, ROUNDS, {"Model"}),
    "inbox": (example(api.Inbox), "api.AbsenceParams", POISSON, {"Model"}),
    "rounds": (ROUND_OF_ITS_OWN, "api.RoundParams", ROUNDS, {"Share"}),
    "a part": (HEAD_ONLY, "api.RoundParams", POISSON, {"Share"}),
    "star": (example(api.StarExchange), "api.StarParams", STAR, {"Request", "Model"}),
    "subscriptions": (
        example(api.Subscriptions) + TRAINS,
        "api.SubscriptionParams",
        ROUNDS,
        {"Subscribe", "Subscribed", "Update"},
    ),
    "edges": (example(api.Edges) + TRAINS, "api.AbsenceParams", ROUNDS, {"Edge", "Model"}),
    "collaborators": (
        example(api.Collaborators) + TRAINS,
        "api.CollaboratorParams",
        ROUNDS,
        {"Update"},
    ),
    "downloads": (DOWNLOADS, "api.DownloadParams", ROUNDS, {"Hello", "Here", "Fetch", "Model"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_users_own_plays(name, tmp_path):
    code, bases, exchange, kinds = METHODS[name]
    text = HEADER + ("" if bases is None else PARAMS.format(bases=bases)) + code
    (tmp_path / "mine.py").write_text(text)
    scenario = from_dict(
        WORLD | {"exchange": exchange, "algorithm": [{"kind": "mine"}]},
        algorithms_folder=tmp_path,
    )
    summary = engine.play(world.build(scenario), scenario.algorithm[0], tmp_path / "run")
    assert summary["local_steps"] > 0
    assert summary["accuracy"]["nodes"] > 0
    log = pd.read_parquet(tmp_path / "run" / "messages")
    assert kinds <= set(log.kind)


def test_everything_public_is_documented():
    for name in api.__all__:
        assert f"`{name}`" in api.__doc__ or name.endswith("Params"), name
