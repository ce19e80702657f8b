"""`netsim plot`: what it writes, and what it refuses before it writes anything."""

import csv
import json
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.recording import summary
from netsim.recording.recorder import Recorder

S = 10**9


def put(folder, algorithm="local", seed=0, accuracy=0.5, **more):
    """The folder of an invented run of three nodes and two evaluations."""
    recorder = Recorder(folder)
    recorder.nodes({"node": range(3), "train_samples": [10, 10, 10]})
    for t_s in (0, 10):
        recorder.bits_transmitted = 8_000_000 * t_s
        recorder.airtime_ns = t_s * S // 10
        recorder.spent(t_s * S)
        for node in range(3):
            value = accuracy + 0.02 * node + 0.01 * t_s + 0.05 * seed
            recorder.metric(t_s * S, node, "accuracy", "mixed", value, t_s, 0, 0.0)
    (folder / "status.json").write_text('{"state": "done"}')
    told = {"name": "s", "algorithm": algorithm, "seed": seed, "nodes": 3, "virtual_s": 10.0}
    summary.write(folder, {**told, "wall_s": 1.0, **recorder.close(), **more})
    return folder


@pytest.fixture
def runs(here, once):
    def write():
        put(here / "out" / "local")
        put(here / "out" / "fedavg", "fedavg", accuracy=0.6)

    once("two runs", here / "out", write)
    return here / "out"


@pytest.fixture
def swept(here, once):
    """A sweep of two points, two seeds and two methods."""
    once("sweep of two points", here / "swept", lambda: write_sweep(here / "swept"))
    return here / "swept"


def write_sweep(top):
    top.mkdir()
    (top / "scenario.toml").write_text(
        'seed = 0\n[sweep]\nseeds = [0, 1]\n[sweep.over]\n"radio.bandwidth_hz" = [1e6, 5e6]\n'
        '[[algorithm]]\nkind = "fedavg"\nname = "fedavg"\n[[algorithm]]\nkind = "local"\n'
        'name = "local"\n'
    )
    for point, more in (("bandwidth_hz=1e06", 0.0), ("bandwidth_hz=5e06", 0.1)):
        for seed in (0, 1):
            for name in ("fedavg", "local"):
                folder = top / point / f"seed-{seed}" / name
                put(folder, name, seed, 0.5 + more * (name == "fedavg"))


def rows(path):
    with path.open() as text:
        return list(csv.DictReader(text))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("view", ["accuracy", "bytes", "cdf"])
def test_each_view_of_runs_is_a_figure_with_its_numbers(netsim, here, runs, view):
    result = netsim("plot", "out", "--as", view, algorithms=False)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"wrote out-{view}.pdf\nwrote out-{view}.csv\n"
    assert (here / f"out-{view}.pdf").read_bytes().startswith(b"%PDF")
    assert {row["curve"] for row in rows(here / f"out-{view}.csv")} == {"FedAvg", "Local"}


@pytest.mark.slow
def test_a_sweep_is_drawn_over_its_key_with_paired_differences(netsim, here, swept):
    result = netsim(
        "plot", "swept", "--paired-to", "Local", "--out", "f.svg", "--table", algorithms=False
    )
    assert result.exit_code == 0, result.output
    assert "wrote f.svg\nwrote f.csv\nwrote f.md\n" in result.stdout
    found = {
        (row["point"], row["algorithm"]): row
        for row in rows(here / "f.csv")
        if row["metric"] == "accuracy"
    }
    assert float(found["bandwidth_hz=5e06", "fedavg"]["diff"]) == pytest.approx(0.1)
    assert found["bandwidth_hz=5e06", "fedavg"]["diff_to"] == "local"
    assert "Accuracy, difference to Local [pp]" in (here / "f.md").read_text()


@pytest.mark.slow
def test_a_point_of_a_sweep_has_a_curve_a_method(netsim, here, swept):
    result = netsim(
        "plot", "swept/bandwidth_hz=1e06", "--out", "p.png", "--width", "4", algorithms=False
    )
    assert result.exit_code == 0, result.output
    assert {(row["curve"], row["seeds"]) for row in rows(here / "p.csv")} == {
        ("FedAvg", "2"),
        ("Local", "2"),
    }


REFUSED = {
    ("out", "--metric", "acuracy"): r'metrics: metric = acuracy: .*did you mean "accuracy"',
    ("out", "--as", "graph"): r"graph: has no weights",
    ("out", "--as", "cdf", "--metric", "delay"): r"messages: outcome: no message arrived",
    ("out", "--as", "sweep"): r"out: --as sweep: is no folder of a sweep",
    ("out", "swept"): r"swept: is the folder of a sweep; draw it by itself",
    ("swept", "--metric", "enery_j"): r'did you mean "energy_j"',
    ("swept", "--metric", "energy_j"): r"--metric energy_j: no run has it; there are accuracy",
    ("swept", "--paired-to", "locl"): r'--paired-to locl: .*did you mean "local"',
    ("out", "--paired-to", "x"): r"--paired-to x: there is no such curve; there are FedAvg, Local",
    ("out", "--as", "bytes", "--paired-to", "local"): r"differences are taken at equal times",
    ("out", "--as", "cdf", "--band", "std"): r"--band std: --as cdf has no bands",
    ("out", "--width", "colum"): r"--width colum: must be column, text.*did you mean",
    ("out", "--width", "500"): r"--width 500: .* from 1\.5 to 40",
    ("out", "--out", "figure"): r"--out figure: must end with \.pdf, \.svg, \.png",
    ("out", "--out", "f.svg", "--format", "pdf"): r"--format pdf: --out f\.svg ends otherwise",
    ("nothing",): r"nothing: no run here or one folder below",
    ("half",): r'half/status\.json: state = "running": only a run that has ended is drawn',
    ("out", "other"): r"other/summary\.json: task\.metric = loss: out/fedavg is judged by accuracy",
}


@pytest.mark.thinned(6)
@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_can_not_be_drawn_is_said_and_nothing_written(
    netsim, here, runs, swept, written, arguments
):
    put(here / "other", task={"kind": "regression", "metric": "loss", "lower": ["loss"]})
    half = put(here / "half")
    (half / "summary.json").unlink()
    (half / "status.json").write_text(json.dumps({"state": "running", "virtual_s": 5.0}))
    before = written()
    result = netsim("plot", *arguments, algorithms=False)
    assert result.exit_code == 2, result.output
    assert re.search(REFUSED[arguments], result.stderr.replace("\n", " ")), result.stderr
    assert written() == before


@pytest.mark.slow
def test_a_view_is_printed_as_a_table(netsim, here, runs, swept):
    for path, view, told in (
        ("out", "compare", "transmitted"),
        ("out/fedavg", "facts", ""),
        ("swept", "points", "bandwidth_hz=1e06"),
        ("swept", "sweep", "Bandwidth [MHz]"),
    ):
        result = netsim("plot", path, "--as", view, "--format", "text", algorithms=False)
        assert result.exit_code == (0 if told else 2), result.output
        assert told in result.stdout
    assert list(here.glob("*.pdf")) == []


@pytest.mark.slow
def test_no_file_is_replaced_unasked(netsim, here, runs):
    (here / "mine.csv").write_text("mine")
    result = netsim("plot", "out", "--out", "mine.pdf", algorithms=False)
    assert result.exit_code == 2
    assert "mine.csv: is there already; name another file with --out" in result.stderr
    assert (here / "mine.csv").read_text() == "mine"
    assert not (here / "mine.pdf").exists()
    result = netsim("plot", "out", "--out", "mine.pdf", "--overwrite", algorithms=False)
    assert result.exit_code == 0, result.output
    assert rows(here / "mine.csv")


@pytest.mark.slow
def test_runs_are_drawn_without_torch(here, runs):
    code = (
        "import sys; from typer.testing import CliRunner; from netsim.console.app import app\n"
        "done = CliRunner().invoke(app, ['plot', 'out', '--as', 'cdf'])\n"
        "sys.exit(done.exit_code or 'torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("view", ["accuracy", "bytes", "cdf", "graph"])
def test_tables_of_something_else_are_refused(netsim, here, runs, written, view):
    strange = pa.table({"t_s": [1.0], "node": [99], "peer": [98], "weight": ["x"]})
    for name in ("metrics", "traffic", "graph"):
        folder = runs / "fedavg" / name
        folder.mkdir(exist_ok=True)
        for part in folder.glob("part-*"):
            part.unlink()
        pq.write_table(strange, folder / "part-00000.parquet")
    before = written()
    result = netsim("plot", "out", "--as", view, algorithms=False)
    assert result.exit_code == 2, result.output
    table = "graph" if view == "graph" else "metrics"
    assert f"out/fedavg/{table}/part-00000.parquet: " in result.stderr
    assert len(result.stderr.splitlines()) == 1
    (runs / "fedavg" / "metrics" / "part-00000.parquet").write_bytes(b"garbage")
    result = netsim(
        "plot", "out", "--as", view if view != "graph" else "accuracy", algorithms=False
    )
    assert result.exit_code == 2, result.output
    assert "part-00000.parquet: not a table of a run" in result.stderr
    assert written() == before


@pytest.mark.slow
def test_more_curves_than_can_be_told_apart_are_refused(netsim, here):
    for point in range(7):
        for name in ("fedavg", "local"):
            put(here / "many" / f"p{point}" / "seed-0" / name, name)
    result = netsim("plot", "many", algorithms=False)
    assert result.exit_code == 2
    assert "has 14 curves, and a figure at most 12; name some of them, such as many/p0" in (
        result.stderr
    )
