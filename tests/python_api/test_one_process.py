"""Runs in one process, in turn and in threads: the same results, nothing left behind."""

import gc
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import netsim
from netsim import garbage, scenario, world
from netsim.backends.native.trace import trace
from netsim.engine import process_settings
from netsim.errors import ScenarioError
from netsim.node.node import Node

pytestmark = pytest.mark.usefixtures("thawed")

FINGERPRINTS = ("event_log_sha256", "parameters_sha256")


def fingerprints(run):
    return [[s[name] for name in FINGERPRINTS] for s in run.summaries.values()]


def settings():
    return (
        torch.get_num_threads(),
        torch.backends.cuda.matmul.allow_tf32,
        gc.get_threshold(),
        gc.get_freeze_count(),
        [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGVTALRM)],
        torch.get_default_dtype(),
    )


def dropout(num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Dropout(0.5), nn.Linear(8, num_classes))


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_a_run_leaves_the_process_as_it_was(small, played, tmp_path):
    before = settings()
    again = netsim.run(small, out=tmp_path / "run")
    assert settings() == before
    assert fingerprints(again) == fingerprints(played)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.slow
def test_a_run_that_fails_does_so_too(small, tmp_path):
    def refuse(event):
        raise RuntimeError("no")

    before = settings()
    with pytest.raises(RuntimeError, match="no"):
        netsim.run(small, out=tmp_path / "run", on_evaluation=refuse)
    assert settings() == before


@pytest.fixture
def nodes_alive():
    """Count the nodes that were not freed, while Python does not look for garbage by itself."""
    gc.collect()
    before = {id(o) for o in gc.get_objects() if type(o) is Node}
    gc.disable()
    yield lambda: sum(type(o) is Node and id(o) not in before for o in gc.get_objects())
    gc.enable()


@pytest.mark.slow
def test_a_run_is_freed_at_its_end(small, tmp_path, nodes_alive):
    """Count the objects of a run after its end; the next run would freeze them."""
    netsim.run(small, out=tmp_path / "run")
    assert nodes_alive() == 0


@pytest.mark.slow
def test_a_run_that_has_failed_is_freed_before_the_next(small, tmp_path, nodes_alive):
    def refuse(event):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        netsim.run(small, out=tmp_path / "fails", on_evaluation=refuse)
    netsim.run(small, out=tmp_path / "run")
    assert nodes_alive() == 0


@pytest.mark.thinned(2)
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("backend", [pytest.param("sequential", marks=pytest.mark.slow), "stacked"])
def test_threads_give_what_one_run_after_the_other_gives(small, tmp_path, backend):
    """Dropout draws from torch's generator, which all threads share."""
    own = small.replace(model=dropout, run__backend=backend)
    seeds = range(3)
    alone = [netsim.run(own.replace(seed=s), out=tmp_path / f"alone-{s}") for s in seeds]
    before, begun = settings(), threading.Barrier(3)

    def play(seed):
        begun.wait()
        return netsim.run(own.replace(seed=seed), out=tmp_path / f"beside-{seed}")

    with ThreadPoolExecutor(3) as pool:
        beside = list(pool.map(play, seeds))
    assert [fingerprints(run) for run in beside] == [fingerprints(run) for run in alone]
    assert settings() == before


@pytest.mark.slow
def test_classes_of_one_name_do_not_meet_in_threads(small, tmp_path):
    def play(width):
        class Net(nn.Sequential):
            def __init__(self, num_classes):
                super().__init__(
                    nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, num_classes)
                )

        run = netsim.run(small.replace(model=Net), ["local"], out=tmp_path / f"{width}")
        return run.nodes["parameters"].max()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(play, (3, 5))) == [65 * w + 11 * w - w + 10 for w in (3, 5)]


@pytest.mark.slow
def test_settings_are_those_of_runs_until_the_last_one_ends():
    before = gc.get_threshold()
    with process_settings.of_runs(tf32=False):
        with process_settings.of_runs(tf32=False):
            assert gc.get_threshold() == garbage.SELDOM
        assert gc.get_threshold() == garbage.SELDOM
        with pytest.raises(ScenarioError, match="a run of another thread plays with another"):
            process_settings.of_runs(tf32=True).__enter__()
    assert gc.get_threshold() == before


def test_worlds_and_runs_take_one_thread_until_the_last_one_ends():
    small = scenario.load("small_dpfl")
    torch.set_num_threads(2)
    seen = []
    with process_settings.of_runs(tf32=False):
        world.build(small, doing=lambda _: seen.append(torch.get_num_threads()))
        seen.append(torch.get_num_threads())
    assert torch.get_num_threads() == 2
    world.build(small, doing=lambda _: seen.append(torch.get_num_threads()))
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    assert set(seen) == {1}


def test_modules_of_other_threads_are_called_while_one_is_followed():
    """`torch.fx` takes every call of a module in the process while it follows one."""
    module, other = dropout(10), nn.Linear(3, 2)

    def entry(followed, x):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(other, torch.zeros(1, 3)).result().shape == (1, 2)
        return followed(x)

    assert trace(module, (64,), True, entry).layers
