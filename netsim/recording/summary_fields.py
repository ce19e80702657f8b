"""Numbers by which runs are compared: each is one number of a run's summary, with name and unit.

To add one, add an entry to `MEASURES`: tables, CSV files, figures and `--show` find it there.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netsim.recording.main_metric import MainMetric
from netsim.registry import did_you_mean
from netsim.units import BITS_PER_MEGABYTE

Summary = Mapping[str, Any]
_MOST_DECIMALS = 6
"""A number that needs more is spelled with a power of ten."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number by which runs are compared.

    Attributes
    ----------
    title : str
        Its name in tables and figures.
    unit : str
        Unit in which it is shown: `%` for a share, `pp` (points of percent) for a difference of
        shares, `#` for a count, else the unit it is in.
    of : callable
        Summary -> number; None where the summary does not hold it.
    learned : bool
        Whether it comes of learning, so that runs with `--timing-only` do not have it.
    about : str
        What it counts, in a few words to stand below a table; empty: its title says it.
    is_yes_or_no : bool
        Whether a run has 1 or 0, so that a mean over seeds has no interval.
    """

    title: str
    unit: str
    of: Callable[[Summary], Any]
    learned: bool = False
    about: str = ""
    is_yes_or_no: bool = False

    @property
    def is_of_models(self) -> bool:
        """True if a run whose models can be measured has it at any rate."""
        return self.learned and self.of is not _outside

    @property
    def scale(self) -> float:
        """Return the factor by which its numbers are shown."""
        return 100.0 if self.unit in ("%", "pp") else 1.0

    def spelled(self, value: float, half: float | None = None, sign: str = "") -> str:
        """The number in its unit, to three digits, or with half its interval; `-` if not finite.

        Parameters
        ----------
        value : float
        half : float, optional
            Half the width of an interval around it: shown to two digits, but to no more than four
            of the number's own.
        sign : str
            "+" for differences.
        """
        if not math.isfinite(value):
            return "-"
        half = None if half is None or not math.isfinite(half) else half
        if self.scale != 1.0:
            value, half, decimals = self.scale * value, half and self.scale * half, 1
        elif self.unit == "#" and not half:
            decimals = 0
        else:
            size = max(half or abs(value) / 10, abs(value) / 100)
            decimals = max(0, 1 - math.floor(math.log10(size))) if size else 0
            if decimals > _MOST_DECIMALS:
                return f"{value:{sign}.2e}" + ("" if half is None else f" ± {half:.1e}")
        around = "" if half is None else f" ± {half:,.{decimals}f}"
        rounded = round(value, decimals) + 0.0  # never "-0.0"
        return f"{rounded:{sign},.{decimals}f}{around}"


def _at(path: str, per: float = 1.0) -> Callable[[Summary], Any]:
    """The number at a path of keys such as `accuracy.best.mean`."""
    keys = path.split(".")

    def found(summary: Summary) -> Any:
        value: Any = summary
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if value is None or per == 1.0 else value / per

    return found


def _main(path: str, where: str = "") -> Callable[[Summary], Any]:
    """The number at a path below the task's main metric; None where that is accuracy."""

    def found(summary: Summary) -> Any:
        name = MainMetric.of(summary).name
        return None if name == "accuracy" else _at(f"{name}{where}.{path}")(summary)

    return found


def _share(part: str, whole: str) -> Callable[[Summary], Any]:
    """One number over another; None where the other is 0 or unknown."""
    of_part, of_whole = _at(part), _at(whole)

    def found(summary: Summary) -> Any:
        total, some = of_whole(summary), of_part(summary)
        return some / total if total and some is not None else None

    return found


def _total(path: str) -> Callable[[Summary], Any]:
    """Sum of what nodes have of something; None where the summary has none."""
    by_node = _at(path)

    def found(summary: Summary) -> Any:
        each = by_node(summary)
        each = list(each.values()) if isinstance(each, Mapping) else []
        return sum(each) if each and all(isinstance(x, int | float) for x in each) else None

    return found


def _count(key: str) -> Callable[[Summary], Any]:
    """Length of a list; None where the summary has none."""

    def found(summary: Summary) -> Any:
        value = summary.get(key)
        return len(value) if isinstance(value, list) else None

    return found


def _outside(summary: Summary) -> None:
    """Return None: the number is worked out elsewhere, no summary holds it."""


_OFFERED = "payload of messages that have ended, sent or not, once a receiver"
_TRANSMITTED = (
    "every attempt of messages whose sending is over, on the air or through wires, with headers, a "
    "broadcast counted once"
)
_DELIVERED = "payload of messages that arrived whole, once a receiver"
_USED = "of messages when algorithms get them or mix them again, but for those too late or too old"
_MAIN = "that of [task], or [metrics] main, where it is not accuracy"
_OF_MODELS = "of messages with models or other values that arrived, those that a job read"
_FIRST_USED = "from sending to the first job that read it"
_LEAD = "in the main metric over the algorithm of `against`, at as many local steps of each node"
_BROKE = "models that became nan, infinite or huge by the node's own training"
_CAUGHT = "models that became so by what another node had sent"
_SPILLED = "energy harvested that full batteries could not hold"
_OUT = "how often nodes went off for want of energy"
_WHOLE = "whole ones that fit into messages' bits: parts and compressed models count as none"
_LAST_WEIGHTS = "of the last weight that each node logged for each peer, whenever that was"
_SENT = "payload of messages that were begun, once a receiver; in runs of older versions alone"
_NEAR = "right to 0.4 % of it: delays are counted in classes"


MEASURES: dict[str, Measure] = {
    "accuracy": Measure("accuracy", "%", _at("accuracy.mean"), True),
    "accuracy_pooled": Measure("pooled", "%", _at("accuracy.pooled"), True),
    "accuracy_std_nodes": Measure("std_nodes", "%", _at("accuracy.std"), True),
    "accuracy_worst_10pct": Measure("worst 10 %", "%", _at("accuracy.worst_10pct"), True),
    "accuracy_all_classes": Measure("all classes", "%", _at("accuracy_all_classes.mean"), True),
    "accuracy_all_classes_std_nodes": Measure(
        "std_nodes", "%", _at("accuracy_all_classes.std"), True
    ),
    "accuracy_validation": Measure("validation", "%", _at("accuracy_validation.mean"), True),
    "accuracy_personal": Measure("personal", "%", _at("accuracy_personal.mean"), True),
    "accuracy_personal_std_nodes": Measure("std_nodes", "%", _at("accuracy_personal.std"), True),
    "accuracy_personal_best_on_validation": Measure(
        "personal, best on validation", "%", _at("accuracy_personal.best_on_validation"), True
    ),
    "lead": Measure("lead", "pp", _outside, True, _LEAD),
    "best": Measure("best", "%", _at("accuracy.best.mean"), True),
    "best_t_s": Measure("time of best", "s", _at("accuracy.best.t_s"), True),
    "best_on_validation": Measure(
        "best on validation", "%", _at("accuracy.best_on_validation"), True
    ),
    "main_metric": Measure("main metric", "", _main("mean"), True, _MAIN),
    "main_metric_std_nodes": Measure("std_nodes", "", _main("std"), True),
    "main_metric_worst_10pct": Measure("worst 10 %", "", _main("worst_10pct"), True),
    "main_metric_common": Measure("on common samples", "", _main("mean", "_common"), True),
    "main_metric_common_std_nodes": Measure("std_nodes", "", _main("std", "_common"), True),
    "main_metric_lead": Measure("lead", "", _outside, True, _LEAD),
    "main_metric_best": Measure("best", "", _main("best.mean"), True),
    "main_metric_best_t_s": Measure("time of best", "s", _main("best.t_s"), True),
    "main_metric_best_on_validation": Measure(
        "best on validation", "", _main("best_on_validation"), True
    ),
    "time_to_target_s": Measure("time to target", "s", _outside, True),
    "megabytes_to_target": Measure("transmitted to target", "MB", _outside, True, _TRANSMITTED),
    "airtime_to_target_s": Measure("airtime to target", "s", _outside, True),
    "target_reached": Measure("target reached", "%", _outside, True, is_yes_or_no=True),
    "messages": Measure("messages", "#", _at("messages.sent")),
    "delivered_share": Measure("delivered", "%", _share("messages.delivered", "messages.sent")),
    "lost_share": Measure("lost", "%", _share("messages.lost", "messages.sent")),
    "expired_share": Measure("expired", "%", _share("messages.expired", "messages.sent")),
    "used_share": Measure("used", "%", _share("uses.used", "uses.arrived"), about=_OF_MODELS),
    "age_at_use_s": Measure("age at first use", "s", _at("uses.mean_age_s"), about=_FIRST_USED),
    "delay_s": Measure("message delay", "s", _at("delay.mean_s")),
    "delay_p50_s": Measure("median delay", "s", _at("delay.p50_s"), about=_NEAR),
    "delay_p95_s": Measure("delay, 95 %", "s", _at("delay.p95_s"), about=_NEAR),
    "staleness_s": Measure("age at use", "s", _at("staleness.mean_s"), about=_USED),
    "offered_megabytes": Measure(
        "offered", "MB", _at("messages.bits_offered", BITS_PER_MEGABYTE), about=_OFFERED
    ),
    "transmitted_megabytes": Measure(
        "transmitted", "MB", _at("messages.bits_transmitted", BITS_PER_MEGABYTE), about=_TRANSMITTED
    ),
    "delivered_megabytes": Measure(
        "delivered", "MB", _at("messages.bits_delivered", BITS_PER_MEGABYTE), about=_DELIVERED
    ),
    "sent_megabytes": Measure(
        "sent once", "MB", _at("messages.bits_sent", BITS_PER_MEGABYTE), about=_SENT
    ),
    "models_sent": Measure("models sent", "#", _at("models_sent"), about=_WHOLE),
    "airtime_s": Measure("airtime", "s", _at("messages.airtime_s")),
    "energy_j": Measure("energy", "J", _at("energy_j")),
    "harvested_j": Measure("harvested", "J", _total("energy.harvested_j")),
    "spilled_j": Measure("spilled", "J", _total("energy.spilled_j"), about=_SPILLED),
    "outages": Measure("out of energy", "#", _total("energy.outages"), about=_OUT),
    "sparsity": Measure("sparsity of weights", "%", _at("graph.sparsity"), about=_LAST_WEIGHTS),
    "asymmetry": Measure("asymmetry of weights", "%", _at("graph.asymmetry"), about=_LAST_WEIGHTS),
    "weight_on_same_task": Measure(
        "weight on same task", "%", _at("graph.weight_on_same_task"), about=_LAST_WEIGHTS
    ),
    "weight_on_malicious": Measure(
        "weight on malicious", "%", _at("graph.weight_on_malicious"), about=_LAST_WEIGHTS
    ),
    "local_steps": Measure("local steps", "#", _at("local_steps")),
    "skipped_wakeups": Measure("skipped wake-ups", "#", _at("wakes.skipped")),
    "nodes_diverged": Measure("nodes diverged", "#", _count("diverged"), True, _BROKE),
    "nodes_caught": Measure(
        "nodes that caught it", "#", _count("diverged_by_message"), True, _CAUGHT
    ),
    "virtual_s": Measure("virtual", "s", _at("virtual_s")),
    "wall_s": Measure("wall", "s", _at("wall_s")),
}
"""Numbers by which runs are compared: the columns of `run.summary`, by name."""

_MEANINGS = {
    "accuracy": "on test samples of the node's own mix of classes, mean over nodes",
    "pooled": "on the test samples of all nodes together: the mean over nodes by test samples",
    "std_nodes": "standard deviation over nodes",
    "worst_10pct": "mean over the worst tenth of the nodes",
    "all_classes": "on test samples of all classes, the same for all nodes",
    "all_classes_std_nodes": "standard deviation over nodes",
    "validation": "on the node's own validation samples",
    "common": "on test samples that are the same for all nodes",
    "common_std_nodes": "standard deviation over nodes",
    "personal": "on the common test samples, each class weighted as in the node's own mix",
    "personal_std_nodes": "standard deviation over nodes",
    "personal_best_on_validation": "where the node's own validation accuracy was highest",
    "best": "the best mean of all evaluations at which every node had a model",
    "best_t_s": "when that was",
    "best_on_validation": "where the node's own validation accuracy was best, mean over nodes",
}
"""Of measures of accuracy or of the main metric, by what follows its name in theirs."""


def meaning(name: str) -> str:
    """Definition of a measure; empty: its title says it.

    `name`: one of `MEASURES`.
    """
    suffix = name.removeprefix("accuracy_").removeprefix("main_metric_")
    return MEASURES[name].about or _MEANINGS.get(suffix, "")


def _nodes_of(summary: Summary, key: str) -> list[Summary]:
    """The entries of a list of nodes; what is none is left out."""
    listed = summary.get(key)
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return [one for one in found if isinstance(one.get("t_s"), int | float) and "node" in one]


def divergence(summary: Summary) -> str:
    """Sentence on the nodes whose models were not sound and on what that does to the numbers."""
    broke, caught = (_nodes_of(summary, key) for key in ("diverged", "diverged_by_message"))
    sentences = []
    if broke:
        first = min(broke, key=lambda one: one["t_s"])
        sentences.append(
            f"{len(broke)} of {summary.get('nodes')} nodes diverged by their own training "
            f"(parameters nan, infinite or beyond 1e9), node {first['node']} first, at "
            f"{first['t_s']:g} s, in {first.get('job')}"
        )
    if caught:
        first = min(caught, key=lambda one: one["t_s"])
        sentences.append(
            f"{len(caught)} of {summary.get('nodes')} nodes caught it by a message, node "
            f"{first['node']} first, from node {first.get('sender')} at {first['t_s']:g} s"
        )
    if sentences:
        sentences.append(
            "metrics of a model whose outputs are not finite are null, and so is every mean over "
            "nodes with such a one; all are in summary.json"
        )
    return "; ".join(sentences)


DEFAULT = (
    "accuracy",
    "main_metric",
    "lead",
    "main_metric_lead",
    "time_to_target_s",
    "delivered_share",
    "used_share",
    "delay_s",
    "staleness_s",
    "transmitted_megabytes",
)
"""Names of the measures that a sweep shows by default."""


def row(summary: Summary) -> dict[str, Any]:
    """All measures of one run, by name; shares in [0, 1], not in percent.

    Those of the main metric are among them where it is another one than accuracy.
    """
    found: dict[str, Any] = {name: measure.of(summary) for name, measure in MEASURES.items()}
    if MainMetric.of(summary).name != "accuracy":
        return found
    return {name: value for name, value in found.items() if not name.startswith("main_metric")}


def definitions(names: Iterable[str]) -> str:
    """Return the definitions of measures whose titles do not say it, to stand below their table."""
    explained: dict[str, str] = {}
    for name in names:
        measure = MEASURES[name]
        if measure.about and measure.about not in explained:
            explained[measure.about] = measure.title.removesuffix(" to target")
    return "\n".join(f"{title}: {about}" for about, title in explained.items())


def measure_name(name: str) -> str:
    """Name of the measure that a word means; its unit may be left out.

    Raises
    ------
    ValueError
        If there is none; the message says what there is.
    """
    if name in MEASURES:
        return name
    without_unit = {known.rpartition("_")[0]: known for known in MEASURES if known.endswith("_s")}
    if name in without_unit:
        return without_unit[name]
    raise ValueError(
        f'"{name}" is not a number that runs are compared by'
        + (did_you_mean(name, MEASURES) or f"; there are {', '.join(MEASURES)}")
    )
