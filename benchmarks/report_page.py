"""Size of the pages of runs, the cost of making them, and the time to show them in a browser.

    python benchmarks/report_page.py --to /tmp/pages

Runs are invented: nodes in a plane that send to their twelve nearest, 60 evaluations, 20 graphs.
The last two columns need Playwright and Chromium (`pip install '.[browser]'`).
"""

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from netsim.views.render.page.run_page import report

SIZES = ((10, 10_000), (100, 100_000), (1000, 1_000_000))
HORIZON_S, EVALUATIONS, GRAPHS, JOBS, PEERS = 1000.0, 60, 20, 40, 12
OUTCOMES = ("delivered", "outage", "retries", "collision", "deadline")


def words(codes: Any, names: tuple[str, ...]) -> pa.Array:
    """A column of words."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))


def invent(folder: Path, nodes: int, messages: int) -> Path:
    """Write the folder of a run that never was.

    Parameters
    ----------
    folder : Path
    nodes, messages : int
    """
    draws = np.random.default_rng(nodes)
    folder.mkdir(parents=True)

    def put(name: str, **columns: Any) -> None:
        (folder / name).mkdir()
        pq.write_table(pa.table(columns), folder / name / "part-00000.parquet")

    x, y = draws.normal(0, 100, (2, nodes))
    everybody = np.arange(nodes)
    speeds = {"step_s": np.full(nodes, 0.5), "train_samples": draws.integers(15, 40, nodes)}
    pq.write_table(
        pa.table({"node": everybody, "role": ["node"] * nodes, "x_m": x, "y_m": y, **speeds}),
        folder / "nodes.parquet",
    )
    far = np.hypot(x[:, None] - x, y[:, None] - y)
    near = np.argsort(far, axis=1)[:, np.arange(1, PEERS + 1) % nodes]
    src = draws.integers(0, nodes, messages)
    dst = near[src, draws.integers(0, PEERS, messages)]
    sent = np.sort(draws.uniform(0, 0.98 * HORIZON_S, messages))
    delay = draws.exponential(0.4, messages)
    length = far[src, dst]
    ok = draws.random(messages) < np.exp(-length / np.quantile(length, 0.9) / 2.5)
    put(
        "messages",
        t_sent_s=sent,
        t_done_s=sent + delay,
        src=src,
        dst=dst,
        kind=words(draws.integers(0, 2, messages), ("Request", "Model")),
        bits=np.full(messages, 160_000),
        outcome=words(np.where(ok, 0, draws.integers(1, 5, messages)), OUTCOMES),
        age_s=np.where(ok, 1.4 * delay, np.nan),
    )
    at = np.repeat(np.linspace(0, HORIZON_S, EVALUATIONS + 1)[1:], nodes)
    node = np.tile(everybody, EVALUATIONS)
    accuracy = 0.9 - 0.7 * np.exp(-at / 300) + draws.normal(0, 0.05, nodes)[node]
    accuracy = np.clip(accuracy + draws.normal(0, 0.01, len(at)), 0, 1)
    cost = draws.uniform(0.5, 1.5, nodes)[node] * at
    put(
        "metrics",
        t_s=np.tile(at, 2),
        node=np.tile(node, 2),
        metric=words(np.repeat([0, 1], len(at)), ("accuracy", "loss")),
        stage=words(np.zeros(2 * len(at)), ("mixed",)),
        value=np.concatenate([accuracy, 1.5 - accuracy]),
        steps=np.tile(2 * at.astype(int), 2),
        bits_transmitted=np.tile((1e6 * cost).astype(int), 2),
        energy_j=np.tile(0.01 * cost, 2),
    )
    rows = np.tile(np.repeat(everybody, PEERS), GRAPHS)
    put(
        "graph",
        t_s=np.repeat(np.linspace(0, HORIZON_S, GRAPHS + 1)[1:], nodes * PEERS),
        node=rows,
        peer=near[rows, np.tile(np.arange(PEERS), GRAPHS * nodes)],
        weight=draws.dirichlet(np.full(PEERS, 0.6), GRAPHS * nodes).ravel(),
    )
    put(
        "wakes",
        t_s=np.repeat(np.linspace(0, HORIZON_S, JOBS, endpoint=False), nodes),
        node=np.tile(everybody, JOBS),
        what=words(np.zeros(nodes * JOBS), ("job",)),
        count=np.full(nodes * JOBS, 20),
    )
    (folder / "scenario.toml").write_text(f"seed = 0\nhorizon_s = {HORIZON_S}\n")
    (folder / "status.json").write_text(json.dumps({"state": "done", "virtual_s": HORIZON_S}))
    told = {"name": f"invented-{nodes}", "algorithm": "dpsgd", "nodes": nodes, "seed": 0}
    count = {"sent": messages, "delivered": int(ok.sum()), "lost": int((~ok).sum()), "expired": 0}
    end = {"mean": float(accuracy[-nodes:].mean()), "std": float(accuracy[-nodes:].std())}
    told |= {"virtual_s": HORIZON_S, "wall_s": 1.0, "messages": count, "accuracy": end}
    (folder / "summary.json").write_text(json.dumps(told))
    return folder


def shown(path: Path) -> tuple[float, float] | None:
    """Seconds until what is in view is drawn, and until everything is; None without a browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        first_s = page.evaluate("performance.getEntriesByName('drawn')[0].startTime") / 1e3
        drawing = "(() => { const t = performance.now(); report.drawAll(); return new Promise("
        drawing += "done => requestAnimationFrame(() => setTimeout(() => done("
        drawing += "performance.now() - t)))) })()"
        rest_s = page.evaluate(drawing) / 1e3
        browser.close()
    return first_s, first_s + rest_s


def main() -> None:
    """Print a row a size, and the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, required=True, help="an empty folder")
    to = parser.parse_args().to
    rows = []
    print("nodes  messages   page [kB]  made in [CPU s]  in view [s]  everything [s]")
    for nodes, messages in SIZES:
        folder = invent(to / f"run-{nodes}", nodes, messages)
        begun = time.process_time()
        report([folder], to / f"{nodes}.html")
        made_s = time.process_time() - begun
        size = (to / f"{nodes}.html").stat().st_size
        seconds = shown(to / f"{nodes}.html")
        told = "-            -" if seconds is None else f"{seconds[0]:<12.2f} {seconds[1]:.2f}"
        print(f"{nodes:<6} {messages:<10} {size / 1e3:<10.0f} {made_s:<16.2f} {told}")
        row = {"nodes": nodes, "messages": messages, "bytes": size, "cpu_s": made_s}
        rows.append({**row, "shown_s": seconds})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
