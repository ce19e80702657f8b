import importlib
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from netsim.backends.native.library import load_library, why_missing
from netsim.protocols.declaration import declaration_of
from netsim.registry import family
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

NATIVE = "stacked" if why_missing() else f"native/{load_library().variant().name}"
"""Backend of the nodes unless another is named."""

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="an installed package has none")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Call a benchmark with command-line arguments; return the JSON that it wrote."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setenv("NETSIM_ROUTES", "")  # a benchmark sets it: undone at the end
    import _timing

    monkeypatch.setitem(_timing.GEMM, "cpu", 64)

    def call(name, *arguments):
        written = tmp_path / "found.json"
        importlib.import_module(name).main([*map(str, arguments), "--json", str(written)])
        return json.loads(written.read_text())

    return call


@pytest.mark.slow
def test_local_sgd_tells_backend_and_ratio(run):
    cells = run("local_sgd", "--model", "a", "--nodes", 8, "--batch", 4, "--seconds", 0)["cells"]
    (cell,) = cells
    assert cell["parameters"] == 9_610
    assert cell["backend"] == NATIVE
    assert cell["ratio"] == pytest.approx(cell["plain us/step"] / cell["us/step"])


@pytest.mark.slow
def test_local_sgd_goes_one_by_one_where_that_is_asked_for(run):
    found = run("local_sgd", "--model", "a", "--nodes", 3, "--backend", "sequential",
                "--batch", 4, "--seconds", 0)  # fmt: skip
    assert found["cells"][0]["backend"] == "sequential"


NEEDS_KERNEL = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


@pytest.mark.slow
@pytest.mark.parametrize("backend", [pytest.param("native", marks=NEEDS_KERNEL), "stacked"])
def test_the_backends_call_alone_is_measured_where_it_is_the_way(run, backend):
    found = run("local_sgd", "--model", "a", "--nodes", 8, "--batch", 4, "--seconds", 0, "--kernel",
                "--backend", backend, "--threads", "auto")  # fmt: skip
    (cell,) = found["cells"]
    assert cell["backend"] == (NATIVE if backend == "native" else backend)
    assert cell["threads"] == "auto"
    assert cell["kernel ratio"] == pytest.approx(cell["plain us/step"] / cell["kernel us/step"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local_sgd", "async_gossip"])
def test_one_thread_is_set_against_two_beside_a_busy_process(run, name):
    more = ["--jobs", 15] if name == "async_gossip" else []
    found = run(name, "--model", "a", "--nodes", 6, "--batch", 4, "--seconds", 0, *more,
                "--cores", 2, "--busy", 1)  # fmt: skip
    (cell,) = found["cells"]
    assert (cell["backend"], cell["equal bits"]) == (NATIVE, "yes")
    assert cell["ratio"] == pytest.approx(cell["ms"] / cell["ms by threads"])
    assert "cores of this process" in found["remark"]


@pytest.mark.slow
def test_routes_times_every_backend_and_names_where_native_loses(run, capsys):
    import routes

    cells = run("routes", "--model", "a", "--nodes", 1, 4, "--batch", 4, "--seconds", 0.1)["cells"]
    assert [(c["nodes"], c["job"]) for c in cells] == [
        (1, "train"), (1, "infer"), (4, "train"), (4, "infer"),
    ]  # fmt: skip
    assert all(c["sequential us"] > 0 for c in cells)
    lost = {"model": "a", "nodes": 1, "batch": 4, "job": "infer", "over stacked": 0.5}
    assert len(routes.slower([*cells, lost])) == len(routes.slower(cells)) + 1


@pytest.mark.slow
def test_a_cell_that_does_not_fit_is_left_out_with_its_reason(run, monkeypatch):
    import _timing
    import local_sgd

    assert _timing.available_bytes("cpu") > 0
    monkeypatch.setattr(local_sgd, "available_bytes", lambda device: 2**20)
    (cell,) = run("local_sgd", "--model", "d", "--nodes", 1000, "--batch", 4, "--seconds", 0)[
        "cells"
    ]
    assert "GiB" in cell["left_out"]
    assert "ratio" not in cell


@pytest.mark.slow
def test_whole_runs_are_alike_with_each_backend(run):
    cells = run("whole_runs", "quickstart=10", "--algorithms", "local", "--rounds")["cells"]
    (cell,) = cells
    (plain, auto) = (cell[backend][0] for backend in ("sequential", "auto"))
    assert plain["event_log_sha256"] == auto["event_log_sha256"]
    assert plain["accuracy"] == pytest.approx(auto["accuracy"], abs=0.02)
    assert plain["local_steps"] == auto["local_steps"] > 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("model", "parameters"), [("a", 9_610), ("b", 39_769), ("c", 62_006), ("d", 970_847)]
)
def test_models_are_those_of_the_report(run, model, parameters):
    import _setting

    built = _setting.own_starts(model, 2, 4, "sequential", "cpu")
    assert built.architectures[0].num_parameters == parameters
    assert not built.initial[0].equal(built.initial[1])


def test_the_plain_loop_starts_where_the_nodes_start(run):
    import _setting
    import torch

    built = _setting.own_starts("b", 3, 4, "sequential", "cpu")
    loop = _setting.PlainLoop(built)
    size = built.architectures[0].num_parameters
    before = [row.clone() for row in built.initial]
    for row, model in zip(before, loop.models, strict=True):
        flat = torch.nn.utils.parameters_to_vector(model.parameters())
        assert flat.equal(row[:size])
    loop.average(0, (1, 2))
    flat = torch.nn.utils.parameters_to_vector(loop.models[0].parameters())
    torch.testing.assert_close(flat.detach(), sum(before)[:size] / 3)
    loop.train(0, 1)
    assert all(a.equal(b) for a, b in zip(before, built.initial, strict=True))


@pytest.mark.slow
def test_gossip_counts_the_same_jobs_on_both_sides(run):
    found = run("async_gossip", "--nodes", 6, "--batch", 4, "--jobs", 15, "--seconds", 0)
    (cell,) = found["cells"]
    assert cell["jobs"] > 5
    assert cell["messages"] > cell["jobs"]
    assert cell["backend"] == NATIVE
    assert cell["ratio"] > 0


@pytest.mark.slow
def test_time_is_split_into_parts_that_make_a_whole(run, monkeypatch, tmp_path):
    import where_time_goes

    monkeypatch.setitem(where_time_goes.JOBS, "a", 30)
    picture = tmp_path / "parts.png"
    found = run("where_time_goes", "--nodes", 10, "--batch", 4, "--png", picture, "--seconds", 0)
    shares = found["cells"][0]["shares"]
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[where_time_goes.TENSORS] > 0
    assert picture.stat().st_size > 0


@pytest.mark.slow
def test_gpu_plays_every_part_and_goes_on_where_it_was_broken_off(monkeypatch, tmp_path, run):
    import gpu

    written = tmp_path / "gpu.json"
    arguments = ["--device", "cpu", "--tiny", "--json", str(written)]
    gpu.main([*arguments, "--part", "memory"])
    first = json.loads(written.read_text())["parts"]["memory"]
    gpu.main(arguments)
    parts = json.loads(written.read_text())["parts"]
    assert parts["memory"] == first
    assert set(parts) == set(gpu.PARTS)
    assert all(len(parts[name]) == len(part.cells(True)) for name, part in gpu.PARTS.items())
    assert not any("failed" in cell or "left_out" in cell for p in parts.values() for cell in p)
    assert all(cell["agrees"] for cell in [*parts["parity"], *parts["methods"]])
    events = {(cell["scenario"], cell["events"]) for cell in parts["training"]}
    assert len(events) == len({cell["scenario"] for cell in parts["training"]})


def test_every_model_is_compared_on_a_gpu_with_inputs_that_it_takes(run):
    import _parity

    models = family("netsim.models")
    compared = {case["model"] for case in _parity.cases(False)}
    assert compared | set(_parity.OTHER_TASKS) == set(models)
    for model in compared:
        shape = _parity.shape_of(model)
        assert all(size <= 84 for size in shape[1:])
        assert len(shape) > 1 or shape[0] <= 296  # else a cell takes minutes
        keys = {"backbone": {"kind": "lenet"}} if model == "mapl" else {}
        models[model].model_validate({"kind": model, **keys}).build(shape, _parity.CLASSES)


def test_gpu_names_what_fails_or_does_not_fit(run):
    import gpu
    import torch

    def measure(cell, device, tiny):
        raise torch.OutOfMemoryError("CUDA out of memory") if cell["n"] else ValueError("no")

    part, found = gpu.Part(1.0, lambda tiny: [{"n": 0}, {"n": 1}], measure), []
    lines = list(gpu.played(part, found, "cpu", True, 60.0))
    assert "failed ValueError: no" in lines[0]
    assert found[1]["left_out"] == "out of memory: CUDA out of memory"
    assert list(gpu.played(part, found, "cpu", True, 60.0)) == []
    assert list(gpu.played(part, [], "cpu", True, -1.0)) == [
        "left for the next time: n 0",
        "left for the next time: n 1",
    ]


@pytest.mark.slow
def test_scale_measures_a_process_of_its_own(run):
    (cell,) = run("scale", "--case", "a-10000", "--nodes", 20, "--horizon-s", 2)["cells"]
    assert cell["peak RSS GiB"] >= cell["before GiB"] > 0
    assert cell["models a node"] > 1


@pytest.mark.slow
def test_scaling_fits_costs_to_its_cells(run, monkeypatch):
    import scaling

    sizes = [(12, 2, 2.0), (24, 4, 2.0)]
    cells = [scaling.Cell(*size, learns) for size in sizes for learns in (True, False)]
    monkeypatch.setattr(scaling, "CELLS", cells)
    monkeypatch.setattr(scaling, "LARGE", 12)
    found = run("scaling")
    assert [c["nodes"] for c in found["cells"]] == [12, 12, 24, 24]
    assert all((c["jobs"] > 0) == c["learns"] and c["messages"] > 0 for c in found["cells"])
    costs = {(c["part"], c["of one"], c["unit"]): c["cost"] for c in found["costs"]}
    assert costs["learning", "jobs", "us"] > 0
    assert min(costs.values()) >= 0


def test_costs_are_found_again_and_never_negative(run):
    import scaling

    cells = [{"x": x, "y": y, "t s": 3e-6 * x} for x, y in ((1, 5), (2, 1), (9, 4), (7, 7))]
    first, second = scaling._costs("t", ("x", "y"), "t s", cells)
    assert first["cost"] == pytest.approx(3.0)
    assert second["cost"] == pytest.approx(0.0, abs=1e-9)
    assert first["largest error %"] < 1e-6


@pytest.mark.slow
def test_a_delivery_costs_events_and_time_at_every_size_and_more_by_packet(run, monkeypatch):
    import network

    monkeypatch.setattr(network, "LEAST_HORIZON_S", 30.0)
    monkeypatch.setattr(network, "MESSAGE_BITS", 3_200_000)
    found = run("network", "--nodes", 12, 24, "--deliveries", 10)
    small, large, packets, *fading = found["cells"]
    assert small["delivered"] > 10
    assert packets["events/delivery"] > 3_200_000 / 11_584
    assert len(fading) == 3
    assert all(ratio > 1 for ratio in found["packets_over_messages"].values())
    assert large["events/delivery"] > 1
    assert small["delay s"] > 0.16  # 3.2 Mbit at 20 Mbit/s
    assert found["exponents"].keys() == {"still", "fading"}


@pytest.mark.slow
def test_csma_message_by_message_is_set_beside_frames(run, monkeypatch):
    levels = importlib.import_module("csma_levels")
    monkeypatch.setitem(levels.NETWORKS, "domain", (4, 30.0, (0.1,), 4.0))
    (cell,) = run("csma_levels", "--network", "domain", "--seeds", 2)
    assert cell["packet delivered"] > 0.9
    assert abs(cell["difference"]) < 0.1
    assert 0.5 < cell["ratio"] < 1.5


@pytest.mark.slow
def test_networks_in_which_nodes_hear_as_many_cost_something_at_every_size(run):
    found = run("csma_growth", "--nodes", 10, 20, "--messages", 60, "--seeds", 1)
    assert [cell["nodes"] for cell in found["cells"]] == [10, 20]
    assert all(cell["delivered"] > 10 for cell in found["cells"])
    assert found["ratio"] > 0.0


@pytest.mark.slow
def test_the_table_of_methods_has_all_of_them_in_both_worlds(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    methods = importlib.import_module("_methods")
    declared = {kind: declaration_of(module) for kind, module in kinds_of().items()}
    compared = {kind for kind, one in declared.items() if one.learns and one.decides is None}
    assert {case.kind for case in methods.CASES} == compared
    labels = [case.label for case in methods.CASES]
    assert len(set(labels)) == len(labels)
    for case in methods.CASES:
        for where in case.worlds:
            one = from_dict(methods.tables(case, where, 0.1, 0, case.rounds(9)))
            assert one.horizon_s > 0


@pytest.mark.slow
def test_a_sweep_whose_processes_are_killed_ends_with_the_table_of_one_that_ran_through(run):
    """Also one through Ray, where it is installed: pip install 'netsim-dfl[ray]'."""
    ways = ["through", "killed", *(["ray"] if find_spec("ray") else [])]
    found = run("killed_sweeps", "--runs", 8, "--ways", *ways)
    _, *cells = found["cells"]
    assert [cell["workers killed"] for cell in cells] == [3, 1][: len(cells)]
    assert all(cell["played again"] >= 1 for cell in cells)
    assert found["equal"]
    assert [c["runs"] for c in found["cells"]] == [8] * len(ways)


@pytest.mark.slow
def test_runs_killed_at_random_moments_go_on_as_if_they_had_not_been(run):
    found = run("kills", "--kills", 5, "--only", "kd_pdfl star", "dpsgd rounds", "local radio")
    assert [kill["different"] for kill in found["kills"]] == [[]] * 5


@pytest.mark.slow
def test_trips_through_the_code_stay_short(run):
    found = run("trips")
    assert found["scenario to Scenario"]["calls"] < 6_000
    most = {
        "message over a wire": 17,
        "message over radio": 45,
        "message, CSMA frame by frame": 136,
        "two trainings, a loss, up to the wait": 48,
    }
    assert [name for name, trips in most.items() if found[name]["hand-overs"] > trips] == []
    one = found["message over a wire"]
    assert one["returns"] == one["hand-overs"] - one["files"] + 1


def test_rows_of_some_methods_go_among_those_of_the_page(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    table = importlib.import_module("methods_table")
    head = ["| | | above |", "|---|", table.HEAD]

    def row(name, accuracy):
        return f"| {name} | 0.1 |  | 360 | {accuracy} ± 1.0 | 6 |"

    page = tmp_path / "page.md"
    lines = ["2026-01-01, played.", "", *head, row("a", 80.0), row("b", 70.0), "", "## Small", "x"]
    page.write_text("\n".join(["# Title", "", table.BEGIN, "", *lines, "", table.END, "tail"]))
    table.write_page(page, table.merged(page, "later", [*head, row("b", 90.0), row("c", 75.0)]))
    text = page.read_text()
    assert [line.split("|")[1].strip() for line in text.splitlines() if "±" in line] == list("bac")
    assert row("b", 90.0) in text
    assert row("b", 70.0) not in text
    kept = ["# Title", "2026-01-01, played.", "later", table.HEAD, "## Small", "x", "tail"]
    assert [line for line in text.splitlines() if line in kept] == kept


@pytest.mark.slow
def test_frame_speed_tells_ratio_and_equal_logs(run):
    (cell,) = run("frame_speed", "--nodes", 12, "--pairs", 1)
    assert cell["equal logs"] == "True"
    assert cell["ratio"] > 0
