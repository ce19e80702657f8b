"""Collaboration graphs of several runs beside each other, and their numbers over seeds.

    python papers/collaboration_graphs.py papers/collaboration_graphs.png RUN...

RUN is the folder of one algorithm in a sweep over seeds, `runs/graph_dpfl/base/seed-0/dpfl`. A heat
map shows the weights that it logged last: a row is a node, a column the peer that it weighs. Nodes
are in the order of their classes, malicious ones last and beyond a line; own weights are left out,
for they are often several times the others. The table, in Markdown on standard output, is over RUN
and its like under the other seeds: mean ± std_seeds; in brackets what equal weights would give.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import netsim
from netsim import figures as plot_style

COLUMNS = 4
ROWS = {
    "collaborators": None,
    "weight_on_same_task": "same_task_peers",
    "weight_on_malicious": "malicious_peers",
    "own_weight": None,
    "asymmetry": None,
}
"""Columns of the table: a number in a summary's `graph`, and the one to hold against it."""


def main() -> None:
    """Draw the figure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", type=Path, help="PNG to write")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of one algorithm each")
    given = parser.parse_args()
    draw(given.figure, given.runs)
    sys.stdout.write(table(given.runs))


def draw(path: Path, runs: list[Path]) -> None:
    """Write the heat maps of `runs` to a PNG."""
    columns = min(COLUMNS, len(runs))
    rows = math.ceil(len(runs) / columns)
    with plot_style.style():
        figure = plot_style.new_figure(2.7 * columns, 2.75 * rows)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel in panels[len(runs) :]:
            panel.set_axis_off()
        for panel, run in zip(panels, runs, strict=False):
            opened = netsim.open(run)
            order, benign = order_of(opened)
            cells = last_weights(opened, order)
            top = float(cells.max())
            plot_style.heatmap(panel, cells, 1, top or 1.0)
            for ticks in (panel.xaxis, panel.yaxis):
                ticks.set_ticks(np.arange(len(order)), [str(node) for node in order])
            panel.tick_params(labelsize=5 if len(order) > 12 else 6.5)
            if benign < len(order):
                for line in (panel.axhline, panel.axvline):
                    line(benign - 0.5, color=plot_style.COLOURS[1], linewidth=1.0)
            [found] = opened.summaries.values()
            panel.set_title(f"{found['algorithm']} · up to {top:.2g}\n({found['name']})")
        plot_style.save(figure, path)


def last_weights(run: netsim.Run, order: list[int]) -> NDArray[np.float64]:
    """The weights that nodes gave their peers last, in an order of the nodes; 0 where none."""
    last = run.graph.drop_duplicates(["node", "peer"], keep="last")
    last = last[last["node"] != last["peer"]]
    cells = last.pivot(index="node", columns="peer", values="weight")
    found = cells.reindex(index=order, columns=order).to_numpy(dtype=np.float64)
    return np.asarray(np.nan_to_num(found))


def order_of(run: netsim.Run) -> tuple[list[int], int]:
    """Ids of the nodes with data as they are drawn, and how many of them are benign."""
    nodes = run.nodes
    classes = [tuple(np.flatnonzero(counts)) for counts in nodes["class_counts"]]
    bad = nodes["malicious"] if "malicious" in nodes else np.zeros(len(classes), dtype=np.bool_)
    ids = [i for i, own in enumerate(classes) if own]
    return sorted(ids, key=lambda i: (bad[i], classes[i], i)), sum(not bad[i] for i in ids)


def table(runs: list[Path]) -> str:
    """Numbers of the graphs and accuracy over the seeds of each run, as Markdown."""
    lines = [f"| scenario | algorithm | seeds | {' | '.join(ROWS)} | accuracy % |"]
    lines.append("|" + "---|" * (len(ROWS) + 4))
    for run in runs:
        like = sorted(run.parent.parent.glob(f"seed-*/{run.name}")) or [run]
        found = [one for folder in like for one in netsim.open(folder).summaries.values()]
        cells = [found[0]["name"], found[0]["algorithm"], str(len(found))]
        for name, even in ROWS.items():
            values = [one["graph"][name] for one in found]
            cells.append("-" if None in values else spread(values, 3))
            if even and None not in values:
                cells[-1] += f" ({np.mean([one['graph'][even] for one in found]):.3f})"
        cells.append(spread([100 * one["accuracy"]["mean"] for one in found], 1))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def spread(values: list[float], digits: int) -> str:
    """Mean ± std over seeds; the mean alone of one seed."""
    text = f"{np.mean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {np.std(values, ddof=1):.{digits}f}"


if __name__ == "__main__":
    main()
