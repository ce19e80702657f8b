"""A run depends on its scenario and on nothing else."""

import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from netsim import engine, world
from netsim.scenario import from_dict

from .conftest import FADING, TOYS, tables

NOISY = """
import random, numpy
def processes(node, params):
    return [on_wakeup(node), on_noise()]

def on_noise():
    return
    yield

def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        {noise}
        theta = (yield node.train(theta, steps=2)).theta
        got = yield node.exchange(Model(theta))
        models = [theta, *(r.msg.theta for r in got.values())]
        theta = node.mix(models, [1 / len(models)] * len(models))
        node.publish(theta, "mixed")
"""
DRAWS = "random.random(); numpy.random.rand(); torch.rand(3); torch.manual_seed(node.id)"
PLAY = """
import json, sys
import numpy, random, torch
from pathlib import Path
from netsim import engine, world
from netsim.scenario import from_dict
random.seed(5); numpy.random.seed(5); torch.manual_seed(5)
for tables in json.loads(sys.argv[1]):
    scenario = from_dict(tables, algorithms_folder=Path(sys.argv[2]))
    summary = engine.play(world.build(scenario), scenario.algorithm[0])
    print(summary["event_log_sha256"], summary["parameters_sha256"])
"""


def hashes(summary):
    return summary["event_log_sha256"], summary["parameters_sha256"]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["star", "rounds", "poisson"])
def test_other_peoples_random_draws_change_nothing(play_source, schedule):
    quiet = play_source(NOISY.format(noise="pass"), schedule, **FADING)
    noisy = play_source(NOISY.format(noise=DRAWS), schedule, **FADING)
    assert hashes(quiet.summary) == hashes(noisy.summary)
    assert quiet.log.equals(noisy.log)


@pytest.mark.slow
def test_a_dropout_model_draws_its_masks_from_the_scenario(play_source):
    dropping = (
        NOISY.replace("steps=2", "steps=2, loss=dropping")
        + """
@api.loss(uniforms=10)
def dropping(model, batch, learned):
    kept = (batch.uniforms > 0.5).float()
    return torch.nn.functional.cross_entropy(model(batch.x) * kept, batch.y)
"""
    )
    quiet = play_source(dropping.format(noise="pass"), "rounds")
    noisy = play_source(dropping.format(noise=DRAWS), "rounds")
    other = play_source(dropping.format(noise="pass"), "rounds", seed=1)
    assert hashes(quiet.summary) == hashes(noisy.summary)
    assert quiet.summary["parameters_sha256"] != other.summary["parameters_sha256"]


@pytest.mark.slow
def test_a_second_process_plays_the_same_events_to_the_same_models(play):
    pairs = [("toy_fetch", "poisson"), ("toy_learner", "rounds"), ("toy_gossip", "star")]
    here = [h for pair in pairs for h in hashes(play(*pair, **FADING).summary)]
    scenarios = json.dumps([tables(*pair, **FADING) for pair in pairs])
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", PLAY, scenarios, str(TOYS)],
        capture_output=True, text=True, cwd=root, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == here


@pytest.mark.slow
def test_two_scenarios_that_differ_in_one_thing_share_the_other_draws(play):
    """With another loss the same nodes wake at the same times and start from the same models."""
    few = play("toy_gossip", "poisson", link={"loss": 0.1})
    many = play("toy_gossip", "poisson", link={"loss": 0.6})
    assert [s[:2] for s in few.saw("got")] == [s[:2] for s in many.saw("got")]
    lost = [set(zip(p.log.t_sent_s, p.log.src, p.log.dst, strict=True)) for p in (few, many)]
    assert lost[0] == lost[1]
    assert few.summary["messages"]["lost"] < many.summary["messages"]["lost"]


@pytest.mark.slow
def test_seeds_differ(play):
    one, two = (play("toy_gossip", "poisson", seed=seed, **FADING).summary for seed in (0, 1))
    assert one["event_log_sha256"] != two["event_log_sha256"]
    assert one["parameters_sha256"] != two["parameters_sha256"]


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_nothing_of_a_run_is_left_when_it_is_over(backend, monkeypatch):
    """Else two runs of a process would lie side by side until Python looks for garbage."""
    seen = []

    class Watched(engine.Simulation):
        def __init__(self, *given):
            super().__init__(*given)
            seen.extend(map(weakref.ref, [self, *self.nodes, self.learning.scheduler.backend]))

    monkeypatch.setattr(engine.playing, "Simulation", Watched)
    scenario = from_dict(tables("dpsgd", "poisson", run={"backend": backend}))
    summary = engine.play(world.build(scenario), scenario.algorithm[0])
    assert summary["messages"]["delivered"] > 0
    assert seen
    assert not any(found() for found in seen)
