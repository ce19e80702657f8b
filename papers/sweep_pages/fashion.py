"""Write papers/fashion.md: all methods in one world, over radio and over ideal links."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from netsim import spread
from papers.results.leads import Difference, Word, word
from papers.results.tables import RESULTS
from papers.sweep_pages import kept
from papers.sweep_pages.kept import Line, Sweep
from papers.sweep_pages.markdown import measures_table, played_line, row
from papers.sweep_pages.sentences import listed, spelled

PAGE = RESULTS / "fashion.md"
RADIO, ROUNDS, CLOCKS = SWEEPS = tuple(
    f"compare_fashion_{world}" for world in ("radio", "rounds", "clocks")
)
POINT = "base"
CHEAP, WHOLE = ("fedproto", "mapl", "fedsim", "fedclassavg"), "fedavg"
"""Methods that send little of a model, and one that sends all of it."""

PREFACE = """\
# All methods on Fashion-MNIST, over radio

Written by `python -m papers.sweep_pages page fashion`; the runs' numbers are in
`papers/numbers/compare_fashion_*.csv`, a run a line. The tables have the columns of

    netsim compare runs/compare_fashion_radio

after `netsim run compare_fashion_radio --data DIR`: 20 nodes in a disc, Poisson wake-ups every
five seconds on average, Rayleigh fading, half the others in reach on average, messages given up
after two seconds; Dirichlet(0.1), 6,000 training images in all, LeNet, one local epoch a wake-up,
200 virtual seconds. Nothing is tuned: one learning rate for all methods but those whose paper
uses another optimiser. `compare_fashion_rounds` plays the same methods over ideal links in 40
rounds with a barrier and, for KD-PDFL, which has no rounds, `compare_fashion_clocks` by the radio
run's clocks.

**To read.** Accuracy on the node's own test share [%], mean over nodes, then over seeds ± half
its 95 % interval; *std_nodes* over nodes. *Lead* over training alone, node by node where it had
made as many local steps, paired by seed. Measured is what each node published last; of DPFL the
model after local training (stage `trained`), which its authors report. *Offered*: payload that was
asked for, once a receiver; *transmitted*: every attempt with headers, a broadcast once. To the
target: until the mean over nodes first reached 85 %, over the seeds that did.
"""

Values = Mapping[int, Mapping[str, float]]
"""Measures by seed."""


def collect(runs: Path) -> None:
    """Keep the numbers of the sweeps that a folder has."""
    for name in SWEEPS:
        if (runs / name).is_dir():
            kept.collect(name, runs)


def write() -> None:
    """Write the page from the numbers that are kept; it stays as it is while one is missing."""
    sweeps = [kept.kept(name) for name in SWEEPS]
    radio, rounds, clocks = sweeps
    if radio and rounds and clocks:
        PAGE.write_text(text(radio, rounds, clocks), encoding="utf-8")


def text(radio: Sweep, rounds: Sweep, clocks: Sweep) -> str:
    """The page.

    Parameters
    ----------
    radio, rounds, clocks : Sweep
    """
    lines = [PREFACE, "## What it shows", ""]
    lines += [f"- {told}" for told in (_leads(radio, "radio"), _leads(rounds, "ideal links"))]
    lines += [f"- {_bits(radio)}", f"- {_costs(radio, rounds, clocks)}"]
    for sweep, title in (
        (radio, "Over radio"),
        (rounds, "Over ideal links, in rounds"),
        (clocks, "Over ideal links, by clocks of their own"),
    ):
        lines += ["", f"## {title}", "", *measures_table(sweep, {}, _by_accuracy(sweep))]
        lines += ["", played_line(sweep)]
    lines += ["", "## From rounds over ideal links to clocks over radio", ""]
    lines += _changes(radio, rounds, clocks)
    return "\n".join(lines) + "\n"


def _by_accuracy(sweep: Sweep) -> Sequence[Line]:
    return sorted(sweep.lines, key=lambda line: -line.estimates["accuracy"].mean)


def _leads(sweep: Sweep, where: str) -> str:
    found: dict[Word, list[str]] = {}
    for line in _by_accuracy(sweep):
        cell = line.estimates.get("lead")
        if cell is not None:
            lead = Difference(cell.mean, cell.half_width, cell.size)
            found.setdefault(word(lead), []).append(f"{line.algorithm} ({spelled(lead)})")
    heads: dict[Word, str] = {"holds": "ahead", "behind": "behind", "not clear": "not clear"}
    return f"Over {where}, against training alone for as many steps [pp]: {_told(heads, found)}."


def _told(heads: Mapping[Word, str], found: Mapping[Word, Sequence[str]]) -> str:
    one: dict[Word, str] = {"one seed": "one seed, which judges nothing"}
    parts = [f"{head}: {listed(found[w])}" for w, head in {**heads, **one}.items() if w in found]
    return "; ".join(parts)


def _bits(radio: Sweep) -> str:
    def offered(name: str) -> float:
        return radio.line(POINT, name).estimates["offered_megabytes"].mean

    parts = [f"{name} 1/{offered(WHOLE) / offered(name):.0f}" for name in CHEAP]
    return f"Of the payload that {WHOLE} offers, {listed(parts)} is offered."


def _pairs(radio: Sweep, rounds: Sweep, clocks: Sweep) -> Iterable[tuple[str, Values, Values]]:
    """Every method with its runs over radio and over ideal links."""
    there = radio.rows[POINT]
    for line in _by_accuracy(radio):
        ideal = rounds.rows[POINT].get(line.algorithm) or clocks.rows[POINT].get(line.algorithm)
        if ideal:
            yield line.algorithm, there[line.algorithm], ideal


def _change(radio: Values, ideal: Values, measure: str = "accuracy") -> Difference:
    both = [radio[seed][measure] - ideal[seed][measure] for seed in radio if seed in ideal]
    return Difference(*spread(both))


def _costs(radio: Sweep, rounds: Sweep, clocks: Sweep) -> str:
    found: dict[Word, list[str]] = {}
    for name, here, ideal in _pairs(radio, rounds, clocks):
        change = _change(here, ideal)
        found.setdefault(word(change), []).append(f"{name} ({spelled(change)})")
    heads: dict[Word, str] = {"behind": "lose", "holds": "gain", "not clear": "not clear"}
    steps = [s.line(POINT, "local").estimates["local_steps"].mean for s in (radio, rounds)]
    fewer = f"{100 * (1 - steps[0] / steps[1]):.0f} % fewer local steps"
    return (
        f"From rounds over ideal links to clocks over radio, with {fewer} (kd_pdfl: by clocks in "
        f"both) [pp of accuracy]: {_told(heads, found)}."
    )


def _changes(radio: Sweep, rounds: Sweep, clocks: Sweep) -> Iterable[str]:
    heads = ("algorithm", "accuracy, radio - ideal [pp]", "lead, radio - ideal [pp]")
    yield row(heads)
    yield row(["---"] * len(heads))
    for name, here, ideal in _pairs(radio, rounds, clocks):
        has_lead = all("lead" in numbers for runs in (here, ideal) for numbers in runs.values())
        lead = spelled(_change(here, ideal, "lead")) if has_lead else "-"
        yield row([name, spelled(_change(here, ideal)), lead])
