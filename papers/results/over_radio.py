"""The page that no paper has: which leads survive fading, loss and late messages.

The setting is that of `benchmarks/methods_table.py`, whose functions play it: ten nodes with
Fashion-MNIST, every method with the same number of local steps, in rounds over perfect links and by
clocks of their own over radio. Learning rates are chosen there, on validation samples, in rounds.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from papers.results.csv_files import finite, parsed, write_csv
from papers.results.leads import Difference, Seeds, paired, values_of, word
from papers.results.numbers import NUMBERS, Result
from papers.results.over_radio_setting import CASES, PAPERS, Paper, _methods, methods_table
from papers.results.tables import RESULTS

NAME, SEEDS = "over_radio", tuple(range(10))
CSV, PAGE = NUMBERS / f"{NAME}.csv", RESULTS / f"{NAME}.md"
COLUMNS = ("method", "world", "seed", "accuracy", "steps", "offered", "on_air", "airtime", "cpu_s")

PREFACE = """\
# The papers' claims over radio

Written by `python -m papers.results page over_radio`; numbers are in `papers/numbers`. Does
what a paper claims of its method survive fading, loss and messages that come late? Each method's
lead over local training of as many local steps, and over the best of its own paper's baselines,
in rounds over perfect links and over radio.

**Setting.** One small size for all, that of [methods_table.md](../docs/methods_table.md), since the
papers' own sizes over radio take days: ten nodes with 70 Fashion-MNIST images each, of a class
mix of their own (Dirichlet(0.3)), a network of 25,450 parameters, some 360 local steps a node in
both worlds (the last table has each method's; over radio KD-PDFL, DPFL and CGA 2 to 7 % fewer).
*Ideal*: rounds with a barrier over perfect links, with a server that reaches all ten nodes for the
methods that have one in their papers, and the star exchange (every 20 slots, all nine peers in
reach) for KD-PDFL and its baselines. *Radio*: no server and no barrier; nodes wake by clocks of
their own, 4.5 of 9 peers in reach on average under Rayleigh fading, Shannon rates above 5 Mbit/s;
what is older than three wake-ups is not used. So the worlds differ in who exchanges with whom and
when, too, not in loss and lateness alone. Learning rates are chosen in rounds on validation
samples, of three, and are the same in both worlds. KD-PDFL was played with a constant rate and with
one that falls halfway, as FedAvg+'s does. MAPL's and FedClassAvg's crops of down to a fifth of an
image do not suit this network, which has no convolutions, and local training has none; MAPL was
played with milder ones, too. All nodes have one architecture, while MAPL's claim is of many.

**To read.** Accuracy on the node's own mix [%], mean over nodes, then mean ± standard deviation
over seeds. A lead [points] is the mean over seeds of differences between runs of one seed, ± half
its 95 % interval; the best baseline is the one with the highest mean in that world, local
training apart. A lead *holds* if the interval is above zero, the method is *behind* if it is
below, else the lead is *not clear*. *Change*: the lead over radio less the ideal one, seed by
seed, over the baseline that is best in each world. On the air: every attempt with headers, a
broadcast once; in rounds what is offered, once a receiver. Airtime: of all nodes together.
"""


def play(folder: Path, seeds: Sequence[int], again: bool = False, workers: int = 1) -> None:
    """Play what is missing both there and in what is kept.

    Parameters
    ----------
    folder : Path
        Of the runs.
    seeds : sequence of int
    again : bool
        Play what is kept, too.
    workers : int
        Runs at a time.
    """
    have: Worlds = {} if again else kept()
    missing = [
        (case, world, seed)
        for seed in seeds
        for case in CASES
        for world in case.worlds
        if seed not in have.get((case.label, world), {})
    ]
    labels = {case.label for case, _, _ in missing}
    methods_table.play_all([j for j in _search(folder) if j.case.label in labels], workers)
    rates = {label: choice.rate for label, choice in choices(folder).items()}
    jobs = [
        methods_table.Job(case, world, rates[case.label], seed, folder)
        for case, world, seed in missing
        if case.label in rates
    ]
    methods_table.play_all(jobs, workers)


def _search(folder: Path) -> list[Any]:
    return [
        methods_table.Job(
            case, "rounds", methods_table.rate_of(case, rate), _methods.TUNING_SEED, folder
        )
        for case in CASES
        for rate in _methods.RATES
    ]


def choices(folder: Path) -> dict[str, Any]:
    """Return the validation samples' choices for each method whose search is played."""
    rows: dict[str, dict[float, Any]] = {}
    for job in _search(folder):
        if (job.folder / "row.json").is_file():
            rows.setdefault(job.case.label, {})[job.rate] = methods_table.played(job)
    known = {case.label: case for case in CASES}
    return {label: methods_table.chosen(known[label], found) for label, found in rows.items()}


def collect(folder: Path) -> None:
    """Add the numbers of all runs that are there to what is kept."""
    found = kept()
    for label, choice in choices(folder).items():
        case = next(c for c in CASES if c.label == label)
        for world in case.worlds:
            rate = folder / world / label / f"rate-{choice.rate:g}"
            for row in sorted(rate.glob("seed-*/row.json")):
                seed = int(row.parent.name.removeprefix("seed-"))
                if seed != _methods.TUNING_SEED:
                    job = methods_table.Job(case, world, choice.rate, seed, folder)
                    values = _of_run(methods_table.played(job), choice.stage)
                    found.setdefault((label, world), {})[seed] = Result(values)
    if not found:
        return
    order = [(case.label, world) for case in CASES for world in _methods.WORLDS]
    lines = [
        (*key, seed, *(result.values[name] for name in COLUMNS[3:]))
        for key in sorted(found, key=lambda k: order.index(k) if k in order else len(order))
        for seed, result in sorted(found[key].items())
    ]
    write_csv(CSV, COLUMNS, lines)


def _of_run(row: Mapping[str, Any], stage: str) -> dict[str, float]:
    values = {
        "accuracy": methods_table.at(row, stage),
        "steps": row["steps"],
        "offered": row["megabytes"],
        "on_air": row["transmitted_megabytes"],
        "airtime": row["airtime_s"],
        "cpu_s": row["cpu_s"],
    }
    return {name: round(value, 6) for name, value in values.items()}


Worlds = dict[tuple[str, str], dict[int, Result]]
"""Results by method and world."""


def kept() -> Worlds:
    """The numbers as they were kept."""
    found: Worlds = {}
    for (key, seed), values in parsed(CSV, COLUMNS, _values).items():
        found.setdefault(key, {})[seed] = Result(values)
    return found


def _values(line: Mapping[str, str]) -> tuple[tuple[tuple[str, str], int], dict[str, float]]:
    values = {name: finite(line[name]) for name in COLUMNS[3:]}
    if not 0 <= values["accuracy"] <= 1:
        raise ValueError(f"accuracy is {values['accuracy']:g}, and a share is from 0 to 1")
    return ((line["method"], line["world"]), int(line["seed"])), values


def page() -> str:
    """The page from the numbers that are kept."""
    found = kept()
    if not found:
        return PREFACE + "\nNothing is played yet.\n"
    cpu_s = sum(r.values["cpu_s"] for seeds in found.values() for r in seeds.values())
    runs = sum(map(len, found.values()))
    lines = [PREFACE, f"**Played.** {runs} runs, {cpu_s / 3600:.2g} h of one core.", ""]
    lines += ["    python -m papers.results play over_radio --runs FOLDER"]
    lines += ["    python -m papers.results page over_radio --runs FOLDER", ""]
    lines += ["## What survives", "", _clear_leads(found), ""]
    lines += [_survives(found, p, m) for p in PAPERS for m in p.methods]
    lines += ["", "## Leads", "", *_leads(found), "", "## All of them", "", *_all(found)]
    return "\n".join(lines) + "\n"


def _best(found: Worlds, labels: Iterable[str], world: str) -> str | None:
    """The label with the highest mean in a world."""
    means = {
        label: fmean(values_of(found[label, world], "accuracy").values())
        for label in labels
        if (label, world) in found
    }
    return max(means, key=lambda label: means[label], default=None)


def _lead(found: Worlds, method: str, other: str | None, world: str) -> Difference | None:
    if other is None or (method, world) not in found or (other, world) not in found:
        return None
    return paired(found[method, world], found[other, world], "accuracy")


def _change(found: Worlds, method: str, others: dict[str, str | None]) -> Difference | None:
    """The lead over radio less the ideal one, over seeds that all four have."""

    def lead(world: str) -> Seeds:
        own, other = found.get((method, world), {}), found.get((others[world] or "", world), {})
        both = own.keys() & other.keys()
        return {
            s: Result({"lead": own[s].values["accuracy"] - other[s].values["accuracy"]})
            for s in sorted(both)
        }

    return paired(lead("radio"), lead("rounds"), "lead")


def _clear_leads(found: Worlds) -> str:
    """Name the methods that have a clear lead over their best baseline, by world."""
    parts, judged = [], 0
    for world, called in (("rounds", "in the ideal world"), ("radio", "over radio")):
        leads = {
            method: _lead(found, method, _best(found, paper.baselines, world), world)
            for paper in PAPERS
            for method in paper.methods
        }
        words = {method: word(lead) for method, lead in leads.items() if lead is not None}
        judged += sum(one != "one seed" for one in words.values())
        clear = [f"`{method}`" for method, one in words.items() if one == "holds"]
        parts.append(f"{called} {', '.join(clear) or 'none'}")
    return (
        f"Methods with a clear lead over the best of their paper's baselines: {'; '.join(parts)}. "
        f"Each of {judged} leads is judged by its own 95 % interval; if there were none at all, "
        f"{judged * 0.025:.2g} of them would hold by chance."
    )


def _survives(found: Worlds, paper: Paper, method: str) -> str:
    """One sentence a method."""
    told = []
    for against in ("local training", "its best baseline"):
        words = []
        for world, called in (("rounds", "ideal"), ("radio", "radio")):
            local = against == "local training"
            other = "local" if local else _best(found, paper.baselines, world)
            lead = _lead(found, method, other, world)
            said = "not played" if lead is None else f"{_spelled(lead)} ({word(lead)})"
            words.append(f"{called} {said}")
        told.append(f"lead over {against}: {', '.join(words)}")
    return f"- **{paper.name}**, `{method}`: {'; '.join(told)}."


def _leads(found: Worlds) -> Iterable[str]:
    heads = ("method", "over", "ideal", "radio", "change", "ideal: lead", "radio: lead")
    yield _line(heads)
    yield _line(["---"] * len(heads))
    for paper in PAPERS:
        for method in paper.methods:
            for who in ("local", *paper.baselines, None):
                worlds = {w: who or _best(found, paper.baselines, w) for w in _methods.WORLDS}
                leads = [_lead(found, method, worlds[w], w) for w in _methods.WORLDS]
                bests = dict.fromkeys(str(best) for best in worlds.values())
                name = who or f"its best: {', '.join(bests)}"
                words = ["-" if lead is None else word(lead) for lead in leads]
                change = _spelled(_change(found, method, worlds))
                spelled = [_spelled(lead) for lead in leads]
                yield _line([f"{paper.name}: {method}", name, *spelled, change, *words])


def _all(found: Worlds) -> Iterable[str]:
    heads = ["method", "steps", "ideal", "offered [MB]", "steps, radio", "radio", "offered [MB]"]
    heads += ["on the air [MB]", "airtime [s]", "seeds"]
    yield _line(heads)
    yield _line(["---"] * len(heads))
    labels = list(dict.fromkeys(label for label, _ in found))
    labels.sort(key=lambda label: -_mean(found.get((label, "radio"), {}), "accuracy"))
    for label in labels:
        ideal, radio = (found.get((label, world), {}) for world in _methods.WORLDS)
        cells = [f"{_mean(ideal, 'steps'):.0f}", _accuracy(ideal), f"{_mean(ideal, 'offered'):.3g}"]
        cells += [f"{_mean(radio, 'steps'):.0f}", _accuracy(radio)]
        cells += [f"{_mean(radio, name):.3g}" for name in ("offered", "on_air", "airtime")]
        yield _line([label, *cells, str(len(radio))])


def _mean(seeds: Seeds, name: str) -> float:
    values = values_of(seeds, name).values()
    return fmean(values) if values else float("nan")


def _accuracy(seeds: Seeds) -> str:
    values = [100 * v for v in values_of(seeds, "accuracy").values()]
    if len(values) < 2:
        return f"{values[0]:.1f}" if values else "-"
    return f"{fmean(values):.1f} ± {stdev(values):.1f}"


def _spelled(lead: Difference | None) -> str:
    if lead is None:
        return "-"
    half = "" if lead.half is None else f" ± {100 * lead.half:.1f}"
    return f"{100 * lead.mean:+z.1f}{half}"


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(parts) + " |"
