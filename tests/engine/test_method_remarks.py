"""Remarks on methods of one scenario: how long they wait, how unequally they train."""

import pytest

from netsim import engine, world
from netsim.engine.method_remarks import remarks
from netsim.recording import run_warnings
from netsim.scenario import from_dict

TABLES = {
    "horizon_s": 60.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "poisson", "rate_hz": 0.1},
    "data": {"kind": "digits", "validation": 0.2},
    "model": {"kind": "mlp", "hidden": [8]},
    "compute": {"kind": "fixed", "step_s": 0.01},
}


def told(algorithms, **changed):
    return remarks(world.build(from_dict({**TABLES, "algorithm": algorithms, **changed})))


def test_a_method_that_asks_says_how_long_it_waits_over_the_links():
    """A model of 610 numbers of 32 bit takes 19.52 s at 1 kbit/s; three come side by side."""
    link = {"link": {"rate_bps": 1e3, "latency_s": 0.0}}
    (said,) = told([{"kind": "kd_pdfl"}, {"kind": "dpsgd"}], **link)
    assert said.startswith("kd_pdfl waits ")
    least_s = 4 * 610 * 32 / 1e3
    waits_s = float(said.split()[2])
    assert least_s <= waits_s < 1.1 * least_s
    (set_s,) = told([{"kind": "kd_pdfl", "timeout_s": 2.5}], **link)
    assert set_s == "kd_pdfl waits timeout_s = 2.5 s for answers, as set"
    rounds = {"schedule": "rounds", "interval_s": 7.0}
    assert told([{"kind": "fedavg"}], exchange=rounds) == []  # nobody asks


def test_a_method_that_asks_one_neighbour_or_a_server_says_how_long_that_takes():
    """A model of 610 numbers of 32 bit takes 19.52 s at 1 kbit/s."""
    link = {"link": {"rate_bps": 1e3, "latency_s": 0.0}}
    least_s = 4 * 610 * 32 / 1e3
    (said,) = told([{"kind": "ad_psgd"}], **link)
    assert "where it asks one neighbour" in said
    assert least_s <= float(said.split()[2]) < 1.1 * least_s
    hub = {
        "nodes": {"count": 4, "groups": [{"name": "hub", "count": 1, "role": "server"}]},
        "topology": {"kind": "hub", "centre": 0},
    }
    (said,) = told([{"kind": "fedasync"}], **hub, **link)
    assert "where it asks the server" in said
    assert told([{"kind": "fedasync"}], **link) == []  # among peers nobody asks


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("horizon_s", "interval_s", "trained"), [(150.0, 10.0, 16), (149.0, 10.0, None), (0.3, 0.1, 4)]
)
def test_rounds_that_end_at_the_horizon_tell_of_the_wakeup_there(horizon_s, interval_s, trained):
    changed = {
        "horizon_s": horizon_s,
        "exchange": {"schedule": "rounds", "interval_s": interval_s},
        "compute": {"kind": "fixed", "step_s": 1e-4},
    }
    local = [{"kind": "local", "local_steps": 1}]
    found = told(local, **changed)
    assert len(found) == (trained is not None)
    assert trained is None or f"they begin local training {trained} times" in found[0]
    scenario = from_dict({**TABLES, "algorithm": local, **changed})
    played = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)
    assert played["local_steps"] / 4 == (trained or 15)


@pytest.mark.parametrize(
    ("algorithms", "words"),
    [
        ([{"kind": "dpsgd"}, {"kind": "dfedavgm", "local_steps": 2}], "takes 2 times"),
        ([{"kind": "dpsgd", "local_steps": 2}, {"kind": "cga", "local_steps": 3}], None),
        ([{"kind": "pfedgraph", "steps": 7}, {"kind": "dpsgd", "local_steps": 4}], "1.75 times"),
        ([{"kind": "l2c"}, {"kind": "mapl"}], "l2c takes 5 times as many local steps a round"),
        ([{"kind": "pfedme", "local_steps": 3}, {"kind": "dpsgd", "local_steps": 9}], "1.67 times"),
        ([{"kind": "dpsgd"}], None),
    ],
)
def test_methods_that_train_unequally_are_remarked_on(algorithms, words):
    found = [text for text in told(algorithms) if "differences between them" in text]
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_runs_are_compared_by_what_they_really_took():
    runs = [{"algorithm": name, "local_steps": n} for name, n in (("a", 90), ("b", 60), ("c", 0))]
    assert run_warnings.unequal_steps_of(runs) is None  # 1.5 times, and one that trained nothing
    runs[0]["local_steps"] = 91
    assert run_warnings.unequal_steps_of(runs) == (
        "a takes 1.52 times as many local steps as b (91 and 60): differences between them are "
        "of training as well"
    )
    assert run_warnings.unequal_steps_of(runs[:1]) is None
    assert (
        run_warnings.unequal_steps_of([{"algorithm": "old"}, {"algorithm": "b", "local_steps": 1}])
        is None
    )
