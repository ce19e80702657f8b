"""Methods of `over_radio`, their settings, and the papers' claims about them.

The cases are those of `benchmarks/_methods.py`, and some that the papers' comparisons need beside.
"""

import sys
from dataclasses import dataclass, replace

from papers.results.tables import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # which are scripts, not a package

import _methods
import methods_table

__all__ = ["CASES", "PAPERS", "Paper", "_methods", "methods_table"]

BY_LABEL = {case.label: case for case in _methods.CASES}
KD_PDFL = BY_LABEL["kd_pdfl"]
IN_ROUNDS, IN_RADIO = {"switch_s": 100.0}, {"switch_s": 150.0}
"""Times at which a rate falls: halfway, over stars and over radio."""

FALLS = replace(
    KD_PDFL,
    name="kd_pdfl_falls",
    keys={**KD_PDFL.keys, "fine_tune_learning_rate": 0.01},
    in_rounds=IN_ROUNDS,
    in_radio={**KD_PDFL.in_radio, **IN_RADIO},
)
"""KD-PDFL with a rate that falls halfway, as FedAvg+'s does."""

OF_STARS = (
    replace(
        BY_LABEL["fedavg"],
        name="fedavg_stars",
        keys={},
        published="star",
        reports=_methods.LAST,
        in_radio={**BY_LABEL["fedavg"].in_radio, **_methods.LOCAL},
    ),
    replace(
        BY_LABEL["fedavg_plus"],
        name="fedavg_plus_stars",
        keys={"fine_tune_learning_rate": 0.01},
        published="star",
        reports=_methods.LAST,
        in_rounds=IN_ROUNDS,
        in_radio={**BY_LABEL["fedavg_plus"].in_radio, **_methods.LOCAL, **IN_RADIO},
    ),
)
"""KD-PDFL's baselines with its star exchange, as in its paper; the last model is reported."""

MILD = replace(
    BY_LABEL["mapl"],
    name="mapl_mild_crops",
    keys={**BY_LABEL["mapl"].keys, "augmentation": {**_methods.VIEWS, "crop_min": 0.8}},
)
"""MAPL with crops of at least 80 % of an image, which a network without convolutions bears."""


@dataclass(frozen=True)
class Paper:
    """A paper's methods and the baselines it compares them with, by their labels."""

    name: str
    methods: tuple[str, ...]
    baselines: tuple[str, ...]


PAPERS = (
    Paper("KD-PDFL", ("kd_pdfl", "kd_pdfl_falls"), ("fedavg_stars", "fedavg_plus_stars")),
    Paper(
        "DPFL",
        ("dpfl",),
        (
            *("fedavg", "fedavg_ft", "fedprox", "fedprox_ft", "apfl", "per_fedavg", "ditto"),
            *("fedrep", "knn_per", "pfedgraph"),
        ),
    ),
    Paper("MAPL", ("mapl", "mapl_mild_crops"), ("fedsim", "fedclassavg", "fedproto")),
    Paper(
        "pFedGraph",
        ("pfedgraph",),
        (
            *("fedavg", "fedavg_ft", "fedprox", "fedprox_ft", "cfl", "per_fedavg", "pfedme"),
            *("heurfedamp", "ditto", "fedrep", "pfedhn", "fedrod", "knn_per"),
        ),
    ),
    Paper(
        "L2C",
        ("l2c", "meta_l2c"),
        ("dpsgd_epochs", "cga_epochs", "fedavg", "fedfomo", "ditto"),
    ),
)

NAMED = {"local"}.union(*({*p.methods, *p.baselines} for p in PAPERS))

CASES = [case for case in (*_methods.CASES, FALLS, *OF_STARS, MILD) if case.label in NAMED]
"""The methods that a paper names, and local training."""
