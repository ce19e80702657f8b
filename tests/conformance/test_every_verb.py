"""A toy user of every verb under star, rounds and poisson, over loss and over fading radios."""

import inspect
import re
from collections import Counter

import numpy as np
import pytest

from netsim.node.node import Node

from .conftest import FADING, LOSSY, SCHEDULES, TOYS

NAMES = sorted(path.stem for path in TOYS.glob("toy_*.py"))
LINKS = {"lossy": LOSSY, "fading": FADING}
SERVER = {"nodes": {"count": 5, "groups": [{"name": "hubs", "count": 1, "role": "server"}]}}

API = {
    *(
        "id",
        "role",
        "num_nodes",
        "neighbours",
        "servers",
        "far_servers",
        "schedule",
        "slots_per_exchange",
    ),
    *(
        "train_size",
        "learning_rate",
        "rate_factor",
        "max_age_s",
        "patience_s",
        "classes",
        "now_s",
        "round",
        "peers",
    ),
    *("age", "wakeup", "tick", "sleep", "condition", "reachable"),
    *("send", "broadcast", "withdraw", "receive", "gather", "ask", "serve", "exchange"),
    *("initial", "train", "hold", "batch", "outputs", "loss", "gradient", "measure"),
    *("mix", "select", "pool", "compute", "value", "publish", "log_weights", "warn", "keep"),
    *("work", "once", "seeded", "model", "decide"),
    *("allocate", "csi", "queued", "battery_j", "energy_j"),
    *("superposed", "record", "local_steps", "batch_size"),
    *("uniform", "permutation"),
}
"""All that an algorithm sees of a node."""


CELL = {
    **SERVER,
    "radio": {
        "mean_snr_db": 3.0,
        "rate": {"kind": "shannon_gap", "gap_db": 3.0, "min_rate_bps": 1e5},
        "fading": {"kind": "rayleigh", "coherence_s": 0.02},
        "mac": {"kind": "ofdma"},
        "ttl_s": 0.01,
    },
}


def world(name: str, link: str) -> dict:
    """The tables of a toy's world: `toy_cell` has a radio of its own."""
    if name == "toy_cell":
        return CELL
    if name == "toy_server":
        return {**LINKS[link], **SERVER}
    return LINKS[link] | extra(name)


def extra(name: str) -> dict:
    return {"training": {"common_initial": False}} if name == "toy_ring" else {}


def test_every_verb_of_a_node_has_a_toy_user():
    sources = "".join(path.read_text() for path in TOYS.glob("toy_*.py"))
    verbs = {
        name for name in dir(Node) if not name.startswith("_") and callable(getattr(Node, name))
    }
    unused = {v for v in verbs if not re.search(rf"\bnode\.{v}\(", sources)}
    assert unused == set()


def test_a_node_shows_its_api_and_nothing_else(play):
    node = play("toy_clock").run.nodes[0]
    assert {name for name in dir(node) if not name.startswith("_")} == API


def test_every_verb_says_what_it_gives_and_has_an_example():
    for name, verb in vars(Node).items():
        if inspect.isfunction(verb) and not name.startswith("_"):
            said = inspect.getdoc(verb)
            returns = inspect.signature(verb).return_annotation != "None"
            assert ("Returns\n-------" if returns else "Notes\n-----") in said, name
            assert "Examples\n--------\n>>> " in said, name
            assert "schedule" in said, name
            if len(inspect.signature(verb).parameters) > 1:
                assert "Parameters\n----------" in said, name


@pytest.mark.parametrize("name", NAMES)
def test_a_toy_has_under_forty_lines(name):
    lines = (TOYS / f"{name}.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) < 40


@pytest.mark.thinned(36)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_deadlocks_and_no_message_is_lost_silently(play, name, schedule, link):
    played = play(name, schedule, **world(name, link))
    summary, log = played.summary, played.log
    counts, messages = Counter(summary["counts"]), summary["messages"]
    assert played.seen
    # what was sent has one row, or is still on its way at the horizon
    assert len(log) == played.endings == messages["sent"]
    assert played.created == len(log) + counts["messages_in_flight"]
    # what was delivered was handed over once, or is accounted for under a name of its own
    outcomes = Counter(log.outcome)
    assert outcomes["delivered"] + outcomes["partial"] == (
        played.handed
        + counts["messages_unread"]
        + counts["messages_superseded"]
        + counts["late_replies"]
    )
    lost = {"outage", "retries", "collision", "busy", "off"}
    assert messages["lost"] == sum(outcomes[o] for o in lost)
    assert messages["expired"] == outcomes["deadline"]
    if name not in ("toy_clock", "toy_learner", "toy_outsider"):
        assert outcomes["delivered"] + outcomes["partial"] > 0
        assert messages["lost"] + messages["expired"] + outcomes["partial"] > 0
    assert summary["wakes"]["woke"] > 0
    assert (log.t_done_s >= log.t_sent_s).all()
    arrived = log.outcome.isin(["delivered", "partial"])
    assert log.age_s.notna().equals(arrived)
    assert np.allclose(log.age_s[arrived], (log.t_done_s - log.t_sent_s)[arrived], atol=1e-9)


@pytest.mark.thinned(36)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", NAMES)
def test_timing_only_plays_the_same_events(play, name, schedule):
    """No toy's timing depends on values but `toy_fetch`'s choice, which sends nothing."""
    full = play(name, schedule, **world(name, "lossy"))
    timing = play(name, schedule, timing_only=True, **world(name, "lossy"))
    assert timing.summary["event_log_sha256"] == full.summary["event_log_sha256"]
    assert timing.summary["parameters_sha256"] is None
    assert "accuracy" not in timing.summary
