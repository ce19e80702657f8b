import pytest
import torch

from netsim import engine, world
from netsim.scenario import from_dict


def _scenario(algorithm, **tables):
    """A star exchange every 4 slots among 8 nodes with few digits each, in float64."""
    base = {
        "seed": 3,
        "horizon_s": 50.5,
        "nodes": {"count": 8},
        "exchange": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 4},
        "data": {
            "kind": "digits",
            "partition": {
                "kind": "class_mix",
                "alpha": 0.3,
                "train_min": 15,
                "train_max": 40,
                "test_samples": 40,
            },
        },
        "model": {"kind": "iot_mlp", "hidden": 16},
        "compute": {"kind": "fixed", "step_s": 1.0},
        "training": {"learning_rate": 0.2, "batch_size": 10, "dtype": "float64"},
        # Weights stay where an algorithm logged them, to be looked at in full precision.
        "metrics": {"every_s": 50.5, "weights": False},
        "algorithm": [algorithm],
    }
    return from_dict(base | tables)


@pytest.fixture
def play():
    """Play one algorithm to the horizon; the `Simulation`, its values computed."""

    def run(algorithm, folder=None, **tables):
        torch.set_num_threads(1)  # what `engine.play` does; two threads for small rows are slower
        scenario = _scenario(algorithm, **tables)
        built = world.build(scenario)
        simulation = engine.Simulation(built, scenario.algorithm[0], folder, False, None)
        simulation.to_horizon()
        simulation.learning.scheduler.flush()
        simulation.finish(folder)
        return simulation

    return run


@pytest.fixture
def models():
    """The rows that the nodes of a simulation published last."""

    def rows(simulation):
        return [node.publishing.last_published().ref.tensor() for node in simulation.parts]

    return rows
