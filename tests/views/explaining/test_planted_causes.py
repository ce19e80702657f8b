"""Seven small runs with one thing wrong each: the first three lines have it, every query holds."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from netsim import engine, scenario, world
from netsim.recording import checksums
from netsim.views import Sentences, explain
from netsim.views.explaining import explained, limits
from netsim.views.explaining.findings import HARM, OUTLOOK, PACE
from netsim.views.explaining.node_story import story

PLANTED = Path(__file__).parent / "planted"
CAUSES = {
    "battery": "Empty battery: node 2 was off for good from 10 s on",
    "harvest": "for want of energy, and were off for",
    "hidden_terminal": "Hidden terminals: senders 0 and 2 lost messages at one receiver",
    "slow_device": "the slowest: node 5 in 15 of 15 rounds. Its local step takes 10 times as long",
    "too_little_bandwidth": "of the time rounds waited for messages",
    "sleeping_radios": "were lost because the receiver's radio slept. Radios are awake for 10 %",
    "lonely_node": "Starved: node 7 got 0 messages",
}

CLOCKS = {"schedule": "poisson", "rate_hz": 0.5}
SLOW_RADIO = {"tx_power_dbm": 20.0, "rate": {"kind": "fixed", "rate_bps": 2e4}, "ttl_s": 0.5}
FADING = {"kind": "rayleigh", "coherence_s": 0.01}
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "churn": (
        {
            "churn": {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0},
            "exchange": CLOCKS,
        },
        "Off: nodes were switched off for",
    ),
    "late": (
        {"exchange": {"schedule": "rounds", "deadline_s": 0.5}, "link": {"latency_s": 0.7}},
        "Late: 100 % of all messages arrived after their round's deadline, 500 ms",
    ),
    "unused": (
        {
            "exchange": CLOCKS,
            "link": {"latency_s": 3.0},
            "algorithm": {"kind": "dpsgd", "max_age_s": 1.0},
        },
        "Arrived, not used: 100 % of the models and other values that came",
    ),
    "expired": ({"exchange": CLOCKS, "radio": SLOW_RADIO}, "Too little airtime: "),
    "queue": ({"exchange": CLOCKS, "radio": {**SLOW_RADIO, "ttl_s": 1e6}}, "Queue: "),
    "fading": (
        {
            "exchange": CLOCKS,
            "radio": {"fading": FADING, "tx_power_dbm": 0.0, "arq": {"kind": "abort"}},
        },
        "Packet errors: ",
    ),
}
"""Causes beside the planted ones, and the words that begin what is said of them."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each run, by its scenario's name."""
    folders = {}
    for name in CAUSES:
        played = scenario.load(str(PLANTED / f"{name}.toml"))
        folders[name] = tmp_path_factory.mktemp("runs") / name
        engine.play(
            world.build(played), played.algorithm[0], folder=folders[name], timing_only=True
        )
    for name, (tables, _) in OTHERS.items():
        places = {"count": 4, "placement": "disc", "radius_m": 30.0}
        base = {"horizon_s": 20.0, "nodes": places, "data": {"kind": "digits"}}
        base |= {"model": {"kind": "mlp", "hidden": [8]}, "algorithm": {"kind": "dpsgd"}}
        played = scenario.from_dict(base | tables, name)
        folders[name] = tmp_path_factory.mktemp("runs") / name
        engine.play(
            world.build(played), played.algorithm[0], folder=folders[name], timing_only=True
        )
    return folders


def same(found: Any, told: Any) -> bool:
    if isinstance(told, float):
        return math.isclose(found, told, rel_tol=1e-12)
    return bool(found == told)


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_in_the_first_three_lines(runs: dict[str, Path], name: str):
    _, found = explained(runs[name])
    assert any(CAUSES[name] in finding.text for finding in found[:3]), [f.text for f in found]
    assert limits(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_causes_are_among_the_first_three_lines(runs: dict[str, Path], name: str):
    _, found = explained(runs[name])
    texts = [finding.text for finding in found]
    assert any(text.startswith(OTHERS[name][1]) for text in texts[:3]), texts


def test_bandwidth_is_judged_by_what_was_used_too(runs: dict[str, Path]):
    _, found = explained(runs["unused"])
    outlook = " ".join(finding.text for finding in found if finding.rank == OUTLOOK)
    assert "0 % are used, and at most 57 % would be, if none came too late or too old" in outlook


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", [*CAUSES, *OTHERS])
def test_every_query_gives_its_number_when_it_is_pasted(runs: dict[str, Path], name: str):
    run, found = explained(runs[name])
    pasted: dict[str, Any] = {}
    exec(run.loading, pasted)
    told = [*found, *story(run, 1), *story(run, 2)]
    queries = [query for finding in told for query in finding.queries]
    assert len(queries) > 8
    for query in queries:
        value = eval(query.code, pasted)
        value = value.item() if hasattr(value, "item") else value
        assert same(value, query.value), query.code


def test_who_computed_in_place_of_the_kernel_is_told_first(runs: dict[str, Path], tmp_path: Path):
    folder = shutil.copytree(runs["queue"], tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["engine"]["ways"] == {}  # nothing was trained
    summary["engine"]["ways"] = {"a loss": "PyTorch, node after node: it reads", "b": "native/avx2"}
    (folder / "summary.json").write_text(json.dumps(summary))
    checksums.renew(folder, "summary.json")
    mark = explain.gather(folder).panels[0].mark
    assert isinstance(mark, Sentences)
    told = mark.head[1].splitlines()
    assert told[1:] == ["a loss: by PyTorch, node after node: it reads"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CAUSES)
def test_findings_are_ordered_by_what_they_took(runs: dict[str, Path], name: str):
    _, found = explained(runs[name])
    for rank in (HARM, PACE):
        weights = [f.weight for f in found if f.rank == rank]
        assert weights == sorted(weights, reverse=True)
        assert all(0.0 <= weight <= 1.0 for weight in weights)


def test_the_shares_of_the_chain_are_those_of_the_rounds(runs: dict[str, Path]):
    for name in ("slow_device", "too_little_bandwidth", "battery"):
        run, _ = explained(runs[name])
        path, starts = run.path, run.starts
        lasted_s = starts.iloc[-1] - starts.iloc[0]
        assert (path.t_end_s - path.t_begin_s).sum() == pytest.approx(lasted_s, abs=1e-9)
        assert (path.t_end_s.to_numpy()[1:] == path.t_begin_s.to_numpy()[:-1]).all()


def test_a_slow_device_sets_the_length_of_rounds_by_hand(runs: dict[str, Path]):
    """A step of 0.2 s takes node 5 two seconds: of these the others wait 1.8 s, 7 of 8 nodes."""
    run, _ = explained(runs["slow_device"])
    ready = run.ready.iloc[:-1]
    expected = pd.Series([2.0 if node == 5 else 0.2 for node in range(8)], ready.columns)
    assert ((ready - expected).abs() < 1e-6).all().all()


def test_the_story_of_a_starved_node_names_what_it_lost(runs: dict[str, Path]):
    run, _ = explained(runs["lonely_node"])
    told = " ".join(finding.text for finding in story(run, 7))
    assert "36 messages, of which 0 arrived (0 %), 36 lost to too weak a link" in told
