"""`netsim run --log`: what dashboards hold, read back with their own libraries."""

import json
import sys

import numpy as np
import pandas as pd
import pytest


def metrics_of(folder) -> pd.DataFrame:
    """Statistics over nodes, from when as many are measured as at the end."""
    rows = pd.read_parquet(folder / "metrics").astype({"metric": str})
    found = rows.groupby(["metric", "t_s"]).value.agg(
        ["mean", lambda v: v.std(ddof=0), "min", "max", "count"]
    ).set_axis(["mean", "std", "min", "max", "nodes"], axis=1)  # fmt: skip
    whole = found.nodes >= found.nodes.groupby("metric").transform("last")
    return found[whole.groupby("metric").cummax()].drop(columns="nodes")


def records_of(content: bytes):
    """The records of a `.wandb` file: LevelDB's log format after seven bytes of its own."""
    block, at, record = 1 << 15, 7, b""
    while at + 7 <= len(content):
        if block - at % block < 7:  # too short for a header
            at += block - at % block
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        record += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield record
            record = b""


RUN = ("run", "s.toml", "-q", "--no-figures", "--no-report")
TWO = ("--set", "algorithm=[{kind='dpsgd'},{kind='alone'}]")


@pytest.mark.slow
def test_tensorboard_reads_what_the_tables_hold(netsim, here):
    pytest.importorskip("tensorboard", reason="pip install 'netsim-dfl[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    result = netsim(*RUN, *TWO, "--out", "out", "--log", "tensorboard")
    assert result.exit_code == 0, result.output
    for algorithm in ("dpsgd", "alone"):
        folder = here / "out" / algorithm
        told = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
        told.Reload()
        table = metrics_of(folder)
        for metric in table.index.get_level_values(0).unique():
            for column in table.columns:
                points = told.Scalars(f"{metric}/{column}")
                want = table.loc[metric, column]
                assert [point.step for point in points] == [round(1e3 * t) for t in want.index]
                np.testing.assert_allclose([p.wall_time for p in points], want.index)
                np.testing.assert_allclose([p.value for p in points], want, rtol=1e-6, atol=1e-7)
        traffic = pd.read_parquet(folder / "traffic")
        points = told.Scalars("traffic/transmitted_megabytes")
        np.testing.assert_allclose([p.value for p in points], traffic.bits_transmitted / 8e6)
        by_time = dict(zip(traffic.t_s, traffic.bits_transmitted, strict=True))
        against = told.Scalars("against_kilobits/accuracy")
        kilobits = [round(by_time[t] / 1e3) for t in table.loc["accuracy"].index]
        assert [point.step for point in against] == kilobits
        summary = json.loads((folder / "summary.json").read_text())
        assert told.Scalars("final/accuracy")[0].value == pytest.approx(summary["accuracy"]["mean"])
        assert "_hparams_/session_start_info" in told.summary_metadata
        text = told.Tensors("scenario/text_summary")[0].tensor_proto.string_val[0].decode()
        assert "horizon_s = 4.0" in text
    alone = netsim(*RUN, *TWO, "--out", "plain")
    assert alone.exit_code == 0
    for algorithm in ("dpsgd", "alone"):
        sums = [
            json.loads((here / out / algorithm / "summary.json").read_text())["event_log_sha256"]
            for out in ("out", "plain")
        ]
        assert sums[0] == sums[1]
        assert netsim("verify", f"out/{algorithm}", "--no-rerun").exit_code == 0


@pytest.mark.slow
def test_a_run_without_learning_has_traffic_alone(netsim, here):
    pytest.importorskip("tensorboard", reason="pip install 'netsim-dfl[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    played = (*RUN, "--timing-only", "--set", "algorithm={kind='dpsgd'}", "--out", "out")
    assert netsim(*played, "--log", "tensorboard").exit_code == 0
    told = EventAccumulator(str(here / "out" / "tensorboard"))
    told.Reload()
    assert "traffic/messages_ended" in told.Tags()["scalars"]
    assert [tag for tag in told.Tags()["scalars"] if tag.startswith("accuracy")] == []


@pytest.mark.slow
def test_a_run_that_was_not_logged_is_exported_as_if_it_had_been(netsim, here):
    pytest.importorskip("tensorboard", reason="pip install 'netsim-dfl[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert netsim(*RUN, "--out", "out", "--log", "tensorboard").exit_code == 0
    result = netsim("export", "out", "--as", "tensorboard")
    assert result.exit_code == 0, result.output
    live, exported = (
        EventAccumulator(str(here / folder / "tensorboard"), size_guidance={"scalars": 0})
        for folder in ("out", "out.tensorboard")
    )
    live.Reload()
    exported.Reload()
    counts = {"traffic/messages_ended", "traffic/local_steps"}
    tags = set(exported.Tags()["scalars"])
    assert tags == set(live.Tags()["scalars"]) - counts
    for tag in tags:
        assert exported.Scalars(tag) == live.Scalars(tag)
    assert "_hparams_/session_start_info" in exported.summary_metadata
    again = netsim("export", "out", "--as", "tensorboard")
    assert again.exit_code == 2
    assert "is there already" in again.output


def test_wandb_keeps_offline_what_the_tables_hold(netsim, here, monkeypatch):
    pytest.importorskip("wandb", reason="pip install 'netsim-dfl[wandb]'")
    from wandb.proto import wandb_internal_pb2 as records

    monkeypatch.setenv("WANDB_MODE", "online")  # the option alone says what leaves the machine
    result = netsim(*RUN, "--out", "out", "--log", "wandb")
    assert result.exit_code == 0, result.output
    (path,) = (here / "out" / "wandb").glob("offline-run-*/*.wandb")
    rows, config, known, kept = [], {}, set(), []
    for data in records_of(path.read_bytes()):
        record = records.Record()
        record.ParseFromString(data)
        kept.append(record)
        known.add(record.WhichOneof("record_type"))
        if record.HasField("history"):
            rows.append({
                item.key or ".".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            })  # fmt: skip
        for item in record.run.config.update:
            config[item.key] = json.loads(item.value_json)
    table = metrics_of(here / "out")
    for t_s, want in table.loc["accuracy"].iterrows():
        (row,) = [row for row in rows if row["virtual_s"] == t_s and "accuracy/mean" in row]
        assert [row[f"accuracy/{name}"] for name in table.columns] == pytest.approx(list(want))
        assert "kilobits_on_air" in row
    assert config["horizon_s"] == 4.0
    assert not any(record.run.host for record in kept)  # the machine's name
    assert not known & {
        "stats",
        "output",
        "output_raw",
    }  # neither the machine's load nor a terminal
    assert netsim("verify", "out", "--no-rerun").exit_code == 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_nothing_is_exported_without_its_library(netsim, here, written, monkeypatch, name):
    assert netsim(*RUN, "--timing-only", "--out", "out").exit_code == 0
    monkeypatch.setitem(sys.modules, name, None)
    before = written()
    result = netsim("export", "out", "--as", name)
    assert result.exit_code == 2
    assert f"--as {name}: needs {name}: pip install 'netsim-dfl[{name}]'" in result.output
    assert written() == before


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_without_its_library_nothing_is_written(netsim, here, written, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    before = written()
    result = netsim(*RUN, "--log", name)
    assert result.exit_code == 2
    assert f"pip install 'netsim-dfl[{name}]'" in result.output
    assert written() == before
