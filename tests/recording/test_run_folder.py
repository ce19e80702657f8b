"""The typed reader: what a run writes is read as it is, all else is one sentence with its place."""

import os
import socket
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.errors import ScenarioError, printable
from netsim.recording import checksums, json_files, run_folder
from netsim.recording.recorder import Recorder
from netsim.recording.schema import NODE_COLUMNS, TABLES
from netsim.recording.uses import Fates
from netsim.recording.whole_files import write_text
from netsim.registry import MOST

S = 1_000_000_000
EVIL = "(__import__('pathlib').Path('executed').touch() or '')"


@pytest.fixture
def run(tmp_path):
    """Three nodes, two rows of every table."""
    recorder = Recorder(tmp_path, timeline=True, hops=True)
    recorder.nodes(
        {
            "node": range(3), "role": ["node"] * 3, "malicious": [False] * 3, "speed": [1.0] * 3,
            "step_s": [0.1] * 3, "delay_s": [0.5] * 3, "train_samples": [4] * 3,
            "validation_samples": [1] * 3, "test_samples": [1] * 3, "class_counts": [[1, 3]] * 3,
            "parameters": [7] * 3,
            "x_m": [0.0, -1.0, 2.0], "y_m": [0.0] * 3, "z_m": [1.5] * 3, "tx_power_dbm": [-3.0] * 3,
            "battery_j": [None, 2.0, 3.0], "sleep_period_s": [None, 1.0, 1.0],
            "sleep_awake_s": [None, 0.5, 0.5], "sleep_offset_s": [None, 0.0, 0.0],
            "mobility_id": ["a", "b", None], "contact_id": ["c", "", "d"],
            "topology_id": [None] * 3,
        }
    )  # fmt: skip
    for k in (1, 2):
        recorder.message(0, k * S, 0, k, "Model", 80, 1, 0, None, "delivered", k, None, 90)
        recorder.wake(k * S, k, k, "woke")
        recorder.metric(k * S, k, "loss", "trained", float("nan"), k, 80, 0.5)
        recorder.spent(k * S)
        recorder.graph(k * S, k, 0, -0.5)
        fates = Fates(recorder.uses, 0, "Model", 0)
        fates.arrive((k,), k - 1, k * S)
        recorder.uses.read(k, [SimpleNamespace(bringer=fates)], k * S, "mix", (0.5,))
        recorder.intervals.works(0, k, "train", 0, k * S)
        recorder.hop(0, k * S, 0, k, 0, 2, 0, 80, "delivered", 1, 90)
    recorder.intervals.end(2 * S)
    recorder.close()
    return tmp_path


def part(run, name):
    (path,) = (run / name).glob("*.parquet") if name != "nodes" else [run / run_folder.NODES]
    return path


def read(run, name):
    return run_folder.nodes(run) if name == "nodes" else run_folder.read(run, name)


def change(path, column, cells):
    """Write a table with other cells in one column."""
    table = pq.read_table(path)
    place = table.column_names.index(column)
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    pq.write_table(table.set_column(place, column, cells), path)


COLUMNS = [
    (name, column) for name, some in (*TABLES.items(), ("nodes", NODE_COLUMNS)) for column in some
]


def test_names_of_nodes_are_read_as_texts_and_missing_ones_as_empty(run):
    found = run_folder.nodes(run)
    assert [found[f"{of}_id"].tolist() for of in ("mobility", "contact", "topology")] == [
        ["a", "b", ""], ["c", "", "d"], [""] * 3
    ]  # fmt: skip


def test_what_a_run_writes_is_read_in_the_types_of_the_schema(run):
    types = {"time": "f8", "real": "f8", "id": "i4", "count": "i8", "word": "O", "flag": "?"}
    for name, columns in (*TABLES.items(), ("nodes", NODE_COLUMNS)):
        rows = read(run, name)
        assert list(rows) == [column.name for column in columns]
        for column in columns:
            if column.kind != "counts":
                assert rows[column.name].dtype == np.dtype(types[column.kind]), column


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=lambda of: getattr(of, "name", of))
def test_a_column_of_another_type_is_named(run, name, column):
    rows = pq.read_metadata(part(run, name)).num_rows
    wrong = [pa.array([{"a": 1}] * rows), pa.array([b"\xff"] * rows)]
    if column.kind != "word":
        wrong.append(pa.array([EVIL] * rows))
    if column.kind != "flag":
        wrong.append(pa.array([True] * rows))
    for cells in wrong:
        change(part(run, name), column.name, cells)
        with pytest.raises(ScenarioError) as refused:
            read(run, name)
        said = str(refused.value)
        assert f"{part(run, name)}: column {column.name}: holds " in said
        assert len(said.splitlines()) == 1
    assert not os.path.exists("executed")


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=lambda of: getattr(of, "name", of))
def test_the_first_cell_that_can_not_be_is_named(run, name, column):
    table = pq.read_table(part(run, name))
    cells, last = table[column.name].to_pylist(), table.num_rows - 1
    strange = {
        "time": [-1.0, float("nan"), float("inf"), 1e10],
        "real": [] if column.is_unknown else [float("nan"), float("inf"), 1e200],
        "id": [-2, 3 if column.is_node or name == "nodes" else -5],
        "count": [-1, 1 << 60],
        "word": ["?"] if column.words else [],
        "counts": [[1], [1, -1]],
        "flag": [],
    }[column.kind]  # fmt: skip
    if column.kind == "real" and column.least == 0.0:
        strange = [*strange, -1.0]
    for cell in [*strange, *([] if column.is_unknown else [None])]:
        kind = table.schema.field(column.name).type
        kind = pa.string() if column.kind == "word" else kind
        change(part(run, name), column.name, pa.array([*cells[:last], cell], kind))
        with pytest.raises(ScenarioError) as refused:
            read(run, name)
        said = str(refused.value)
        assert f"{part(run, name)}: column {column.name}" in said
        if cell != [1, -1]:
            assert f", row {last}: " in said or (", row" not in said and "nodes" in said)
        assert len(said.splitlines()) == 1


def test_a_message_that_ends_before_it_was_sent(run):
    change(part(run, "messages"), "t_sent_s", [0.0, 2.5])
    with pytest.raises(ScenarioError, match=r"column t_done_s, row 1: 2\.0: less than t_sent_s"):
        run_folder.read(run, "messages")


def test_a_column_that_is_missing_is_named_and_one_more_is_not_read(run):
    path = part(run, "metrics")
    table = pq.read_table(path)
    pq.write_table(table.append_column("more", pa.array([EVIL] * 2)), path)
    assert "more" not in run_folder.read(run, "metrics")
    pq.write_table(table.drop_columns(["steps"]), path)
    with pytest.raises(ScenarioError, match=f"{path}: has no column steps"):
        run_folder.read(run, "metrics")
    pq.write_table(table.drop_columns(["bits_transmitted"]), path)  # older runs have none
    assert "bits_transmitted" not in run_folder.read(run, "metrics")


def test_parts_that_do_not_fit_each_other(run):
    first = part(run, "metrics")
    later = first.with_name("part-00001.parquet")
    pq.write_table(pq.read_table(first).drop_columns(["bits_transmitted"]), later)
    with pytest.raises(ScenarioError, match=f"{later}: has other columns than the part before it"):
        run_folder.read(run, "metrics")


# -- what is no plain file -----------------------------------------------------------------------


def put(path, what):
    """Something else in the place of a file."""
    content = path.read_bytes()
    path.unlink()
    if what == "link":
        kept = path.with_name(f"kept-{path.name}")
        kept.write_bytes(content)
        path.symlink_to(kept)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "device", "socket"])
def test_what_is_no_plain_file_is_not_opened(run, what, monkeypatch):
    monkeypatch.chdir(run)
    readers = {
        "traffic/part-00000.parquet": lambda: run_folder.read(run, "traffic"),
        "nodes.parquet": lambda: run_folder.nodes(run),
        "summary.json": lambda: run_folder.summary(run),
        "status.json": lambda: run_folder.status(run),
        "environment.json": lambda: run_folder.environment(run),
        "scenario.toml": lambda: run_folder.scenario(run),
    }
    for name, ask in readers.items():
        path = run / name
        if not path.exists():
            path.write_text("" if name.endswith("toml") else "{}")
        ask()
        put(path, what)
        named = "link" if what == "device" else what
        with pytest.raises(ScenarioError, match=f"{path}: is a {named}"):
            ask()


def test_a_table_that_is_a_link_is_not_followed(run):
    (run / "traffic").rename(run / "elsewhere")
    (run / "traffic").symlink_to(run / "elsewhere")
    with pytest.raises(ScenarioError, match=f"{run / 'traffic'}: is a link"):
        run_folder.read(run, "traffic")


def test_a_huge_file_is_refused_before_it_is_read(run):
    for name in ("summary.json", "status.json"):
        with (run / name).open("wb") as file:
            file.truncate(5 << 30)
    with pytest.raises(ScenarioError, match="holds more than 64 MiB"):
        run_folder.summary(run)
    with pytest.raises(ScenarioError, match="holds more than 1 MiB"):
        run_folder.status(run)
    with part(run, "traffic").open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(ScenarioError, match="not a table of a run"):
        run_folder.read(run, "traffic")


def test_parts_that_unpack_to_far_more_than_their_files(run, monkeypatch):
    monkeypatch.setattr(run_folder, "MOST_BYTES", 1 << 22)
    rows = 100_000
    table = pa.table(
        {"t_s": [0.0] * rows, "bits_transmitted": [0] * rows, "airtime_s": [0.0] * rows}
    )
    for k in range(4):
        pq.write_table(table, run / "traffic" / f"part-{k:05d}.parquet", compression="zstd")
    with pytest.raises(ScenarioError, match="more than 100 times the memory of its files"):
        run_folder.read(run, "traffic")


# -- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", r"is \[\], must be a table"),
        ('{"a": NaN}', "not JSON: it holds NaN"),
        ('{"virtual_s": 1e999}', "virtual_s: is inf, must be a number"),
        ('{"nodes": true}', "nodes: is True, must be a whole number"),
        ('{"nodes": 1' + "0" * 400 + "}", "nodes: is 1000"),
        ('{"wall_s": null}', "wall_s: is None, must be a number"),
        ('{"task": {"metric": 3}}', "task.metric: is 3, must be a text"),
        ('{"warnings": ["a", 3]}', r"warnings\[1\]: is 3, must be a text"),
        ('{"diverged": [{"t_s": "x"}]}', r"diverged\[0\].t_s: is x, must be a number"),
        ('{"iou": {"mean": "x"}}', "iou.mean: is x, must be a number or null"),
        ('{"warnings": {"\\u001b[2J": 1}}', "warnings: is"),
    ],
)
def test_a_summary_of_another_form(run, content, said):
    (run / "summary.json").write_text(content)
    with pytest.raises(ScenarioError, match=said) as refused:
        run_folder.summary(run)
    assert str(refused.value) == printable(str(refused.value))
    assert len(str(refused.value).splitlines()) == 1


def test_nodes_are_as_many_as_the_table_has(run):
    assert run_folder.nodes_of(run, {"nodes": 3}) == run_folder.nodes_of(run, {}) == 3
    with pytest.raises(ScenarioError, match=r"summary.json: nodes: is 4, nodes.parquet has 3"):
        run_folder.nodes_of(run, {"nodes": 4})


def test_keys_of_a_scenario_that_are_not_checked_are_not_given(run):
    (run / "scenario.toml").write_text("[energy]\nharvest = 'sun'\n")
    with pytest.raises(ScenarioError, match=r"energy.harvest: is sun, must be a table"):
        run_folder.scenario(run)
    (run / "scenario.toml").write_text("[energy]\ncompute = 3\nbattery_j = 2\n[wired]\n")
    assert run_folder.scenario(run) == {"energy": {"battery_j": 2}}
    assert "wired" in run_folder.scenario_tables(run)


def test_a_scenario_of_another_form(run):
    (run / "scenario.toml").write_text("exchange = 3\n")
    with pytest.raises(ScenarioError, match=r"scenario.toml: exchange: is 3, must be a table"):
        run_folder.scenario(run)
    (run / "scenario.toml").write_text("[[algorithm]]\nkind = 3\n")
    with pytest.raises(ScenarioError, match=r"scenario.toml: algorithm.kind: is 3, must be a text"):
        run_folder.scenario(run)


# -- written whole -------------------------------------------------------------------------------


def test_several_that_write_one_file_at_once_all_write_it(tmp_path):
    path, texts = tmp_path / "report.html", [str(k) * 200_000 for k in range(6)]
    failed = []

    def write(text):
        try:
            for _ in range(5):
                write_text(path, text)
        except Exception as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("read", [run_folder.has, run_folder.rows, run_folder.table])
@pytest.mark.parametrize("change", ["lost", "added", "moved"])
def test_parts_of_a_run_that_has_ended_are_those_that_it_lists(run, read, change):
    first = run / "messages" / "part-00000.parquet"
    assert first.is_file()
    checksums.write(run)
    read(run, "messages")
    if change != "added":
        held = first.read_bytes()
        first.unlink()
    if change != "lost":
        other = first.with_name("part-00001.parquet")
        other.write_bytes(held if change == "moved" else first.read_bytes())
    with pytest.raises(ScenarioError, match=r"part-0000\d\.parquet: is .* the run has written"):
        read(run, "messages")


def test_a_run_that_is_under_way_may_have_any_parts(run):
    (run / "messages" / "part-00000.parquet").unlink()
    assert not run_folder.has(run, "messages")


@pytest.mark.parametrize("form", [json_files.WHOLE, json_files.NUMBER])
def test_every_whole_number_that_a_key_takes_is_read(form):
    """A seed of 2^63 - 1 is one."""
    for value in (MOST, -MOST):
        json_files.require_form("summary.json", "seed", value, form)
    with pytest.raises(ScenarioError, match=r"summary.json: seed: is 9223372036854775808, must be"):
        json_files.require_form("summary.json", "seed", MOST + 1, form)
