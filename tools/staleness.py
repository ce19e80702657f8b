"""Write table and figure of docs/asynchrony.md about age: `python tools/staleness.py`.

Plays `study_staleness`, 160 runs, in two minutes of one core, in a folder that is thrown away.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import t

import netsim

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "asynchrony.md"
FIGURE = ROOT / "docs" / "images" / "staleness.svg"
BEGIN, END = "<!-- written by tools/staleness.py -->", "<!-- end of it -->"
MEASURES = {"accuracy": "own classes", "accuracy_all_classes": "all classes"}
LOOKS = {
    "none": ("#5b6472", "o"),
    "polynomial": ("#0072B2", "s"),
    "hinge": ("#E69F00", "^"),
    "exponential": ("#D55E00", "D"),
}
"""Colour and marker of each kind."""


def kind_of(table: str) -> str:
    """The kind that a point of the sweep names, such as `{kind = "hinge"}`."""
    found = re.search(r'kind = "(\w+)"', table)
    assert found is not None, table
    return found[1]


def numbers(folder: Path) -> pd.DataFrame:
    """Runs of the sweep: a row a run, with `latency_s`, `kind`, `seed` and what is shown."""
    runs = netsim.open(folder).summary.reset_index()
    runs["kind"] = [kind_of(str(table)) for table in runs["algorithm.staleness"]]
    runs["latency_s"] = runs["link.latency_s"].astype(float)
    return runs


def mean_and_half(values: pd.Series) -> tuple[float, float]:
    """The mean over seeds and half its 95 % interval, of shares, in per cent."""
    half = t.ppf(0.975, len(values) - 1) * values.sem()
    return 100 * float(values.mean()), 100 * float(half)


def paired(runs: pd.DataFrame, measure: str) -> dict[tuple[float, str], pd.Series]:
    """Values of each point, a seed an entry, by latency and kind."""
    by_point = runs.groupby(["latency_s", "kind"])
    return {point: rows.set_index("seed")[measure] for point, rows in by_point}


def table(runs: pd.DataFrame) -> str:
    """Accuracy without weights, and what each kind of weights adds, seed by seed."""
    kinds = [kind for kind in LOOKS if kind != "none"]
    lines = [
        f"| on its way | age at use | accuracy on | no weights | {' | '.join(kinds)} |",
        "|---|---|---|---|" + "---|" * len(kinds),
    ]
    for measure, classes in MEASURES.items():
        points = paired(runs, measure)
        ages_s = paired(runs, "staleness_s")
        for latency_s in sorted({latency_s for latency_s, _ in points}):
            plain = points[latency_s, "none"]
            cells = [f"{latency_s:g} s", f"{ages_s[latency_s, 'none'].mean():.0f} s", classes]
            cells.append("{:.1f} ± {:.1f}".format(*mean_and_half(plain)))
            for kind in kinds:
                gained = points[latency_s, kind] - plain
                cells.append("{:+.1f} ± {:.1f}".format(*mean_and_half(gained)))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(runs: pd.DataFrame, path: Path) -> None:
    """Accuracy against the age at use, a line a kind."""
    matplotlib.rcParams["svg.hashsalt"] = "staleness"
    figure = Figure(figsize=(7.6, 3.3), layout="constrained")
    for panel, (measure, classes) in zip(figure.subplots(1, 2), MEASURES.items(), strict=True):
        points, ages_s = paired(runs, measure), paired(runs, "staleness_s")
        latencies_s = sorted({latency_s for latency_s, _ in points})
        for kind, (colour, marker) in LOOKS.items():
            at = [float(ages_s[latency_s, kind].mean()) for latency_s in latencies_s]
            shown = [mean_and_half(points[latency_s, kind]) for latency_s in latencies_s]
            panel.errorbar(
                at, [m for m, _ in shown], [h for _, h in shown],
                color=colour, marker=marker, capsize=2.5, label=kind,
            )  # fmt: skip
        panel.set(xscale="log", xlabel="Age at use [s]", ylabel="Accuracy [%]")
        panel.set_title(f"Accuracy on {classes}", fontsize=9.5, loc="left")
        panel.minorticks_off()
        panel.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#e3e3e3", linewidth=0.8)
    panel.legend(title="weights by staleness", frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Date": None})


def written(text: str, runs: pd.DataFrame) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(runs)}\n\n{END}{after}"


def main() -> None:
    """Play, write the table, draw the figure; or read a sweep that was played."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweep", type=Path, help="folder of a played `study_staleness`")
    folder = parser.parse_args().sweep
    with tempfile.TemporaryDirectory() as scratch:
        if folder is None:
            folder = Path(scratch) / "sweep"
            words = ["sweep", str(ROOT / "scenarios" / "study_staleness.toml"), "-q"]
            command = [sys.executable, "-m", "netsim", *words, "--out", str(folder)]
            subprocess.run(command, check=True)
        runs = numbers(folder)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), runs), encoding="utf-8")
    draw(runs, FIGURE)


if __name__ == "__main__":
    main()
