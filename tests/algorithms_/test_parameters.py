"""Every parameter of every method counts: another value changes a run, or is refused."""

import typing

import pandas as pd
import pytest
import torch

from netsim.errors import NetsimError
from netsim.learning.refs import Ref
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of

FIELDS = {
    kind: module.Params.model_fields
    for kind, module in kinds_of().items()
    if declaration_of(module).learns
}

NODES = 4
WORLD = {
    "horizon_s": 179.0,
    "metrics": {"every_s": 179.0, "weights": False},
    "run": {"backend": "sequential"},  # other backends compile the losses of each method anew
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 60.0},
    "compute": {"kind": "fixed", "step_s": 0.01},
    "model": {"kind": "mlp", "hidden": [6]},
    "training": {"learning_rate": 0.2, "batch_size": 8},
    "data": {
        "kind": "digits",
        "validation": 0.3,
        "partition": {
            "kind": "class_mix",
            "alpha": 0.3,
            "train_min": 20,
            "train_max": 40,
            "test_samples": 5,
        },
    },
}
LOST = {"link": {"loss": 0.4, "latency_s": 0.01}}
STAR = {"exchange": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 4}}
PERIODIC = {"exchange": {"schedule": "periodic", "period_s": 30.0, "slot_s": 1.0}}
LATE = {"link": {"latency_s": 0.01}}
HUB = {
    "nodes": {
        "count": 4,
        "groups": [{"name": "c", "count": 3}, {"name": "s", "count": 1, "role": "server"}],
    },
    "topology": {"kind": "hub"},
    "radio": {"bandwidth_hz": 1e5, "fading": {"kind": "rayleigh", "coherence_s": 1e-3}},
}
AIR = {"radio": HUB["radio"]}
SOME_REACH = {"radio": {"reachable": 1.5, "fading": {"kind": "rayleigh", "coherence_s": 10.0}}}
HASTE = {"exchange": {"schedule": "rounds", "interval_s": 0.1}, "horizon_s": 1.0}
SERVED = {"nodes": HUB["nodes"], "topology": HUB["topology"], **LATE}
BRIEF = SERVED | {"horizon_s": 3.0}
"""With a server that asks anew as soon as all have answered."""
MUST = {"fedavg_plus": {"switch_s": 60.0}, "pfedsim": {"general_rounds": 1}}
CHEAP = {"pfedgraph": {"steps": 5}, "dpfl": {"initial_epochs": 1, "local_epochs": 1}}

TUNED = {"fine_tune_after": 1}
LEARNED = {"graph": "learned"}
SHRINKS = {"prune_after": 1, "kept_peers": 1}
GRAPH = {"warmup_rounds": 0, "graph_learning_rate": 1.0, "lam": 0.11}
FALLS = {"switch_s": 60.0, "fine_tune_learning_rate": 0.01}
NORM = {"step": "norm"}
COMPARED = {"sampled": 1, "kept": 1}
PUSHED = {
    "graph": ({"graph": "exponential"}, {}),
    "receivers": ({"receivers": 2}, {}),
    "largest_step": ({"largest_step": 1.0}, {}),
}
HEADS = {"head_epochs": ({"head_epochs": 2}, {}), "head_steps": ({"head_steps": 1}, {})}

CHANGES = {
    "absent": ({"absent": "last"}, LOST),
    "max_age_s": ({"max_age_s": 0.001}, LOST),
    "staleness": ({"staleness": {"kind": "constant", "weight": 0.5}}, LATE),
    "local_epochs": ({"local_epochs": 2}, {}),
    "local_steps": ({"local_steps": 3}, {}),
    "augment": ({"augment": True}, {}),
    "weights": ({"weights": "equal"}, {}),
    "pace": ({"pace": "rounds"}, PERIODIC),
    "timeout_s": ({"timeout_s": 0.005}, STAR | LATE),
    "tries": ({"tries": 3}, STAR | LOST),
    "broadcast": ({"broadcast": "cache"}, STAR),
    "uninvolved_train": ({"uninvolved_train": True}, STAR),
    "strength": ({"strength": 0.7}, {}),
    "prune_after": ({"kept_peers": 1, "prune_after": 1}, {}, {"kept_peers": 1, "prune_after": 2}),
    "kept_peers": ({"kept_peers": 1}, {}, {"kept_peers": 2, "prune_after": 1}),
    "mixing_learning_rate": ({"mixing_learning_rate": 0.9}, {}),
    "mixing_weight_decay": ({"mixing_weight_decay": 5.0}, {}),
    "mixing_steps": ({"mixing_steps": 3}, {}),
    "sampled": ({"sampled": 0.5}, {}),
    "fine_tune_after": (TUNED, {}),
    "fine_tune_epochs": ({"fine_tune_epochs": 1}, {}, TUNED),
    "switch_s": ({"switch_s": 120.0}, {}, FALLS),
    "fine_tune_learning_rate": ({"fine_tune_learning_rate": 0.02}, {}, FALLS),
}
"""Changed parameters, their world (beside `WORLD`), and the values that they replace."""

OWN = {
    "ad_psgd": {"timeout_s": ({"timeout_s": 0.005}, LATE)},
    "apfl": {
        "alpha": ({"alpha": 0.9}, {}),
        "adaptive": ({"adaptive": False}, {}),
        "alpha_learning_rate": ({"alpha_learning_rate": 2.0}, {}),
    },
    "baa": {
        "truncation": ({"truncation": 1.0}, HUB),
        "wait_s": ({"wait_s": 0.0}, HUB),
        "divide": ({"divide": "all"}, HUB),
    },
    "cfl": {
        "eps_1": ({"eps_1": 9.0}, {}, {"eps_1": 0.0, "eps_2": 0.0}),
        "eps_2": ({"eps_2": 99.0}, {}, {"eps_1": 9.0, "eps_2": 0.0}),
        "linkage": ({"linkage": "single"}, "many", {"eps_1": 9.0, "eps_2": 0.0}),
        "gamma_max": ({"gamma_max": 1.0}, {}, {"eps_1": 9.0, "eps_2": 0.0}),
        "weights": ({"weights": "sizes"}, {}, {"eps_1": 0.0}),
    },
    "cga": {
        "momentum": ({"momentum": 0.1}, {}),
        "nesterov": ({"nesterov": True}, {}),
        "margin": ({"margin": 0.5}, {}),
        "by_tensor": ({"by_tensor": True}, {}, {"local_epochs": 2}),
    },
    "client_selection": {
        "per_round": ({"per_round": 1}, BRIEF, {"per_round": 2}),
        "epochs": ({"epochs": 2}, BRIEF, {"per_round": 2}),
        "timeout_s": ({"timeout_s": 0.005}, BRIEF, {"per_round": 2}),
        "rounds": ({"rounds": 1}, BRIEF, {"per_round": 2}),
        "policy": ({"policy": {"kind": "round_robin"}}, BRIEF, {"per_round": 2}),
    },
    "dec_lora": {"rank": ({"rank": 2}, {}), "alpha": ({"alpha": 9.0}, {})},
    "deprl": {**HEADS, "base_learning_rate": ({"base_learning_rate": 0.1}, {})},
    "dfedpgp": {**HEADS, **PUSHED},
    "dfedsam": {"rho": ({"rho": 0.5}, {}), "gossip_steps": ({"gossip_steps": 2}, LOST)},
    "dispfl": {
        "density": ({"density": 0.2}, {}),
        "prune": ({"prune": 0.1}, {}),
        "anneal_rounds": ({"anneal_rounds": 2}, {}),
    },
    "divshare": {"fraction": ({"fraction": 0.5}, {}), "receivers": ({"receivers": 1}, {})},
    "dpfl": {
        "timeout_s": ({"timeout_s": 0.005}, LATE),
        "tries": ({"tries": 1}, LOST),
        "poll_s": ({"poll_s": 0.001}, {}),
        "budget": ({"budget": 1}, {}),
        "budget_counts_self": ({"budget_counts_self": False}, {}, {"budget": 1}),
        "initial_epochs": ({"initial_epochs": 3}, {}),
        "period": ({"period": 3}, "many"),
        "absent": ({"absent": "self"}, "many, some lost"),
        "between": ({"between": "silent"}, {}, {"period": 3}),
        "candidates": ({"candidates": "peers"}, SOME_REACH),
        "optimizer": ({"optimizer": "fresh"}, "momentum"),
        "decay": ({"decay": 0.5, "decay_every": 1}, {}, {"decay_every": 1}),
        "decay_every": ({"decay_every": 2}, {}, {"decay": 0.5, "decay_every": 1}),
        "latecomers": ({"latecomers": "out"}, LOST, {"tries": 1}),
    },
    "fedamp": {
        "heuristic": ({"heuristic": True}, {}),
        "strength": ({"strength": 0.3}, {}),
        "sigma": ({"sigma": 5.0}, {}),
        "alpha": ({"alpha": 0.3}, {}),
        "own_weight": ({"own_weight": 0.8}, {}, {"heuristic": True}),
        "compare": ({"compare": "models"}, {}, {"heuristic": True}),
    },
    "epidemic": {"receivers": ({"receivers": 1}, {})},
    "fedasync": {
        "alpha": ({"alpha": 0.2}, {}),
        "timeout_s": ({"timeout_s": 0.005}, SERVED),
    },
    "fedbuff": {
        "buffer": ({"buffer": 2}, {}),
        "server_learning_rate": ({"server_learning_rate": 0.5}, {}),
        "timeout_s": ({"timeout_s": 0.005}, SERVED),
    },
    "fedavg_plus": {
        "switch_s": ({"switch_s": 120.0}, {}),
        "epsilon": ({"epsilon": 0.9}, {}),
        "fine_tune_learning_rate": ({"fine_tune_learning_rate": 0.1}, {}),
    },
    "fedclassavg": {
        "rho": ({"rho": 9.0}, {}, {"local_epochs": 2}),
        "contrast": ({"contrast": "mapl"}, {}),
        "temperature": ({"temperature": 1.0}, {}),
        "base_temperature": ({"base_temperature": 1.0}, {}),
        "augmentation": ({"augmentation": {"crop_min": 0.9}}, {}),
    },
    "fedfomo": {
        "downloads": ({"downloads": 1}, {}),
        "epsilon": ({"epsilon": 1.0}, {}, {"downloads": 1, "epsilon": 0.0}),
        "epsilon_decay": (
            {"epsilon_decay": 0.0},
            {},
            {"downloads": 1, "epsilon_decay": 1.0, "epsilon": 1.0},
        ),
        "norm": ({"norm": "l1"}, {}),
        "absent": ({"absent": "last"}, "many, some lost"),
    },
    "fedproto": {"predict": ({"predict": "prototype"}, {})},
    "fedprox": {
        "fine_tune": ({"fine_tune": True}, {}),
        "fine_tune_after": (TUNED, {}, {"fine_tune": True}),
        "fine_tune_epochs": ({"fine_tune_epochs": 1}, {}, {"fine_tune": True, **TUNED}),
    },
    "fedrep": {"head_epochs": ({"head_epochs": 2}, {}), "head_steps": ({"head_steps": 1}, {})},
    "fedsim": {"weights": ({"weights": "sizes"}, {})},
    "fedrod": {"share": ({"share": "backbone"}, {})},
    "flt": {
        "threshold": ({"threshold": 0.0}, {}),
        "iterations": ({"iterations": 1}, {}),
        "announce": ({"announce": 2}, {}),
    },
    "kd_pdfl": {
        "mu1": ({"mu1": 5.0}, STAR, NORM),
        "mu2": ({"mu2": 5.0}, STAR, NORM),
        "c_base": ({"c_base": 50.0}, STAR),
        "delta": ({"delta": 3.0}, STAR, NORM),
        "distance": ({"distance": "wasserstein1"}, STAR, NORM),
        "cost": (
            {"cost": [[0.0 if a == b else 3.0 + a + b for a in range(10)] for b in range(10)]},
            STAR,
            NORM | {"distance": "wasserstein1"},
        ),
        "outputs": ({"outputs": "logits"}, STAR, NORM),
        "step": (NORM, STAR),
        "weights": ({"weights": "bounded"}, STAR, {"step": "norm"}),
        "absent": ({"absent": "last"}, STAR | LOST),
        "max_age_s": ({"max_age_s": 0.001}, STAR | LATE),
        "staleness": ({"staleness": {"kind": "constant", "weight": 0.5}}, STAR),
        "switch_s": ({"switch_s": 8.0}, STAR, FALLS | {"switch_s": 0.5}),
        "fine_tune_learning_rate": (
            {"fine_tune_learning_rate": 0.02},
            STAR,
            FALLS | {"switch_s": 0.5},
        ),
    },
    "knn_per": {
        "neighbours": ({"neighbours": 3}, {}),
        "knn_weight": ({"knn_weight": 0.6}, {}),
        "votes": ({"votes": "softmax"}, {}),
        "kernel": ({"kernel": "plain"}, {}),
        "memory": ({"memory": 5}, {}),
    },
    "l2c": {"first_logit": ({"first_logit": 3.0}, {})},
    "mapl": {
        "warmup_rounds": ({"warmup_rounds": 0}, {}, GRAPH | {"warmup_rounds": 100}),
        "temperature": ({"temperature": 1.0}, {}),
        "graph_steps": ({"graph_steps": 3}, {}, GRAPH),
        "lam": ({"lam": 0.0}, {}, GRAPH),
        "mu": ({"mu": 9.0}, {}, GRAPH),
        "beta": ({"beta": 9.0}, {}, GRAPH),
        "graph_learning_rate": ({"graph_learning_rate": 0.01}, {}, GRAPH),
        "barrier": ({"barrier": "active"}, {}, GRAPH),
        "delta": ({"delta": 9.0}, {}, GRAPH | {"barrier": "active"}),
        "heads": ({"heads": "active"}, {}, GRAPH),
        "mix_backbones": ({"mix_backbones": True}, {}),
        "augmentation": ({"augmentation": {"crop_min": 0.9}}, {}),
        "contrast": ({"contrast": False}, {}),
        "uniformity": ({"uniformity": False}, {}),
        "similarity": ({"similarity": False}, {}, GRAPH | {"graph_steps": 5}),
        "confidence": ({"confidence": False}, {}, GRAPH),
        "norm": ({"norm": "l1"}, {}, GRAPH),
    },
    "meta_l2c": {
        "activation": ({"activation": "none"}, {}),
        "normalise": ({"normalise": True}, {}),
        "encoder": ({"encoder": "there is none.npz"}, "refused"),
        "learn_encoder": ({"learn_encoder": False}, {}),
    },
    "ncota": {
        "transmit": ({"transmit": 0.8}, AIR),
        "radius": ({"radius": 2.0}, AIR),
        "reference_snr_db": ({"reference_snr_db": 10.0}, AIR),
        "consensus": ({"consensus": 0.3}, AIR),
        "decay": ({"decay": 2.0}, AIR),
        "wait_s": ({"wait_s": 0.1}, AIR | HASTE),
    },
    "pens": {
        "sampled": ({"sampled": 2}, {}, COMPARED),
        "kept": ({"kept": 2}, {}, {"sampled": 2, "kept": 1}),
        "selection_rounds": ({"selection_rounds": 1}, "many", COMPARED),
        "max_age_s": ({"max_age_s": 0.001}, LATE, COMPARED),
        "staleness": ({"staleness": {"kind": "constant", "weight": 0.5}}, LATE, COMPARED),
    },
    "per_fedavg": {
        "alpha": ({"alpha": 0.2}, {}),
        "variant": ({"variant": "exact"}, {}),
        "delta": ({"delta": 0.1}, {}, {"variant": "hessian_free", "alpha": 0.2}),
        "adapt": ({"adapt": False}, {}),
    },
    "pfedgraph": {
        "steps": ({"steps": 6}, {}),
        "alpha": ({"alpha": 0.1}, {}),
        "lam": ({"lam": 0.9}, {}),
        "threshold": ({"threshold": 0.1}, {}),
        "layers": ({"layers": "fc"}, "normalised"),
        "direction": ({"direction": "approx"}, {}, {"lam": 0.9}),
        "sign": ({"sign": "code"}, {}, {"lam": 0.9}),
        "graph": ({"graph": "similarity"}, {}),
        "sizes": ({"sizes": "equal"}, {}),
        "similarity": ({"similarity": "inner"}, {}, {"threshold": 9.0}),
        "regulariser": ({"regulariser": "inner"}, {}, {"lam": 0.9}),
    },
    "pfedhn": {
        "visits": ({"visits": 1}, {}),
        "embedding": ({"embedding": 5}, {}),
        "hidden": ({"hidden": 7}, {}),
        "hidden_layers": ({"hidden_layers": 1}, {}),
        "rate": ({"rate": 0.1}, {}),
        "momentum": ({"momentum": 0.1}, {}),
        "decay": ({"decay": 0.5}, {}),
        "clip": ({"clip": 0.01}, {}),
        "max_age_s": ({"max_age_s": 0.001}, LATE),
    },
    "pfedme": {
        "inner_steps": ({"inner_steps": 2}, {}),
        "inner_learning_rate": ({"inner_learning_rate": 0.1}, {}),
        "outer_learning_rate": ({"outer_learning_rate": 0.05}, {}),
        "beta": ({"beta": 0.5}, {}),
        "report": ({"report": "w"}, {}),
        "local_epochs": ({"local_epochs": 2}, "refused"),
    },
    "pfedsim": {"general_rounds": ({"general_rounds": 2}, {})},
    "sgp": PUSHED,
    "swift": {
        "absent": ({"absent": "self"}, LOST),
        "exchange_every": ({"exchange_every": 2}, {}),
        "influence": ({"influence": "sizes"}, {}),
    },
    "sparq_sgd": {
        "threshold": ({"threshold": 1e6}, {}),
        "growth": ({"growth": 9.0}, {}, {"threshold": 1.0}),
        "gamma": ({"gamma": 0.3}, {}),
        "compression": ({"compression": {"kind": "top_k", "fraction": 0.3}}, {}),
        "rate": ({"rate": {"kind": "cosine", "over": 9.0}}, {}),
        "timeout_s": ({"timeout_s": 0.005}, LOST),
        "tries": ({"tries": 1}, LOST),
    },
    "sfl": {
        "graph": (LEARNED, {}),
        "edges": ({"edges": [[0, 1], [1, 2], [2, 3]]}, {}),
        "layers": ({"layers": 1}, {}, {"edges": [[0, 1], [1, 2], [2, 3]]}),
        "mixing": ({"mixing": 0.5}, {}),
        "learned_part": ({"learned_part": 0.9}, {}, LEARNED),
        "nearest": ({"nearest": 1}, {}, LEARNED),
        "embedding": ({"embedding": 3}, {}, LEARNED),
        "graph_iterations": (
            {"graph_iterations": 2},
            {},
            LEARNED | {"graph_rate": 0.1, "learned_part": 0.9},
        ),
        "graph_rate": ({"graph_rate": 0.5}, {}, LEARNED),
    },
}
"""The same for parameters of single methods; `"refused"` where the change must be an error."""

WORLDS = {
    "momentum": {"training": WORLD["training"] | {"momentum": 0.9}},
    "normalised": {"model": {"kind": "iot_mlp", "hidden": 6}},
    "many": {"nodes": {"count": 9}},
    "many, some lost": {"nodes": {"count": 9}, "link": {"loss": 0.2, "latency_s": 0.01}},
}


def values_of(kind, field):
    """All values of a parameter that is a choice, else None."""
    found = typing.get_args(FIELDS[kind][field].annotation)
    is_choice = typing.get_origin(FIELDS[kind][field].annotation) is typing.Literal
    return found if is_choice else None


CASES = [
    (kind, field)
    for kind, fields in FIELDS.items()
    for field in fields
    if values_of(kind, field) is None or len(values_of(kind, field)) > 1
]


def change_of(kind, field):
    """The change, the world and the values that it starts from."""
    found = OWN.get(kind, {}).get(field) or CHANGES[field]
    change, world, base = (*found, {})[:3]
    return change, world, base


def test_every_parameter_of_every_method_is_here():
    absent = [(k, f) for k, f in CASES if f not in OWN.get(k, {}) and f not in CHANGES]
    assert absent == []
    assert [(k, f) for k in OWN for f in OWN[k] if f not in FIELDS[k]] == []


def what_shows(run, folder):
    """All that a run shows: its messages, and the models published or what predicts with them."""
    log = folder / "messages"
    columns = ["t_sent_s", "src", "dst", "kind", "bits", "outcome"]
    sent = pd.read_parquet(log)[columns].values.tolist() if log.exists() else []
    samples, rows = run.world.samples, run.world.shards.rows
    published = {}
    for i, node in enumerate(run.parts):
        for stage, p in node.publishing.published.items():
            published[i, stage, "model"] = p.ref.tensor()
            if p.predict is not None:
                given = [g.tensor() if isinstance(g, Ref) else g for g in p.given]
                model = p.ref.architecture.bind(p.ref.tensor())
                with torch.no_grad():
                    found = p.predict(model, torch.tensor(samples.x[rows[i].test]), *given)
                published[i, stage, "predictions"] = found
    return sent, published


def differ(one, other):
    """Return whether two runs show another thing; numbers by more than rounding."""
    if one[0] != other[0] or one[1].keys() != other[1].keys():
        return True
    pairs = [(one[1][key], other[1][key]) for key in one[1]]
    return any(a.shape != b.shape or float((a - b).abs().max()) > 1e-6 for a, b in pairs)


PLAYED = {}
"""Results of runs; several parameters of a method are changed from the same one."""


@pytest.mark.thinned(256)
@pytest.mark.parametrize(("kind", "field"), CASES, ids=lambda case: str(case))
def test_another_value_changes_a_run_or_is_refused(play, tmp_path, kind, field):
    change, where, base = change_of(kind, field)
    plain = {"kind": kind, **MUST.get(kind, {}), **CHEAP.get(kind, {}), **base}
    if field == "max_age_s" and "absent" in FIELDS[kind] and "last" in values_of(kind, "absent"):
        plain |= {"absent": "last"}
    world = WORLD | (where if isinstance(where, dict) else WORLDS.get(where, {}))
    if where == "refused":
        with pytest.raises((NetsimError, ValueError)):
            play(plain | change, **world)
        return
    shown = []
    for algorithm in (plain, plain | change):
        key = repr((algorithm, world))
        if key not in PLAYED:
            folder = tmp_path / str(len(shown))
            PLAYED[key] = what_shows(play(algorithm, folder, **world), folder)
        shown.append(PLAYED[key])
    assert differ(*shown)
