"""Write docs/whatifs.md, the gallery of the what-ifs, and its figures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import netsim
from netsim import figures as plot_style
from papers.results.tables import ROOT
from papers.sweep_pages import figures, kept
from papers.sweep_pages.gallery import WHAT_IFS, Change, WhatIf
from papers.sweep_pages.kept import Sweep
from papers.sweep_pages.markdown import measures_table, played_line
from papers.sweep_pages.sentences import Told

PAGE = ROOT / "docs" / "whatifs.md"
FIGURES = ROOT / "docs" / "whatifs"

PREFACE = """\
# What-ifs

Written by `python -m papers.sweep_pages page whatifs`; the runs' numbers are in
`papers/numbers/whatif_*.csv`, a run a line.

    netsim sweep whatif_bandwidth          # any scenario: --over key=v1,v2 --seeds 0:5 --jobs 2
    netsim sweep quickstart --over radio.reachable=2,5,10 --seeds 0:5 --show accuracy,delay_s

A sweep plays every point with every seed, several runs at a time (`--jobs`, by default one per
core). It prints a table with the mean over seeds, its 95 % interval, and the difference to the
first point, which is paired by seed because all points share their random draws. It writes the
table as `sweep.csv`, and a figure, `sweep.png`. Twelve scenarios `whatif_*` ship with netsim; the
first line of each asks a question. In all of them twenty devices learn for 200 virtual seconds;
each has 15 to 30 handwritten digits with its own class mix. They wake about every ten seconds; in
the sweep of KD-PDFL's exchange one random device wakes every 5 to 320 slots of 0.2 s.

**How to read the tables.** *Accuracy* is the accuracy on a node's own class mix, as the mean over
nodes, then over seeds, ± half its 95 % interval (Student's). *Lead* is this accuracy minus that of
local training (`local`), at the same nodes after as many local steps, paired by seed. In ten of the
what-ifs both make the same number of steps. With small batteries and in KD-PDFL's exchange local
training makes more; the lead then compares them at the step at which the other one ends.
Differences between points are paired by seed, too; the text calls a difference *not clear* if its
interval contains zero. *Local steps*, *transmitted* and *airtime* are sums over all nodes.
*Transmitted* counts every attempt with its headers, on the air or through wires, and a broadcast
once. Airtime of wires is the time for which they are busy.

**How to read the figures.** Bars are 95 % intervals over seeds. The lower panels show accuracy over
the data transmitted and over the airtime; labels name the first and the last point. The command
prints the same columns, and after each column its difference to the first point.
"""


def write() -> None:
    """Write the page and its figures from the numbers that are kept."""
    PAGE.write_text(text(), encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for what_if, sweep in _kept():
        with plot_style.style():
            figures.save(figures.draw(what_if, sweep), FIGURES / f"{what_if.name}.png")


def text() -> str:
    """The page."""
    sections: list[str] = []
    contents = ["| what if | in a sentence |", "|---|---|"]
    for what_if, sweep in _kept():
        told = sentences(what_if, sweep)
        contents.append(f"| [{what_if.title}](#{_anchor(what_if.title)}) | {told[0]} |")
        sections += _section(what_if, sweep, told)
    return "\n".join([PREFACE, *contents, "", *sections]).rstrip() + "\n"


def _kept() -> Iterable[tuple[WhatIf, Sweep]]:
    for what_if in WHAT_IFS:
        sweep = kept.kept(f"whatif_{what_if.name}")
        if sweep is not None:
            yield what_if, sweep


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _section(what_if: WhatIf, sweep: Sweep, told: Sequence[str]) -> Iterable[str]:
    name = f"whatif_{what_if.name}"
    question = netsim.scenarios()[name]
    yield from (f"## {what_if.title}", "", question, "", f"    netsim sweep {name}", "")
    about = f"{what_if.title}: accuracy and lead; accuracy by bits transmitted and by airtime"
    yield from (f"![{about}](whatifs/{what_if.name}.png)", "")
    yield from (" ".join(told), "")
    yield from (*measures_table(sweep, point_names(what_if, sweep)), "")
    yield from (played_line(sweep), "")


def point_names(what_if: WhatIf, sweep: Sweep) -> dict[str, str]:
    """Return the name of each point of the sweep."""
    names = [name for _, name, _ in what_if.points]
    return dict(zip(sweep.design.points, names, strict=True))


def sentences(what_if: WhatIf, sweep: Sweep) -> list[str]:
    """Return the sentences that answer the question."""
    names = point_names(what_if, sweep)
    told = Told(sweep, what_if.algorithm, names)
    points = list(sweep.design.points)
    found = []
    for answer in what_if.answers:
        if isinstance(answer, Change):
            found.append(told.change(answer.what, points[answer.to], points[answer.point]))
        else:
            alone = _means(Told(sweep, "local", names), points)
            found.append(answer.format(**_means(told, points), local=alone))
    return [*found, told.leads()]


def _means(told: Told, points: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Every measure's mean at every point."""
    return {m: [told.mean(point, m) for point in points] for m in told.measures}


def collect(runs: Path) -> None:
    """Keep the numbers of all what-ifs that a folder of sweeps has."""
    for what_if in WHAT_IFS:
        if (runs / f"whatif_{what_if.name}").is_dir():
            kept.collect(f"whatif_{what_if.name}", runs)
