"""Choice of backends: rules, the user's own table, and the record in a run."""

import json
import tomllib
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from netsim import world
from netsim.backends import route_tables
from netsim.backends.dispatch import choose_routes
from netsim.backends.native.library import load_library, why_missing
from netsim.backends.route import Route
from netsim.campaign import tuning
from netsim.console.app import app
from netsim.errors import ScenarioError
from netsim.learning.architecture import build_architecture
from netsim.registry import family
from netsim.scenario import from_dict

SCENARIO = """\
horizon_s = 4.0
[nodes]
count = {nodes}
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
validation = 0.2
[model]
kind = "mlp"
hidden = [12]
[algorithm]
kind = "local"
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return the path of the user's own table; there is none yet."""
    path = tmp_path / "configuration" / "routes.toml"
    monkeypatch.setenv("NETSIM_ROUTES", str(path))
    return path


@pytest.fixture
def netsim(tmp_path, monkeypatch):
    """The command line in a folder that holds `s.toml`, with the name of a run's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO.format(nodes=6))
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture
def signature():
    """Of the model of `s.toml`."""
    tables = tomllib.loads(SCENARIO.format(nodes=6))
    built = world.build(from_dict(tables))
    return route_tables.signature(built.architectures[0], built.shards.batch_size)


def write(path, name, **keys):
    """A table with one route, as measured with the kernel that is here."""
    if why_missing() is None:
        keys = {"native": load_library().variant().name, **keys}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f'[route."{name}"]', *(f"{k} = {json.dumps(v)}" for k, v in keys.items())]
    path.write_text("\n".join(lines) + "\n")


def run(netsim, name, *arguments):
    """Play a scenario; give (environment, resolved scenario, summary)."""
    result = netsim("run", *arguments, "--out", name, "--quiet", "--no-figures")
    assert result.exit_code == 0, result.output
    folder = next(Path(name).rglob("environment.json")).parent
    return (
        json.loads((folder / "environment.json").read_text()),
        folder / "scenario.toml",
        json.loads((folder / "summary.json").read_text()),
    )


def test_no_test_reads_the_table_of_whoever_runs_it():
    assert not route_tables.user_table().exists()


@pytest.mark.parametrize(
    ("nodes", "model", "batch_size", "way"),
    [
        (2, {"kind": "mlp"}, 10, "sequential"),
        (50, {"kind": "mlp"}, 10, "stacked"),
    ],
)
def test_the_shipped_rules_go_by_nodes_and_model(nodes, model, batch_size, way):
    tables = tomllib.loads(SCENARIO.format(nodes=nodes)) | {"model": model}
    built = world.build(from_dict(tables))
    chosen = route_tables.route_by_rules(
        built.architectures[0], nodes, batch_size, knows_native=False
    )
    assert chosen.train == way


def test_a_known_model_runs_natively_but_a_few_small_ones_are_evaluated_one_by_one():
    tables = tomllib.loads(SCENARIO.format(nodes=3))
    architecture = world.build(from_dict(tables)).architectures[0]
    for nodes, infer in ((1, "sequential"), (4, "sequential"), (5, "native"), (100, "native")):
        route = route_tables.route_by_rules(architecture, nodes, 10, knows_native=True)
        assert (route.train, route.infer) == ("native", infer)


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({"native": 1.04, "stacked": 1.0, "sequential": 9.0}, "native"),
        ({"native": 1.06, "stacked": 1.0, "sequential": 9.0}, "stacked"),
        ({"native": 5.0, "stacked": 1.0, "sequential": 1.04}, "sequential"),
        ({"stacked": 1.0, "sequential": 1.06}, "stacked"),
    ],
)
def test_a_backend_is_chosen_over_a_preferred_one_only_where_it_is_faster_than_noise(
    seconds, chosen
):
    assert tuning.fastest(seconds) == chosen


@pytest.mark.thinned(4)
@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
@pytest.mark.parametrize("native", [{}, {"native": "strange"}], ids=["none", "another machine's"])
def test_a_table_measured_without_this_kernel_does_not_hold_and_its_user_is_told(
    netsim, table, signature, native
):
    write(table, signature, train="sequential", loss="sequential", infer="sequential")
    keys = {"train": "sequential", "loss": "sequential", "infer": "sequential", **native}
    lines = [f'[route."{signature}"]', *(f"{k} = {json.dumps(v)}" for k, v in keys.items())]
    table.write_text("\n".join(lines) + "\n")
    environment, _, _ = run(netsim, "a", "s.toml")
    route = environment["routes"][signature]
    assert (environment["backend"], route["source"]) == ("native", "shipped rules")
    assert "run netsim tune again" in route["advice"]
    result = netsim("run", "s.toml", "--out", "b", "--no-figures")
    assert "run netsim tune again" in " ".join(result.output.split())


def test_every_shipped_rule_can_be_read_and_the_last_ones_hold_for_any_model():
    rules = route_tables.shipped_rules()
    for device in ("cpu", "cuda"):
        last = [rule for rule in rules if rule.device == device][-1]
        assert (last.layers, last.largest, last.largest_batch, last.most_nodes) == (None,) * 4


@pytest.mark.slow
def test_a_run_tells_where_its_routes_come_from(netsim, table, signature):
    environment, resolved, _ = run(netsim, "a", "s.toml")
    assert environment["routes"][signature]["source"] == "shipped rules"
    write(table, signature, train="sequential", loss="sequential", infer="sequential")
    environment, resolved, _ = run(netsim, "b", "s.toml")
    assert environment["routes"][signature]["source"] == "netsim tune"
    assert environment["backend"] == "sequential"
    environment, resolved, _ = run(netsim, "c", "s.toml", "--set", "run.backend=stacked")
    assert environment["routes"][signature]["source"] == "[run] backend"
    kept = tomllib.loads(resolved.read_text())["run"]["routes"]
    assert kept == {signature: {"train": "stacked", "loss": "stacked", "infer": "stacked"}}


@pytest.mark.slow
def test_a_rerun_goes_the_way_of_the_first_run_whatever_the_table_says_by_then(
    netsim, table, signature
):
    write(table, signature, train="stacked", loss="stacked", infer="stacked", lanes=3)
    first, resolved, summary = run(netsim, "first", "s.toml")
    assert first["routes"][signature]["source"] == "netsim tune"
    write(table, signature, train="sequential", loss="sequential", infer="sequential")
    again, _, summary_again = run(netsim, "again", str(resolved))
    assert again["routes"][signature]["source"] == "[run.routes]"
    without = {k: v for k, v in first["routes"][signature].items() if k != "source"}
    assert without == {k: v for k, v in again["routes"][signature].items() if k != "source"}
    assert without["lanes"] == 3
    assert again["backend"] == "stacked"
    assert summary_again["parameters_sha256"] == summary["parameters_sha256"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"[route", "TOML|line 1|Expected"),
        (b"\xff\xfe\x00", "binary file"),
        (b'[route."a"]\ntrain = "sideways"\n', "validation error"),
        (b'[root."a"]\ntrain = "stacked"\n', "validation error"),
        (b'[route."a"]\nlanes = 0\n', "validation error"),
    ],
    ids=["not TOML", "not text", "no such way", "no such table", "no lanes"],
)
def test_a_table_that_can_not_be_read_is_named_with_a_remedy(content, what, netsim, table):
    table.parent.mkdir()
    table.write_bytes(content)
    with pytest.raises(ScenarioError, match=what):
        route_tables.read_measured(table)
    for command in (("run", "s.toml", "--out", "x"), ("tune", "s.toml")):
        result = netsim(*command)
        assert result.exit_code == 2, result.output
        said = " ".join(result.output.split())
        assert "routes.toml" in said
        assert "netsim tune" in said
        assert "Traceback" not in said
    assert table.read_bytes() == content


def test_tune_refuses_what_it_can_not_measure_or_keep(netsim, tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(tuning, "tune", lambda world: measured)
    result = netsim("tune", "s.toml", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "is a folder; name a file" in " ".join(result.output.split())
    result = netsim("tune", "small_bandwidth_allocation", "--out", str(tmp_path / "routes.toml"))
    assert result.exit_code == 2
    assert "nothing to measure" in " ".join(result.output.split())
    assert not (tmp_path / "routes.toml").exists()


@pytest.mark.slow
def test_tune_measures_and_keeps_what_it_knew_of_other_models(
    netsim, table, signature, monkeypatch
):
    monkeypatch.setattr(tuning, "ROUNDS", 1)
    monkeypatch.setattr(tuning, "LANES", (16,))
    other = "cpu/Another/5/batch 3/float64/2 threads"
    write(table, other, train="sequential", lanes=7)
    result = netsim("tune", "s.toml")
    assert result.exit_code == 0, result.output
    found = route_tables.read_measured(table)
    assert found[other].route == Route(train="sequential", lanes=7)
    assert found.keys() == {other, signature}
    assert found[signature].lanes == 16
    has = why_missing() is None
    assert found[signature].native == (load_library().variant().name if has else None)
    said = " ".join(result.output.split())
    assert "job native stacked sequential chosen" in said
    assert all(purpose in said for purpose in ("train", "loss", "infer"))
    environment, _, _ = run(netsim, "tuned", "s.toml")
    assert environment["routes"][signature]["source"] == "netsim tune"
    assert not list(table.parent.glob("*.part"))


@pytest.mark.slow
def test_lanes_that_train_at_once_do_not_show_in_the_results(netsim, table, signature):
    hashes = set()
    for lanes in (1, 2, 3, 64):
        write(table, signature, train="stacked", infer="stacked", lanes=lanes)
        _, _, summary = run(netsim, f"lanes {lanes}", "s.toml")
        hashes.add(summary["parameters_sha256"])
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("nodes", "model", "backend", "way"),
    [
        (2, {"kind": "mlp", "hidden": [16]}, "auto", "sequential"),
        (2, {"kind": "mlp", "hidden": [16]}, "native", "native/plain"),
        (3, {"kind": "mlp", "hidden": [16]}, "auto", "native/plain"),
        (1, {"kind": "lenet"}, "auto", "native/plain"),
        (6, {"kind": "alexnet_small", "latent": 2000}, "auto", "native/plain"),
    ],
)
def test_losses_of_an_algorithms_own_run_natively_where_that_pays(
    nodes, model, backend, way, table
):
    kind = family("netsim.models")[model["kind"]].model_validate(model)
    module = kind.build((1, 28, 28), 10)
    layout = build_architecture("m", module, torch.device("cpu"), torch.float32, 10)
    routes = choose_routes({layout: nodes}, 10, backend, {}, {layout: "plain"})
    (route,) = routes.by_signature().values()
    assert route.loss == way


@pytest.mark.parametrize(
    ("nodes", "batch", "model", "backend", "way"),
    [
        (6, 10, {"kind": "mlp"}, "auto", "sequential"),
        (100, 10, {"kind": "mlp"}, "auto", "sequential"),
        (6, 10, {"kind": "mlp"}, "native", "native"),
        (2, 16, {"kind": "lenet"}, "auto", "sequential"),
        (8, 16, {"kind": "lenet"}, "auto", "native"),
        (2, 64, {"kind": "lenet"}, "auto", "native"),
        (2, 16, {"kind": "lenet"}, "native", "native"),
        (40, 64, {"kind": "alexnet_small", "latent": 2000}, "auto", "sequential"),
    ],
)
def test_losses_that_the_kernel_does_not_know_take_the_way_that_pays(
    nodes, batch, model, backend, way, table
):
    kind = family("netsim.models")[model["kind"]].model_validate(model)
    module = kind.build((1, 28, 28), 10)
    layout = build_architecture("m", module, torch.device("cpu"), torch.float32, 10)
    routes = choose_routes({layout: nodes}, batch, backend, {}, {layout: "plain"})
    assert routes.unknown_losses(layout) == way
