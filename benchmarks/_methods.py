"""The setting in which all methods are compared: data, both worlds, how each is played."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NODES, STEPS, SEEDS, TUNING_SEED = 10, 360, (0, 1, 2), 100
ROUND_STEPS = 12
"""Two epochs of 56 samples, give or take two, in minibatches of ten."""
RATES = (0.03, 0.1, 0.3)
INTERVAL_S = 10.0
"""Between two rounds, or two wake-ups of a node."""
MAX_AGE_S = 3 * INTERVAL_S
NO_AGE = {"local", "sparq_sgd", "ad_psgd", "sgp", "dfedpgp"}
"""They hear nothing, use it once, or what they hear stays right until the next change comes."""

COMMON: dict[str, Any] = {
    "data": {
        "kind": "fashion_mnist",
        "train_rows": 6000,
        "test_rows": 3000,
        "validation": 0.2,
        "partition": {
            "kind": "class_mix",
            "alpha": 0.3,
            "train_min": 70,
            "train_max": 70,
            "test_samples": 200,
        },
    },
    "model": {"kind": "mlp", "hidden": [32]},
    "compute": {"kind": "fixed", "step_s": 0.05},
}
AMONG_PEERS: dict[str, Any] = {
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": INTERVAL_S},
}
WITH_SERVER: dict[str, Any] = {
    "nodes": {
        "count": NODES + 1,
        "groups": [
            {"name": "clients", "count": NODES},
            {"name": "server", "count": 1, "role": "server"},
        ],
    },
    "topology": {"kind": "hub"},
    "exchange": {"schedule": "rounds", "interval_s": INTERVAL_S},
}
STAR: dict[str, Any] = {
    "nodes": {"count": NODES},
    "exchange": {"schedule": "star", "slot_s": 0.5, "slots_per_exchange": 20},
}
RADIO: dict[str, Any] = {
    "nodes": {"count": NODES, "placement": "disc", "radius_m": 100.0},
    "exchange": {
        "schedule": "periodic",
        "period_s": INTERVAL_S,
        "drift": 0.02,
        "slot_s": INTERVAL_S / ROUND_STEPS,
    },
    "radio": {
        "reachable": 4.5,
        "calibrate": "power",
        "fading": {"kind": "rayleigh", "hold": "coherence", "coherence_s": 0.5},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 5e6},
    },
}
PUBLISHED = {"server": WITH_SERVER, "peers": AMONG_PEERS, "star": STAR}
WORLDS = ("rounds", "radio")

LAST = "last"
LOCAL = {"local_steps": ROUND_STEPS}
EPOCHS = {"local_epochs": 2}
HEADS = {"head_epochs": 1, "local_epochs": 1}
VIEWS = {"flip": 0.0, "jitter": 0.0, "grayscale": 0.0}
SPARSE = {"threshold": 100.0, "gamma": 0.4, "compression": {"kind": "top_k", "fraction": 0.1}}
CHAIN = [[i, i + 1] for i in range(NODES - 1)]


@dataclass(frozen=True, eq=False)
class Case:
    """A method, and how it is played.

    Attributes
    ----------
    kind : str
        Its file.
    keys : dict
        Of its entry, in both worlds.
    name : str
        Label; empty: `kind`.
    published : {"server", "peers", "star"}
        What its rounds are like.
    steps : float
        Local steps of a round; `per_neighbour` more for each neighbour that is heard.
    first_steps : int
        Local steps before the first round.
    reports : str
        The model that is reported: a stage, or `LAST` for what was published last; empty: the
        better one on validation samples.
    in_rounds, in_radio : dict
        Keys of one world alone.
    rate_keys : tuple of str
        Keys that take the learning rate, beside that of the training.
    model : dict, optional
        Its own [model].
    worlds : tuple of str
        Where it is played: a method whose nodes have to send at the same time has no other than
        rounds.
    """

    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    published: str = "server"
    steps: float = ROUND_STEPS
    per_neighbour: float = 0.0
    first_steps: int = 0
    reports: str = ""
    in_rounds: Mapping[str, Any] = field(default_factory=dict)
    in_radio: Mapping[str, Any] = field(default_factory=dict)
    rate_keys: tuple[str, ...] = ()
    model: Mapping[str, Any] | None = None
    worlds: tuple[str, ...] = WORLDS

    @property
    def label(self) -> str:
        """Name of the method in the table."""
        return self.name or self.kind

    def rounds(self, neighbours: float) -> float:
        """Number of rounds that make `STEPS` local steps."""
        return (STEPS - self.first_steps) / (self.steps + self.per_neighbour * neighbours)


ROUNDS = STEPS // ROUND_STEPS
HEARD = 4.5
"""Neighbours in reach on average over radio; a first guess where steps depend on them."""

CASES = (
    Case("local", LOCAL, published="peers", in_radio={"pace": "rounds"}),
    Case("fedavg", LOCAL, reports="mixed", in_radio={"pace": "rounds"}),
    Case("fedavg_ft", LOCAL, reports="trained"),
    Case(
        "fedavg_plus",
        {**LOCAL, "switch_s": ROUNDS * INTERVAL_S / 2, "fine_tune_learning_rate": 0.01},
        reports="trained",
        in_radio={"pace": "rounds"},
    ),
    Case("fedprox", {**LOCAL, "strength": 0.01}, reports="mixed"),
    Case(
        "fedprox",
        {**LOCAL, "strength": 0.01, "fine_tune": True},
        name="fedprox_ft",
        reports="trained",
    ),
    Case("fedbn", LOCAL, reports="mixed"),
    Case("baa", LOCAL, reports="mixed", worlds=("rounds",)),
    Case("ditto", {**LOCAL, "strength": 0.75}, steps=2 * ROUND_STEPS),
    Case("dpsgd", {"local_steps": 1}, name="dpsgd_step", published="peers", steps=1),
    Case("dpsgd", LOCAL, name="dpsgd_epochs", published="peers"),
    Case("sparq_sgd", {**LOCAL, **SPARSE}, published="peers"),
    Case("dfedavgm", {**LOCAL, "training": {"momentum": 0.9}}, published="peers", reports="mixed"),
    Case("cga", {"local_steps": 1}, name="cga_step", published="peers", steps=1, per_neighbour=1),
    Case(
        "cga",
        LOCAL,
        name="cga_epochs",
        published="peers",
        steps=ROUND_STEPS,
        per_neighbour=ROUND_STEPS,
    ),
    Case("fedfomo", {**LOCAL, "downloads": 5}, published="peers"),
    Case("fedsim", LOCAL),
    Case("fedclassavg", {**LOCAL, "contrast": "mapl", "augmentation": VIEWS}),
    Case("fedproto", LOCAL),
    Case("apfl", {"local_steps": ROUND_STEPS - 1}),
    Case("per_fedavg", LOCAL),
    Case("fedrep", {"head_epochs": 1, "local_epochs": 1}),
    Case("knn_per", LOCAL),
    Case(
        "pfedme",
        {"local_steps": 3, "outer_learning_rate": 0.05},
        steps=15,
        rate_keys=("inner_learning_rate",),
    ),
    Case("fedrod", LOCAL),
    Case("fedamp", {**LOCAL, "sigma": 10.0}),
    Case("fedamp", {**LOCAL, "heuristic": True, "strength": 0.1}, name="heurfedamp"),
    Case("pfedsim", {**LOCAL, "general_rounds": ROUNDS // 2}),
    Case("cfl", {**LOCAL, "eps_1": 0.5, "eps_2": 0.6}),
    Case("sfl", {**LOCAL, "edges": CHAIN}),
    Case("sfl", {**LOCAL, "graph": "learned"}, name="sfl_star"),
    Case("sfl", {**LOCAL, "graph": "similarity", "layers": 1}, name="sfl_star_similarity"),
    Case("flt", LOCAL, in_radio={"announce": 5}),
    Case("pfedhn", LOCAL),
    Case("pfedgraph", {"steps": ROUND_STEPS}),
    Case(
        "kd_pdfl",
        {"mu1": 0.3417, "mu2": 4.202, "c_base": 70.13, "step": "norm"},
        published="star",
        reports=LAST,
        in_radio={"timeout_s": 3.0},
    ),
    Case(
        "dpfl",
        {**EPOCHS, "initial_epochs": 6, "optimizer": "fresh"},
        published="peers",
        first_steps=36,
        reports="trained",
        in_rounds={"poll_s": 0.05},
    ),
    Case("l2c", {**EPOCHS, "kept_peers": 5}, published="peers"),
    Case("meta_l2c", {**EPOCHS, "kept_peers": 5}, published="peers"),
    Case(
        "mapl", {**EPOCHS, "warmup_rounds": ROUNDS // 2, "augmentation": VIEWS}, published="peers"
    ),
    Case(
        "mapl",
        {**EPOCHS, "warmup_rounds": ROUNDS // 2, "augmentation": VIEWS, "mix_backbones": True},
        name="mapl_plus",
        published="peers",
        model={"kind": "mapl", "projection": 64, "backbone": {"kind": "mlp", "hidden": [32]}},
    ),
    Case("ad_psgd", LOCAL, published="peers"),
    Case("swift", LOCAL, published="peers"),
    Case("epidemic", {**LOCAL, "receivers": 3}, published="peers", reports="mixed"),
    Case("sgp", LOCAL, published="peers"),
    Case("dfedpgp", HEADS, published="peers"),
    Case("dfedsam", LOCAL, published="peers", reports="mixed"),
    Case("pens", {**LOCAL, "selection_rounds": ROUNDS // 2}, published="peers"),
    Case("deprl", HEADS, published="peers"),
    Case("dispfl", {**LOCAL, "anneal_rounds": ROUNDS}, published="peers"),
    Case("divshare", {**LOCAL, "receivers": 3}, published="peers"),
    Case("dec_lora", LOCAL, published="peers"),
    Case("fedasync", LOCAL),
    Case("fedbuff", LOCAL),
    Case("ncota", {**LOCAL, "radius": 8.0}, published="peers", worlds=("rounds",)),
)


def tables(case: Case, world: str, rate: float, seed: int, rounds: float) -> dict[str, Any]:
    """A run's scenario, as a file would hold it.

    Parameters
    ----------
    case : Case
    world : {"rounds", "radio"}
    rate : float
        The learning rate.
    seed : int
    rounds : float
        How many rounds a node takes part in.
    """
    in_rounds = world == "rounds"
    around = PUBLISHED[case.published] if in_rounds else RADIO
    horizon_s = rounds * INTERVAL_S - in_rounds  # a round begins at the end of another
    if in_rounds and case.published == "star":
        exchange = around["exchange"]
        slots = exchange["slots_per_exchange"]
        horizon_s = exchange["slot_s"] * STEPS * slots / (slots - 2)  # two are an exchange's own
    keys = {**case.keys, **(case.in_rounds if in_rounds else case.in_radio)}
    if not in_rounds and case.kind not in NO_AGE:
        keys["max_age_s"] = MAX_AGE_S
    keys |= dict.fromkeys(case.rate_keys, rate)
    if case.reports != LAST:
        keys["stages"] = [case.reports] if case.reports else ["trained", "mixed"]
    return {
        "seed": seed,
        "horizon_s": horizon_s,
        **COMMON,
        **around,
        **({"model": case.model} if case.model else {}),
        "training": {"learning_rate": rate, "batch_size": 10},
        "metrics": {"every_s": horizon_s, "weights": False, "common_test_samples": 200},
        "algorithm": [{"kind": case.kind, "name": case.label, **keys}],
    }
