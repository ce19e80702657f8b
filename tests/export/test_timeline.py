"""The timeline is in the format that Perfetto reads, and adds up to the summary's seconds."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest

from netsim import engine, scenario, world
from netsim.export import formats
from netsim.export.timeline import counters
from netsim.export.timeline.chrome import lanes, open_writer
from netsim.recording import run_folder
from netsim.recording.node_states import STATES, intersect, subtract, union
from netsim.recording.recorder import Recorder
from netsim.recording.schema import RECORDED

BASE: dict[str, Any] = {
    "horizon_s": 20.0,
    "nodes": {"count": 5, "placement": "disc", "radius_m": 30.0},
    "exchange": {"schedule": "poisson", "rate_hz": 0.5},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [16]},
    "compute": {"kind": "fixed", "step_s": 0.3},
    "metrics": {"timeline": True, "every_s": 5.0, "common_test_samples": 10},
    "algorithm": {"kind": "dpsgd"},
    "radio": {
        "bandwidth_hz": 1e6,
        "tx_power_dbm": 20.0,
        "ttl_s": 2.0,
        "fading": {"kind": "rayleigh", "coherence_s": 0.1},
    },
}
RADIO = BASE["radio"]
CASES: dict[str, dict[str, Any]] = {
    "plain": BASE,
    "churn": BASE | {"churn": {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0}},
    "asleep": BASE
    | {"radio": RADIO | {"sleep": {"kind": "duty_cycle", "awake_fraction": 0.3, "period_s": 1.0}}},
    "csma": BASE | {"radio": RADIO | {"mac": {"kind": "csma"}}},
    "tdma": BASE | {"radio": RADIO | {"mac": {"kind": "tdma"}}},
    "battery": BASE
    | {
        "energy": {
            "battery_j": 1.0,
            "radio": {"kind": "radio_state", "tx_w": 1.0, "rx_w": 0.5, "idle_w": 0.05},
        }
    },
    "rounds": BASE | {"exchange": {"schedule": "rounds", "interval_s": 2.0}},
    "wires": {k: v for k, v in BASE.items() if k != "radio"} | {"link": {"latency_s": 0.2}},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    played = {}
    for name, tables in CASES.items():
        loaded = scenario.from_dict(tables, name)
        folder = tmp_path_factory.mktemp("runs") / name
        built = world.build(loaded)
        summary = engine.play(built, loaded.algorithm[0], folder=folder, timing_only=True)
        played[name] = (folder, summary)
    return played


def trace(folder: Path, tmp_path: Path) -> dict[str, Any]:
    path = formats.write_run(folder, "timeline", tmp_path / "t.json")
    return json.loads(path.read_text(encoding="utf-8"))


def require_chrome_trace(found: dict[str, Any]) -> None:
    """Check the rules of the Trace Event Format on the events that are used here."""
    needed = {
        "X": {"name", "pid", "tid", "ts", "dur"},
        "i": {"name", "pid", "tid", "ts", "s"},
        "C": {"name", "pid", "ts", "args"},
        "M": {"name", "pid", "args"},
        "s": {"name", "cat", "id", "pid", "tid", "ts"},
        "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    }
    assert isinstance(found["traceEvents"], list)
    assert found["displayTimeUnit"] in ("ms", "ns")
    slices, flows, processes = defaultdict(list), defaultdict(list), set()
    for event in found["traceEvents"]:
        assert needed[event["ph"]] <= set(event), event
        assert isinstance(event["pid"], int)
        assert event.get("ts", 0) >= 0
        if event["ph"] == "X":
            assert event["dur"] > 0
            slices[event["pid"], event["tid"]].append(
                (round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000))
            )
        elif event["ph"] in "sf":
            flows[event["id"]].append(event)
        elif event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
        elif event["name"] == "process_name":
            processes.add(event["pid"])
    assert {pid for pid, _ in slices} <= processes
    for spans in slices.values():  # of one thread: beside each other or within
        stack: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)
    for ends in flows.values():
        begin, end = sorted(ends, key=lambda event: event["ph"], reverse=True)
        assert (begin["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        assert begin["ts"] <= end["ts"]
        for event in (begin, end):
            spans = slices[event["pid"], event["tid"]]
            at = round(event["ts"] * 1000)
            assert any(b <= at < e for b, e in spans), "an arrow without a slice"


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_it_is_a_chrome_trace(runs, tmp_path, name):
    folder, _ = runs[name]
    found = trace(folder, tmp_path)
    require_chrome_trace(found)
    log = pd.read_parquet(folder / "messages")
    arrived = log.outcome.isin(["delivered", "partial"]).sum()
    assert sum(e["ph"] == "f" for e in found["traceEvents"]) == arrived > 0


@pytest.mark.slow
@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CASES)
def test_seconds_by_state_and_node_are_the_summarys(runs, tmp_path, name):
    folder, summary = runs[name]
    seconds: dict[Any, float] = defaultdict(float)
    for event in trace(folder, tmp_path)["traceEvents"]:
        if event["ph"] == "X" and event["name"] in STATES:
            busy_s = event.get("args", {}).get("busy_s", event["dur"] / 1e6)
            seconds[event["name"], event["pid"] - 1] += busy_s
    assert seconds
    for state, of_nodes in summary["time_s"].items():
        for node, expected_s in enumerate(of_nodes):
            assert seconds[state, node] == pytest.approx(expected_s, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "wires"])
def test_seconds_agree_with_what_is_counted_elsewhere(runs, name):
    """Airtime, availability and local steps have counters of their own."""
    folder, summary = runs[name]
    spent = {state: np.array(of_nodes) for state, of_nodes in summary["time_s"].items()}
    assert spent["transmit"].sum() == pytest.approx(summary["messages"]["airtime_s"], abs=1e-6)
    assert spent["transmit"].sum() > 0
    on_s = 20.0 - spent["off"]
    if "power" in summary:
        assert on_s.mean() / 20.0 == pytest.approx(summary["power"]["mean_availability"])
        assert spent["off"].max() > 0
    else:
        assert not spent["off"].any()
    jobs = pd.read_parquet(folder / "wakes").query("what == 'job'")
    asked_s = jobs.groupby("node")["count"].sum().reindex(range(5), fill_value=0) * 0.3
    under_way = 0.3 * jobs.query("t_s > 19.7 or node != node").groupby("node").size()
    shortest = asked_s - under_way.reindex(range(5), fill_value=0)
    if name not in ("churn", "battery"):
        assert (spent["train"] <= asked_s + 1e-9).all()
        assert (spent["train"] >= shortest - 1e-9).all()
    at_most = spent["train"] + spent["transmit"] + spent["receive"] + spent["asleep"]
    assert (spent["wait"] + spent["off"] <= 20.0 + 1e-9).all()
    assert (spent["wait"] + spent["off"] + at_most >= 20.0 - 1e-6).all() or name in ("csma", "tdma")


@pytest.mark.slow
def test_asking_for_a_timeline_changes_no_other_file(runs, tmp_path):
    folder, summary = runs["churn"]
    tables = CASES["churn"] | {"metrics": BASE["metrics"] | {"timeline": False}}
    loaded = scenario.from_dict(tables, "churn")
    other = engine.play(
        world.build(loaded), loaded.algorithm[0], folder=tmp_path / "plain", timing_only=True
    )
    assert other["event_log_sha256"] == summary["event_log_sha256"]
    assert not (tmp_path / "plain" / "intervals").exists()
    assert "time_s" not in other
    for table in ("messages", "wakes"):
        pd.testing.assert_frame_equal(
            pd.read_parquet(folder / table), pd.read_parquet(tmp_path / "plain" / table)
        )
    shown = json.loads(
        formats.write_run(tmp_path / "plain", "timeline", tmp_path / "t.json").read_text()
    )
    require_chrome_trace(shown)
    assert "metrics.timeline=true" in shown["otherData"]["intervals"]


def test_a_trace_is_packed_by_its_name(runs, tmp_path):
    folder, _ = runs["plain"]
    path = formats.write_run(folder, "timeline", tmp_path / "t.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        assert json.load(file) == trace(folder, tmp_path)


def test_counters_are_those_of_the_tables(runs, tmp_path):
    folder, _ = runs["plain"]
    metrics, log = pd.read_parquet(folder / "metrics"), pd.read_parquet(folder / "messages")
    events = [e for e in trace(folder, tmp_path)["traceEvents"] if e["ph"] == "C"]
    assert len([e for e in events if e["name"].startswith("accuracy")]) == len(
        metrics[(metrics.metric == "accuracy") & metrics.value.notna()]
    )
    for node in range(5):
        mine = [e for e in events if e["pid"] == node + 1 and e["name"] == "messages under way"]
        if not (log.src == node).any():
            continue
        assert mine[-1]["args"]["value"] == 0
        at_s = mine[len(mine) // 2]["ts"] / 1e6
        own = log[log.src == node]
        expected = ((own.t_sent_s <= at_s + 1e-10) & (own.t_done_s > at_s + 1e-10)).sum()
        assert mine[len(mine) // 2]["args"]["value"] == expected


def counters_of(tmp_path, rows, nodes=2):
    """Events with counters of a run: (t_s, node, stage, accuracy)."""
    recorder = Recorder(tmp_path / "run")
    for at_s, node, stage, value in rows:
        recorder.metric(at_s * 10**9, node, "accuracy", stage, value, 1, 0, 0.0)
    recorder.close()
    pd.DataFrame({"node": range(nodes)}).to_parquet(tmp_path / "run" / "nodes.parquet")
    with open_writer(tmp_path / "t.json", {}) as writer:
        counters.write(tmp_path / "run", writer, "accuracy")
    return json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def means_of(events):
    mine = [e for e in events if e["pid"] == counters.NETWORK and e["ph"] == "C"]
    return [(e["name"], int(e["ts"] / 1e6), pytest.approx(e["args"]["value"])) for e in mine]


def test_means_over_nodes_are_over_all_nodes(tmp_path):
    """Node 1 has no model at 0 s; method's own numbers come at each node's own time."""
    events = counters_of(tmp_path, [
        (0, 0, "trained", 0.2), (1, 0, "trained", 0.4), (1, 1, "trained", 0.8),
        (1, 0, RECORDED, 0.1), (2, 1, RECORDED, 0.9),
    ])  # fmt: skip
    assert means_of(events) == [("mean accuracy, trained", 1, 0.6)]


def test_a_stage_has_a_mean_where_every_node_has_it(tmp_path):
    """The last published values may be of different stages; their mean is that of the page."""
    rows = [
        (1, 0, "trained", 0.2), (1, 1, "mixed", 0.4), (2, 0, "trained", 0.6),
        (2, 1, "trained", 0.8), (3, 0, "mixed", 0.5), (3, 1, "trained", 0.7),
    ]  # fmt: skip
    events = counters_of(tmp_path, rows)
    assert means_of(events) == [
        ("mean accuracy", 1, 0.3), ("mean accuracy", 2, 0.7), ("mean accuracy", 3, 0.6),
        ("mean accuracy, trained", 2, 0.7),
    ]  # fmt: skip


def test_a_counter_whose_number_is_not_finite_says_since_when(tmp_path):
    """A counter keeps its level until the next number, and JSON has no number for nan."""
    rows = [
        (t, node, "mixed", np.nan if node == 1 and t in (2, 3) else 0.5)
        for t in range(5)
        for node in (0, 1)
    ]
    told = [
        (e["pid"], e["name"], int(e["ts"] / 1e6))
        for e in counters_of(tmp_path, rows)
        if e["ph"] == "i"
    ]
    assert told == [
        (2, "accuracy, mixed: not finite from here on", 2),
        (counters.NETWORK, "mean accuracy, mixed: not finite from here on", 2),
    ]


def test_messages_that_were_not_used_say_so_at_their_receiver(runs, tmp_path):
    folder, _ = runs["wires"]
    uses = pd.read_parquet(folder / "uses")
    unused = uses[uses.fate.astype(str) != "used"].fate.astype(str).value_counts().to_dict()
    told: dict[str, int] = {}
    for event in trace(folder, tmp_path)["traceEvents"]:
        found = event.get("args", {}).get("arrived, not used", {})
        assert not found or event["name"].endswith("not used")
        for fate, many in found.items():
            told[fate] = told.get(fate, 0) + many
    assert told == unused
    assert told


def test_bits_that_an_older_run_did_not_count_are_empty(runs, tmp_path, monkeypatch):
    folder, _ = runs["plain"]
    whole = run_folder.tables
    monkeypatch.setattr(
        run_folder,
        "tables",
        lambda *asked: (part.drop_columns(["bits_transmitted"]) for part in whole(*asked)),
    )
    csv = formats.write_run(folder, "messages-csv", tmp_path / "m.csv")
    parquet = formats.write_run(folder, "messages-parquet", tmp_path / "m.parquet")
    for found in (pd.read_csv(csv), pd.read_parquet(parquet)):
        assert len(found)
        assert found.bits_transmitted.isna().all()


def test_exported_messages_are_the_log(runs, tmp_path):
    folder, _ = runs["plain"]
    log = pd.read_parquet(folder / "messages")
    csv = formats.write_run(folder, "messages-csv", tmp_path / "m.csv")
    parquet = formats.write_run(folder, "messages-parquet", tmp_path / "m.parquet")
    for found in (pd.read_csv(csv), pd.read_parquet(parquet)):
        assert found.number.tolist() == list(range(1, len(log) + 1))
        assert (found.t_sent_ns / 1e9 == log.t_sent_s).all()
        assert ((found.t_done_ns - found.t_sent_ns) / 1e9 == found.delay_s).all()
        for same in ("src", "dst", "bits", "attempts", "packets_lost", "round"):
            assert (found[same] == log[same]).all()
        assert found.outcome.tolist() == log.outcome.tolist()
    schema = pyarrow.parquet.read_schema(parquet)
    assert schema.field("snr_db").metadata[b"unit"] == b"dB"
    assert pyarrow.csv.read_csv(csv).column_names == schema.names


def test_lanes_are_the_lowest_that_are_free():
    assert list(lanes([(0, 4), (1, 2), (1, 5), (2, 3), (4, 5), (5, 6)])) == [0, 1, 2, 1, 0, 0]


def test_stretches_add_up():
    draws = np.random.default_rng(0)
    for _ in range(50):
        some = union(np.sort(draws.integers(0, 60, (6, 2)), axis=1))
        others = np.sort(draws.integers(0, 60, (4, 2)), axis=1)
        covered = np.zeros(60, dtype=int)
        for begin, end in some:
            covered[begin:end] += 1
        taken = np.zeros(60, dtype=bool)
        for begin, end in others:
            taken[begin:end] = True
        assert covered.max(initial=0) <= 1
        assert (subtract(some, others) @ [-1, 1]).sum() == (covered * ~taken).sum()
        assert (intersect(some, union(others)) @ [-1, 1]).sum() == (covered * taken).sum()
