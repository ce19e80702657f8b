"""A component or algorithm that breaks a promise is told which one."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

from pathlib import Path

import pytest

from algorithms import bandwidth_allocation
from netsim import testing
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

HEADS = {
    "fading": "from netsim.channels.fading import Fading\n",
    "topology": "from netsim.topology import Topology\n",
    "packet_error": "from netsim.channels.packet_error import PacketError\n",
    "path_loss": "from netsim.channels.path_loss import PathLoss\n",
    "rate": "from netsim.channels.rate import Rate\n",
    "attack": "from netsim.attacks import Attack\n",
    "speed": "from netsim.devices.speed import Speed\n",
}
BASES = {
    "fading": "Fading", "topology": "Topology", "packet_error": "PacketError",
    "path_loss": "PathLoss", "rate": "Rate", "attack": "Attack", "speed": "Speed",
}  # fmt: skip
WHOLE = '''"""Faulty."""
from typing import Literal

{head}

class Faulty({base}):
    """Breaks a promise."""

    kind: Literal["faulty"] = "faulty"

{body}
'''

FAULTS = [
    ("fading", "def power_gain(self, u): return 2.0 * u + 0.5", "mean 1.5, which must be 1"),
    ("fading", "def power_gain(self, u): return 1.5 - u", "must not fall as u rises"),
    ("topology", "def neighbours(self, site): return [(1,)] + [()] * (site.nodes - 1)", "do not have it"),
    ("topology", "def neighbours(self, site): return [(0,)] * site.nodes", "neighbour of itself"),
    ("topology", "def neighbours(self, site): return []", "6 nodes have 0 neighbour lists"),
    ("packet_error", "def probability(self, snr, packet_bits, threshold): return snr", "not in [0, 1]"),
    ("packet_error", "def probability(self, snr, packet_bits, threshold): return min(1.0, snr)", "must not rise with the SNR"),
    ("path_loss", "def loss_db(self, distance_m, carrier_hz, u=0.0): return 50.0 - 0.001 * distance_m", "must not fall as the distance rises"),
    ("rate", "def bits_per_s(self, snr, bandwidth_hz): return 0.0", "no link can ever be used"),
    ("rate", "def bits_per_s(self, snr, bandwidth_hz): return 1e6 / (1 + snr)", "must not fall as the SNR rises"),
    ("attack", "def forgery(self): return lambda values, seed, node, count: values", "function of its module"),
    ("speed", "def mean_step_s(self): return 0.1\n    def train_s(self, steps, factor, streams, node, job): return -1.0", "steps take -1 s"),
]  # fmt: skip


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("family", "body", "says"), FAULTS)
def test_a_broken_promise_of_a_family_is_named(tmp_path, family, body, says):
    text = WHOLE.format(head=HEADS[family], base=BASES[family], body=f"    {body}")
    (tmp_path / "faulty.py").write_text(text)
    promise = {str(c): c for c in testing.checks(str(tmp_path / "faulty.py"))}["family"]
    with pytest.raises(AssertionError) as caught:
        promise()
    assert says in str(caught.value)


ALGORITHM = '''"""Faulty."""
import torch
from netsim.api import Model, Params as Base
{head}
class Params(Base):
    pass

def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1{more})).theta
        got = yield node.exchange(Model(theta))
        {instead}
'''

FAULTY_ALGORITHMS = [
    ("poisson, clean", "", "pass", "", "no node has published a model"),
    ("poisson, lossy", "calls = []", "calls.append(1); node.publish(theta, 'x'); yield node.sleep(0.1 * len(calls))", "", "event_log_sha256 is another one"),
]  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("which", "head", "instead", "more", "says"), FAULTY_ALGORITHMS)
def test_a_broken_promise_of_an_algorithm_is_named(tmp_path, which, head, instead, more, says):
    text = ALGORITHM.format(head=head, instead=instead, more=more)
    (tmp_path / "faulty.py").write_text(text)
    check = {str(c): c for c in testing.checks(str(tmp_path / "faulty.py"))}[which]
    with pytest.raises(AssertionError) as caught:
        check()
    assert says in str(caught.value)


def test_what_check_finds_is_told_with_the_name_of_the_check(tmp_path):
    text = WHOLE.format(head=HEADS["fading"], base="Fading", body=f"    {FAULTS[0][1]}")
    (tmp_path / "faulty.py").write_text(text)
    with pytest.raises(AssertionError) as caught:
        testing.check(str(tmp_path / "faulty.py"))
    assert caught.value.__notes__[-1].endswith("faulty.py: family")


def test_a_file_without_components_is_refused(tmp_path):
    (tmp_path / "_helper.py").write_text("x = 1\n")
    with pytest.raises(AssertionError, match="holds no algorithm and no component"):
        testing.check(str(tmp_path / "_helper.py"))


WITHOUT_LEARNING = '''"""Works and trains nothing."""
from netsim import api

class Params(api.Params):
    pass

@api.algorithm(learns=False)
def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    while True:
        yield node.wakeup()
        {work}
'''


@pytest.mark.parametrize("work", ["yield node.work(steps=1)", "node.record('woken', 1.0)"])
def test_a_method_that_does_not_learn_is_checked_for_what_it_does(tmp_path, work):
    (tmp_path / "worker.py").write_text(WITHOUT_LEARNING.format(work=work))
    testing.check(str(tmp_path / "worker.py"))


def test_a_method_that_does_nothing_is_named(tmp_path):
    (tmp_path / "idle.py").write_text(WITHOUT_LEARNING.format(work="pass"))
    with pytest.raises(AssertionError, match="no node has worked, sent or recorded anything"):
        testing.check(str(tmp_path / "idle.py"))


def test_a_method_that_divides_a_band_is_checked_over_radio(tmp_path):
    shipped = Path(bandwidth_allocation.__file__).read_text()
    (tmp_path / "cell.py").write_text(shipped)
    checks = {str(check): check for check in testing.checks(str(tmp_path / "cell.py"))}
    checks["poisson, lossy"]()
    checks["poisson, churn"]()


def test_the_data_folder_is_that_of_an_algorithms_runs_too(tmp_path):
    """It was read for components alone, so that an algorithm's runs looked elsewhere."""
    (tmp_path / "worker.py").write_text(WITHOUT_LEARNING.format(work="yield node.work(steps=1)"))
    case = AlgorithmCase(kinds_of((tmp_path,)), "worker", folder=tmp_path / "data")
    assert case.scenario("poisson").data.path == str(tmp_path / "data")
