import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from netsim.errors import ProtocolError, ScenarioError
from netsim.recording import run_folder, schema
from netsim.recording.recorder import Recorder

S = 1_000_000_000
NO_AIR = (0, 0, None)


def send(recorder, n=10, start=0, outcome="delivered", kind="Model", bits=100, air=(1, 0, 12.5)):
    for i in range(start, start + n):
        recorder.message(i * S, i * S + 5, i % 3, 1, kind, bits, *air, outcome, i, 5e-9)


def mixed(recorder):
    send(recorder, 4)
    recorder.wake(4 * S, 0, 7, "woke")
    send(recorder, 3, 4, outcome="outage", kind="Hello")
    recorder.job(7 * S, 1, 20)
    send(recorder, 1, 7, outcome="off", air=NO_AIR)
    return recorder.close()


def test_messages_read_back_as_columns_with_units(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.message(1_500_000_000, 2 * S, 3, 4, "Model", 800, 7, 2, 11.0, "partial", 9, 0.5, 980)
    recorder.message(3 * S, 3 * S, 4, 3, "Hello", 64, 0, 0, None, "busy", 10, None)
    recorder.close()
    seen = pd.read_parquet(tmp_path / "messages")
    assert list(seen.columns) == [
        "t_sent_s", "t_done_s", "src", "dst", "kind", "bits", "attempts", "packets_lost",
        "snr_db", "outcome", "round", "age_s", "bits_transmitted",
    ]  # fmt: skip
    assert list(seen.iloc[0]) == [1.5, 2.0, 3, 4, "Model", 800, 7, 2, 11.0, "partial", 9, 0.5, 980]
    assert math.isnan(seen.snr_db[1])
    assert math.isnan(seen.age_s[1])
    assert seen.kind.dtype == "category"


def test_parts_with_new_kinds_read_back_as_one_table(tmp_path):
    recorder = Recorder(tmp_path, part_rows=4)
    for kind in ("A", "B", "C"):
        send(recorder, 5, kind=kind)
    recorder.close()
    seen = pd.read_parquet(tmp_path / "messages")
    assert list(seen.kind) == ["A"] * 5 + ["B"] * 5 + ["C"] * 5
    assert sorted(p.name for p in (tmp_path / "messages").iterdir()) == [
        f"part-0000{i}.parquet" for i in range(4)
    ]


def test_a_run_in_which_nothing_happened_has_readable_empty_tables(tmp_path):
    Recorder(tmp_path).close()
    for table, columns in (
        ("messages", 13),
        ("metrics", 8),
        ("traffic", 3),
        ("graph", 5),
        ("uses", 11),
    ):
        assert pd.read_parquet(tmp_path / table).shape == (0, columns)


def test_metrics_graph_and_nodes_read_back(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.metric(2 * S, 1, "accuracy", "mixed", 0.5, 20, 640, 0.25)
    recorder.graph(2 * S, 1, 0, 0.75)
    recorder.nodes({"node": [0, 1], "x_m": [1.5, 2.5], "class_counts": [[1, 2], [3, 4]]})
    recorder.close()
    assert pd.read_parquet(tmp_path / "metrics").to_dict("records") == [
        {
            "t_s": 2.0, "node": 1, "metric": "accuracy", "stage": "mixed", "value": 0.5,
            "steps": 20, "bits_transmitted": 640, "energy_j": 0.25,
        }
    ]  # fmt: skip
    assert pd.read_parquet(tmp_path / "graph").to_dict("records") == [
        {"t_s": 2.0, "node": 1, "peer": 0, "weight": 0.75, "what": "applied"}
    ]
    assert list(pd.read_parquet(tmp_path / "nodes.parquet").x_m) == [1.5, 2.5]


def test_what_the_network_has_spent_is_recorded_by_time(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.spent(0)
    recorder.bits_transmitted, recorder.airtime_ns = 640, 2 * S
    recorder.spent(3 * S)
    recorder.close()
    assert pd.read_parquet(tmp_path / "traffic").to_dict("records") == [
        {"t_s": 0.0, "bits_transmitted": 0, "airtime_s": 0.0},
        {"t_s": 3.0, "bits_transmitted": 640, "airtime_s": 2.0},
    ]


def test_bits_transmitted_leave_the_fingerprint_as_it_is():
    """It is of what happened; how much each message took follows from that."""
    found = []
    for bits in (0, 500):
        recorder = Recorder(None)
        recorder.message(0, S, 0, 1, "Model", 100, 1, 0, None, "delivered", 1, 1.0, bits)
        found.append(recorder.close()["event_log_sha256"])
    assert found[0] == found[1]


def test_totals_add_up():
    recorder = Recorder(None)
    for outcome, n in (("delivered", 5), ("partial", 1), ("outage", 2), ("deadline", 3)):
        send(recorder, n, outcome=outcome)
    send(recorder, 4, outcome="off", kind="Hello", air=NO_AIR)
    recorder.airtime_ns += 3 * S // 2
    recorder.bits_transmitted += 1234
    recorder.wake(0, 0, 0, "woke")
    recorder.wake(0, 1, 0, "skipped")
    recorder.job(0, 0, 20)
    recorder.job(0, 1, 5)
    totals = recorder.close()
    assert totals["messages"] == {
        "sent": 15, "delivered": 5, "partial": 1, "lost": 6, "expired": 3, "withdrawn": 0,
        "bits_offered": 1500, "bits_transmitted": 1234, "bits_delivered": 500, "airtime_s": 1.5,
    }  # fmt: skip
    assert totals["outcomes"] == {
        "Model": {"delivered": 5, "partial": 1, "outage": 2, "deadline": 3},
        "Hello": {"off": 4},
    }
    assert totals["wakes"] == {"woke": 1, "skipped": 1}
    assert totals["local_steps"] == 25


def test_totals_and_fingerprint_depend_neither_on_the_folder_nor_on_part_size(tmp_path):
    recorders = (
        Recorder(None),
        Recorder(None, part_rows=1),
        Recorder(tmp_path / "a", part_rows=3),
        Recorder(tmp_path / "b", log_messages=False),
    )
    found = [mixed(recorder) for recorder in recorders]
    assert all(a == b for a, b in pairwise(found))
    assert not (tmp_path / "b" / "messages").exists()


def test_a_checkpoint_leaves_readable_parts_and_the_same_fingerprint(tmp_path):
    recorder = Recorder(tmp_path)
    send(recorder, 4)
    recorder.checkpoint()
    assert not list((tmp_path / "messages").iterdir())
    recorder.write_every_s = 0.0
    recorder.checkpoint()
    assert len(pd.read_parquet(tmp_path / "messages")) == 4
    recorder.wake(4 * S, 0, 7, "woke")
    recorder.checkpoint()
    send(recorder, 3, 4, outcome="outage", kind="Hello")
    recorder.job(7 * S, 1, 20)
    send(recorder, 1, 7, outcome="off", air=NO_AIR)
    assert recorder.close() == mixed(Recorder(None))


def fingerprint(*events):
    recorder = Recorder(None)
    for name, *arguments in events:
        getattr(recorder, name)(*arguments)
    return recorder.close()["event_log_sha256"]


MESSAGE = ("message", 0, 5, 0, 1, "Model", 100, 1, 0, 12.5, "delivered", 3, 0.5)
WAKE = ("wake", 0, 0, 3, "woke")
JOB = ("job", 0, 0, 20)


def test_fingerprint_sees_every_field_of_an_event():
    seen = {fingerprint(MESSAGE, WAKE, JOB)}
    for k, event in enumerate((MESSAGE, WAKE, JOB)):
        for i, field in enumerate(event[1:], start=1):
            other = {"Model": "Hello", "delivered": "off", "woke": "skipped"}.get(field)
            changed = (*event[:i], other or field + 1, *event[i + 1 :])
            events = [MESSAGE, WAKE, JOB]
            events[k] = changed
            seen.add(fingerprint(*events))
    assert len(seen) == 1 + 12 + 4 + 3


def test_fingerprint_sees_the_order_of_events():
    orders = (
        (MESSAGE, WAKE, JOB), (WAKE, MESSAGE, JOB), (MESSAGE, JOB, WAKE), (WAKE, JOB, MESSAGE),
    )  # fmt: skip
    assert len({fingerprint(*order) for order in orders}) == len(orders)


def test_fingerprint_ignores_measurements_and_last_bits_of_decibels():
    snr = (*MESSAGE[:9], np.nextafter(12.5, 13), *MESSAGE[10:])
    plain = fingerprint(MESSAGE)
    assert fingerprint(snr) == plain
    measured = ("metric", 0, 0, "accuracy", "mixed", 0.5, 1, 1, 1.0)
    assert fingerprint(MESSAGE, measured, ("graph", 0, 0, 1, 0.5)) == plain


def test_unknown_outcome_is_refused_by_name():
    recorder = Recorder(None)
    send(recorder, 1, outcome="vanished")
    with pytest.raises(ProtocolError, match="vanished"):
        recorder.close()


def test_two_runs_do_not_mix_in_one_folder(tmp_path):
    recorder = Recorder(tmp_path)
    send(recorder)
    recorder.close()
    with pytest.raises(ScenarioError, match="already holds a run"):
        Recorder(tmp_path)


def test_closing_twice_gives_the_same_totals(tmp_path):
    recorder = Recorder(tmp_path)
    send(recorder)
    assert recorder.close() == recorder.close()
    assert len(pd.read_parquet(tmp_path / "messages")) == 10


@pytest.mark.parametrize("in_folder", [True, False])
def test_metric_rows_come_with_and_without_a_folder(tmp_path, in_folder):
    recorder = Recorder(tmp_path if in_folder else None, part_rows=2)
    assert len(recorder.metric_rows()["value"]) == 0
    for i in range(5):
        recorder.metric(i * S, i, "loss", "trained", i / 4, i, i, 0.0)
    rows = recorder.metric_rows()
    assert rows["t_s"].tolist() == [0, 1, 2, 3, 4]
    assert rows["metric"].tolist() == ["loss"] * 5
    assert rows["value"].tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_a_row_has_the_columns_of_its_table_and_may_be_given_by_name(tmp_path):
    rows = (schema.MessageRow, schema.OtherEventRow, schema.MetricRow, schema.TrafficRow,
            schema.GraphRow, schema.UseRow, schema.IntervalRow, schema.HopRow)  # fmt: skip
    for row, columns in zip(rows, schema.TABLES.values(), strict=True):
        of_fields = [name.removesuffix("_ns") for name in row._fields]
        in_file = [column.name for column in columns]
        assert len(of_fields) == len(in_file)
        for field, name, column in zip(of_fields, in_file, columns, strict=True):
            assert name == (f"{field}_s" if column.kind == "time" else name)
    recorder = Recorder(tmp_path)
    recorder.graph(weight=0.25, peer=2, node=1, t_ns=3 * S)
    recorder.close()
    read = run_folder.read(tmp_path, "graph")
    assert [read[c][0] for c in ("t_s", "node", "peer", "weight", "what")] == [
        3.0, 1, 2, 0.25, "applied",
    ]  # fmt: skip
