"""The study of age and loss: its sweeps, leads, and what its two dials foretell for a network."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from scipy import stats

from netsim import spread
from papers.results.leads import Difference
from papers.sweep_pages.kept import Sweep

SWEEPS = tuple(
    f"asynchrony_{name}"
    for name in ("rates", "latency", "loss", "wifi", "vehicles", "leo", "limit")
)
RATES, LATENCY, LOSS, *NETWORKS, LIMIT = SWEEPS
DATA = {"digits": "digits", "fashion_mnist": "Fashion-MNIST"}
NAMES = {"asynchrony_wifi": "Wi-Fi", "asynchrony_vehicles": "vehicles", "asynchrony_leo": "LEO"}
WAKING_S = {"asynchrony_leo": 200.0}
"""Mean time between two wake-ups of a node, where it is not 10 s."""
KEYS = {LATENCY: "latency_s", LOSS: "loss", LIMIT: "latency_s"}
ALONE, GLOBAL = "local", "fedavg"

Runs = Mapping[int, Mapping[str, float]]
"""Measures by seed."""


@dataclass(frozen=True)
class Study:
    """The sweeps of the study, as they were kept."""

    sweeps: Mapping[str, Sweep]

    @property
    def methods(self) -> list[str]:
        """All that hear others, in the study's order."""
        first = next(iter(next(iter(self.sweeps.values())).rows.values()))
        return [name for name in first if name != ALONE]

    def runs(self, sweep: str, data: str, value: str, method: str) -> Runs:
        """The runs of a method at a point.

        Parameters
        ----------
        sweep, data : str
        value : str
            Of the swept key; empty: the sweep has none but the data set.
        method : str
        """
        if (sweep, value) == (LOSS, "0"):
            return self.ideal(data, method)
        point = f"data={data}" + (f",{KEYS[sweep]}={value}" if value else "")
        return self.sweeps[sweep].rows[point][method]

    def values(self, sweep: str) -> list[str]:
        """Values of the key that a sweep varies; one that is empty if it varies data sets alone.

        Wires that lose nothing are those of the other dial that delay nothing.
        """
        parts = [point.partition(",")[2] for point in self.sweeps[sweep].design.points]
        found = list(dict.fromkeys(part.partition("=")[2] for part in parts))
        return ["0", *found] if sweep == LOSS else found

    def ideal(self, data: str, method: str) -> Runs:
        """The runs over wires that delay and lose nothing."""
        return self.runs(LATENCY, data, "0", method)

    def age(self, sweep: str, data: str, value: str, method: str) -> float:
        """Mean age at use in mean times between two wake-ups; nan if nothing was used.

        Parameters
        ----------
        sweep, data, value, method : str
        """
        found = mean(self.runs(sweep, data, value, method), "staleness_s")
        return found / WAKING_S.get(sweep, 10.0)


def mean(runs: Runs, measure: str) -> float:
    """Return the mean over the seeds that have a measure; nan if none has."""
    values = [one[measure] for one in runs.values() if measure in one]
    return math.fsum(values) / len(values) if values else math.nan


def lead(runs: Runs) -> Difference:
    """Return the lead over training alone for as many steps."""
    return Difference(*spread([one["lead"] for one in runs.values()]))


def holding_together(each: Sequence[Runs]) -> list[bool]:
    """Return which leads differ from zero by Holm's test of all of them at 5 %.

    Source: Holm, Scand. J. Statist. 6, 1979; each by Student's t over the seeds.

    Parameters
    ----------
    each : sequence of Runs
    """
    found = [stats.ttest_1samp([one["lead"] for one in runs.values()], 0.0).pvalue for runs in each]
    rising = sorted(range(len(found)), key=found.__getitem__)
    held = takewhile(lambda k: found[rising[k]] <= 0.05 / (len(found) - k), range(len(found)))
    which = {rising[k] for k in held}
    return [number in which for number in range(len(found))]


def change(here: Runs, there: Runs, measure: str = "accuracy") -> Difference:
    """Return a measure's difference, seed by seed.

    Parameters
    ----------
    here, there : Runs
    measure : str
    """
    return Difference(*spread([here[seed][measure] - there[seed][measure] for seed in here]))


def best_rates(study: Study) -> dict[str, dict[str, float]]:
    """Each method's mean accuracy on validation samples by learning rate."""
    sweep = study.sweeps[RATES]

    def score(method: str, rate: str) -> float:
        each = [sweep.rows[f"data={d},learning_rate={rate}"][method] for d in DATA]
        return math.fsum(mean(runs, "accuracy_validation") for runs in each) / len(each)

    return {
        method: {rate: score(method, rate) for rate in study.values(RATES)}
        for method in [ALONE, *study.methods]
    }


@dataclass(frozen=True)
class Foretold:
    """A lead over a network beside those that the two dials foretell for it."""

    network: str
    data: str
    method: str
    found: Difference
    by_age: float
    by_loss: float


def foretold(study: Study) -> Iterator[Foretold]:
    """Each lead over a network, with what the dials foretell at its age and at its losses."""
    for network in NETWORKS:
        for data in DATA:
            for method in study.methods:
                runs = study.runs(network, data, "", method)
                age = study.age(network, data, "", method)
                ages = [study.age(LATENCY, data, v, method) for v in study.values(LATENCY)]
                lost = 1.0 - mean(runs, "delivered_share")
                losses = [float(v) for v in study.values(LOSS)]
                yield Foretold(
                    network,
                    data,
                    method,
                    lead(runs),
                    between(age, ages, _leads(study, LATENCY, data, method)),
                    between(lost, losses, _leads(study, LOSS, data, method)),
                )


def _leads(study: Study, sweep: str, data: str, method: str) -> list[float]:
    runs = [study.runs(sweep, data, v, method) for v in study.values(sweep)]
    return [lead(one).mean for one in runs]


def between(place: float, places: Sequence[float], found: Sequence[float]) -> float:
    """A value on the line through points, at its ends those of the ends; nan where nothing is."""
    points = [(x, y) for x, y in zip(places, found, strict=True) if not math.isnan(x)]
    points.sort()
    if math.isnan(place) or not points:
        return math.nan
    for (x, y), (next_x, next_y) in pairwise(points):
        if x <= place < next_x:
            return y + (next_y - y) * (place - x) / (next_x - x)
    return points[0][1] if place < points[0][0] else points[-1][1]
