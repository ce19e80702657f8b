"""Scenarios that pages play as sweeps, and the seeds of which numbers are kept."""

import hashlib
import json

import netsim
from papers.results.csv_files import csv_lines
from papers.results.numbers import NUMBERS
from papers.results.tables import RESULTS

PLAYED = NUMBERS / "sweeps.csv"


def scenario_of(name: str) -> str:
    """Return the scenario of a sweep: `study_part` is papers/study/part.toml, if there is one.

    Parameters
    ----------
    name : str
    """
    path = (RESULTS / name.replace("_", "/", 1)).with_suffix(".toml")
    return str(path) if path.is_file() else name


def kept_seeds(name: str) -> set[int]:
    """Return the seeds of a sweep that are kept, of its scenario as it is now."""
    told = next((line for line in csv_lines(PLAYED) if line["sweep"] == name), None)
    if told is None or told["scenario"] != digest_of(name):
        return set()
    return {int(line["seed"]) for line in csv_lines(NUMBERS / f"{name}.csv")}


def digest_of(name: str) -> str:
    """A digest of what a sweep's scenario says, number of its seeds apart."""
    stated = netsim.load(scenario_of(name)).stated
    swept = {key: value for key, value in stated["sweep"].items() if key != "seeds"}
    text = json.dumps({**stated, "sweep": swept}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
