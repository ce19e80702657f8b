"""The guide to the methods says what they do: bits, steps and needs against runs."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from netsim.errors import NetsimError
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("methods_guide", ROOT / "tools" / "methods.py")
TOOL = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TOOL)
METHODS = {m.kind: m for m in TOOL.methods() if declaration_of(kinds_of()[m.kind]).learns}
"""Those that learn by the verbs of a node."""

NODES, ROUNDS, HIDDEN, STEPS, HEAD_STEPS, INNER_STEPS = 4, 2, 4, 3, 2, 5
UNTIL = {"horizon_s": 119.0, "metrics": {"every_s": 119.0, "weights": False}}
DATA = {
    "kind": "digits",
    "partition": {
        "kind": "class_mix",
        "alpha": 0.3,
        "train_min": 25,
        "train_max": 35,
        "test_samples": 5,
    },
}
TRAINING = {"learning_rate": 0.1, "batch_size": 10}
WORLD = {
    **UNTIL,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 60.0},
    "compute": {"kind": "fixed", "step_s": 0.01},
    "model": {"kind": "iot_mlp", "hidden": HIDDEN},
    "training": TRAINING,
    "data": DATA | {"validation": 0.3},
}
GROUPS = [{"name": "clients", "count": NODES}, {"name": "server", "count": 1, "role": "server"}]
SERVER = WORLD | {"nodes": {"count": NODES + 1, "groups": GROUPS}, "topology": {"kind": "hub"}}
STAR = WORLD | {"exchange": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 4}}
UNEQUAL = WORLD | {
    "model": [{"kind": "mlp", "hidden": [HIDDEN]}, {"kind": "mlp", "hidden": [3, HIDDEN]}],
    "training": TRAINING | {"common_initial": False},
}
MUST = {
    "client_selection": {"rounds": 1, "per_round": NODES},
    "divshare": {"fraction": 1.0},
    "fedavg_plus": {"switch_s": 60.0},
    "pens": {"sampled": 1, "kept": 1},
    "pfedsim": {"general_rounds": 9},
}
CHECKED = {
    "local_steps": STEPS,
    "head_steps": HEAD_STEPS,
    "inner_steps": INNER_STEPS,
    "steps": STEPS,
}


def world_of(kind, plain=WORLD):
    """A world that the method runs in: `plain`, under a schedule of its own if it asks for that."""
    if METHODS[kind].needs_server:
        return plain | {key: SERVER[key] for key in ("nodes", "topology")}
    return plain if takes_rounds(kind) else plain | {"exchange": STAR["exchange"]}


def takes_rounds(kind):
    schedules = METHODS[kind].schedules
    return schedules is None or "rounds" in schedules


def algorithm_of(kind, **more):
    amounts = {n: v for n, v in CHECKED.items() if n in METHODS[kind].parameters}
    return {"kind": kind, **amounts, **MUST.get(kind, {}), **more}


def in_rounds(kinds=METHODS):
    return [kind for kind in kinds if takes_rounds(kind) and not METHODS[kind].needs_server]


def symbols(run, i):
    """Symbols of the formulas, of node i."""
    whole = run.parts[i].training.initial()
    kept = METHODS[run.entry.kind].parameters
    per_epoch = run.world.shards.batches_per_epoch(i)
    epochs = kept.get("local_epochs") or 1
    return {
        "b": 32,
        "theta": whole.num_values,
        "P": whole.part("parameters").num_values,
        "base": whole.part("backbone").num_values,
        "head": whole.part("head").num_values,
        "norm": whole.part("normalisation").num_values,
        **matrices(whole, run.entry.params),
        "F": HIDDEN,
        "C": 10,
        "k": len(run.nodes[i].classes) if run.nodes[i].role != "server" else 0,
        "N": NODES,
        "d": NODES - 1,
        "S": STEPS if {"local_steps", "steps"} & set(kept) else epochs * per_epoch,
        "H": HEAD_STEPS,
        "K": INNER_STEPS,
    }


def matrices(whole, params):
    """Entries of weight matrices that masks are of, of the masks, and of low-rank factors."""
    shapes = [s.shape for s in whole.architecture.slices if s.stop <= whole.num_values]
    shapes = [shape for shape in shapes if len(shape) > 1]
    sizes, found = [a * b for a, b in shapes], {}
    if hasattr(params, "density"):
        scale = params.density * sum(sizes) / sum(a + b for a, b in shapes)
        kept = [round(scale * (a + b)) for a, b in shapes]
        dense = whole.part("parameters").num_values - sum(sizes)
        found |= {"masked": sum(sizes), "kept": sum(kept) + dense}
    if hasattr(params, "fraction"):
        found["fragment"] = round(params.fraction * whole.part("parameters").num_values)
    if hasattr(params, "rank"):
        ranks = [min(params.rank, *shape) for shape in shapes]
        found["factors"] = sum(r * sum(shape) for r, shape in zip(ranks, shapes, strict=True))
    return found


def evaluated(formula, run, i, **more):
    return eval(formula, {"__builtins__": {}}, symbols(run, i) | more)


def messages(folder, in_round=ROUNDS):
    log = pd.read_parquet(folder / "messages")
    return log if in_round is None else log[log["round"] == in_round]


def test_the_guide_is_up_to_date():
    assert (ROOT / "docs" / "methods.md").read_text(encoding="utf-8") == TOOL.guide(), (
        "run: python tools/methods.py"
    )


def test_the_table_to_choose_from_has_every_method():
    lines = TOOL.guide().splitlines()
    rows = [line for line in lines if line.startswith("| [`")]
    assert [line.split("`")[1] for line in rows] == [m.kind for m in TOOL.methods()]
    assert {line.count(" | ") for line in rows} == {len(TOOL.COLUMNS) - 1}


@pytest.mark.parametrize("method", TOOL.methods(), ids=lambda method: method.kind)
def test_a_source_ends_with_a_sentence(method):
    assert not method.source or method.source.endswith(".")


@pytest.mark.parametrize("kind", METHODS)
def test_every_field_is_a_sentence(kind):
    for name, value in METHODS[kind].fields.items():
        assert value.endswith("."), name
        assert 5 < len(value) < 400, name


@pytest.mark.thinned(16)
@pytest.mark.parametrize("kind", in_rounds())
def test_bits_and_steps_of_a_round_among_peers(play, tmp_path, kind):
    run = play(algorithm_of(kind), tmp_path, **WORLD)
    bits, steps = METHODS[kind].formulas("Sends")[0], METHODS[kind].formulas("Cost a round")[0]
    for i in range(NODES):
        start = 10 * run.world.shards.batches_per_epoch(i) if kind == "dpfl" else 0
        done = run.parts[i].processor.local_steps - start
        assert done == ROUNDS * evaluated(steps, run, i)
    if kind == "local":
        assert len(messages(tmp_path, None)) == 0
        return
    log = messages(tmp_path)
    if "per message" in METHODS[kind].fields["Sends"]:  # to whom and how many is drawn
        expected = {evaluated(bits, run, i) for i in range(NODES)}
        assert set(log.bits) == expected
        return
    pairs = log[log.kind != "Piece"].groupby(["src", "dst"]).bits.sum()
    assert len(pairs)
    for (i, _), found in pairs.items():
        assert found == evaluated(bits, run, i)


@pytest.mark.thinned(24)
@pytest.mark.parametrize("kind", [m.kind for m in METHODS.values() if m.knows_servers])
def test_bits_of_a_round_with_a_server(play, tmp_path, kind):
    run = play(algorithm_of(kind), tmp_path, **SERVER)
    if kind == "local":
        assert len(messages(tmp_path, None)) == 0
        return
    up, down, *_ = METHODS[kind].formulas("Sends")[not METHODS[kind].needs_server :]
    log, rounds = messages(tmp_path), 1
    if METHODS[kind].needs_server:  # it has rounds of its own
        log = messages(tmp_path, None)
    if "Pull" in set(log.kind.astype(str)):  # a server that is asked has no rounds of its own
        log, rounds = messages(tmp_path, None), ROUNDS
        log = log[log.kind != "Pull"]
    held = len({c for node in run.nodes[:NODES] for c in node.classes})
    for row in log.itertuples():
        expected = evaluated(up, run, row.src) if row.dst == NODES else None
        assert row.bits == (expected or evaluated(down, run, NODES, C=held))
    assert len(log) == 2 * NODES * rounds


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("kind", "more", "which", "sent"),
    [
        ("pfedsim", {"general_rounds": 1}, 3, "Mean"),
        ("pfedgraph", {"direction": "approx"}, 3, "Personal"),
    ],
)
def test_other_answers_of_a_server(play, tmp_path, kind, more, which, sent):
    run = play(algorithm_of(kind) | more, tmp_path, **SERVER)
    log = messages(tmp_path)
    expected = evaluated(METHODS[kind].formulas("Sends")[which], run, 0)
    assert set(log[log.kind == sent].bits) == {expected}


def test_centres_are_sent_once(play, tmp_path):
    run = play(algorithm_of("flt"), tmp_path, **WORLD)
    each, *_, centres = METHODS["flt"].formulas("Sends")
    for row in messages(tmp_path, 1).itertuples():
        assert row.bits == evaluated(f"{each} + {centres}", run, row.src)


@pytest.mark.slow
def test_heads_come_when_the_warm_up_is_over(play, tmp_path):
    run = play(algorithm_of("mapl", warmup_rounds=1), tmp_path, **WORLD)
    log = messages(tmp_path)
    expected = evaluated(METHODS["mapl"].formulas("Sends")[1], run, 0)
    assert set(log[log.kind != "Edge"].groupby(["src", "dst"]).bits.sum()) == {expected}


def test_an_encoder_goes_round_the_ring(play, tmp_path):
    run = play(algorithm_of("meta_l2c"), tmp_path, **WORLD)
    log = messages(tmp_path)
    size = run.parts[0].publishing.kept["encoder"].num_values
    each = evaluated(METHODS["meta_l2c"].formulas("Sends")[1], run, 0, E=size)
    assert log[log.kind == "Piece"].bits.sum() == NODES * each


def test_a_model_on_request_and_a_bit_to_each(play, tmp_path):
    run = play(algorithm_of("fedfomo", downloads=1), tmp_path, **WORLD)
    log = messages(tmp_path)
    model = evaluated(METHODS["fedfomo"].formulas("Sends")[0], run, 0)
    assert set(log[log.kind == "Model"].bits) == {model}
    assert (log[log.kind == "Wish"].groupby("src").bits.sum() == NODES - 1).all()


@pytest.mark.thinned(6)
@pytest.mark.parametrize(("kind", "which"), [("kd_pdfl", 0), ("fedavg", 3), ("fedavg_plus", 3)])
def test_a_star_gets_a_model_of_each_peer_and_sends_one_back(play, tmp_path, kind, which):
    more = {"kind": kind, **MUST.get(kind, {})}
    run = play(more, tmp_path, **STAR)
    log = messages(tmp_path, None)
    exchanges = (log.kind == "Request").sum()
    expected = exchanges * evaluated(METHODS[kind].formulas("Sends")[which], run, 0)
    assert log[log.kind == "Model"].bits.sum() == expected > 0


@pytest.mark.thinned(48)
@pytest.mark.parametrize("kind", METHODS)
def test_validation_samples_are_needed_where_the_guide_says_so(play, kind):
    world = world_of(kind, WORLD | {"data": DATA})
    if not TOOL.is_listed(METHODS[kind], TOOL.VALIDATION):
        play(algorithm_of(kind), **world)
        return
    with pytest.raises(NetsimError, match="which looks at validation samples"):
        play(algorithm_of(kind), **world)


@pytest.mark.thinned(16)
@pytest.mark.parametrize("kind", METHODS)
def test_models_may_differ_where_the_guide_says_so(play, kind):
    world = world_of(kind, UNEQUAL)
    if TOOL.UNEQUAL in METHODS[kind].fields["Needs"]:
        play(algorithm_of(kind), **world)
        return
    with pytest.raises((NetsimError, RuntimeError)):
        play(algorithm_of(kind), **world)
