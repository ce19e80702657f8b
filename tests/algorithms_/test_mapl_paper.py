"""The paper's world, made small: its four architectures on real images."""

import os
from pathlib import Path

import pytest

from netsim import engine, world
from netsim.scenario import load

SMALLER = [
    "horizon_s=2.9",
    "nodes.count=4",
    "data.train_rows=2000",
    "data.test_rows=1000",
    "data.partition.train_samples=16",
    "data.partition.stride=16",
    "training.batch_size=16",
    "training.learning_rate=1e-3",
    "metrics.every_s=2.9",
    "algorithm.mapl_heads_on_active_edges.warmup_rounds=1",
]


@pytest.mark.slow
@pytest.mark.data
def test_four_architectures_learn_together_on_cifar10():
    folder = os.environ.get("NETSIM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("NETSIM_DATA does not name a folder with the real data sets")
    scenario = load("paper_mapl", sets=SMALLER)
    built = world.build(scenario, Path(folder))
    # backbone, projection and classifier, then running statistics
    parameters = [a.num_parameters for a in built.architectures]
    backbones = [11_439_168, 1_778_404, 6_124_704, 1_813_632]
    assert parameters == [b + 4_207_104 + 5_130 for b in backbones]
    summary = engine.play(built, scenario.algorithm[1])
    pairs = 4 * 3
    # three rounds of prototypes and two of heads, less what edges that went saved in two rounds
    assert pairs * (1 + 2) < summary["messages"]["sent"] <= pairs * (3 + 2 + 2)
    assert summary["accuracy"]["mean"] > 0.2  # of 5 classes in turn one in five by chance
    assert summary["local_steps"] == 3 * 4 * 5
