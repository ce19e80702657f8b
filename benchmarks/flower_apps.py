"""Flower apps over networks: what rounds and FedBuff cost, and 100 and 1,000 clients.

Needs `pip install 'netsim-dfl[flower]'`. Prints the tables of docs/flower.md; `--json FILE`
writes the same numbers. `--rows networks` or `--rows clients` prints one of them, `--rows ray` a
third, for which Flower's own simulation has to be there: `pip install 'flwr[simulation]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from netsim.recording import run_folder
from netsim.recording.reader import RunFolder

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "flower"
BATCHES = 'batch_size = "batch-size"\nepochs = "local-epochs"\n'
METHODS = {
    "FedAvg": "run_config = { timeout = 600.0 }",
    "FedAvg, timeout 5 s": "run_config = { timeout = 5.0 }",
    "FedBuff": 'app = "digits_app.fedbuff_server:app,digits_app.client_app:app"',
}
TARGET = 0.65
"""Accuracy of the server's model on all test images."""

LIGHT = {
    "pyproject.toml": """
[project]
name = "light"
[tool.flwr.app.components]
serverapp = "light:server"
clientapp = "light:client"
[tool.flwr.app.config]
rounds = 3
""",
    "light.py": """
import json
import os

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp, strategy

server, client = ServerApp(), ClientApp()


@server.main()
def main(grid, context):
    nodes = len(list(grid.get_node_ids()))
    all_of = int(os.environ.get("LIGHT_CLIENTS", nodes))
    chosen = strategy.FedAvg(
        min_available_nodes=all_of, min_train_nodes=all_of, min_evaluate_nodes=all_of
    )
    arrays = ArrayRecord([np.zeros(2410, np.float32)])
    result = chosen.start(grid, arrays, num_rounds=int(context.run_config.get("rounds", 3)))
    if "LIGHT_RESULT" in os.environ:
        found = [dict(one) for one in result.evaluate_metrics_clientapp.values()]
        with open(os.environ["LIGHT_RESULT"], "w", encoding="utf-8") as file:
            json.dump(found, file)


@client.train()
def on_train(message, context):
    (w,) = message.content["arrays"].to_numpy_ndarrays()
    own = int(context.node_config["partition-id"])
    metrics = MetricRecord({"loss": float(w[0]), "num-examples": 10 + own % 7})
    arrays = ArrayRecord([(w + np.float32(own)) / 2])
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)


@client.evaluate()
def on_evaluate(message, context):
    (w,) = message.content["arrays"].to_numpy_ndarrays()
    metrics = MetricRecord({"loss": float(w[0]), "num-examples": 10})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
""",
}
"""An app that computes next to nothing: what is left is the simulator."""

NETWORK = """
horizon_s = 1000.0
[[nodes.groups]]
name = "clients"
count = {clients}
[[nodes.groups]]
name = "server"
count = 1
role = "server"
uplink_bps = 1e9
downlink_bps = 1e9
[nodes]
count = {nodes}
[topology]
kind = "hub"
[link]
latency_s = 0.05
uplink_bps = 1e6
downlink_bps = 1e7
[metrics]
every_s = 500.0
main = "flower_evaluate_loss"
[[algorithm]]
kind = "flower"
"""


def played(scenario: Path, app: Path, out: Path) -> tuple[float, float]:
    """Play a scenario in a process of its own: its CPU time [s] and its memory [MiB]."""
    command = [sys.executable, "-m", "netsim", "run", str(scenario), "--components", str(app)]
    command += ["--out", str(out), "--no-report", "--no-figures", "--quiet"]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"{' '.join(command)}: exit {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def networks(folder: Path) -> list[dict[str, Any]]:
    """FedAvg and FedBuff of the example over its three networks."""
    found = []
    for network in ("ideal", "slow", "radio"):
        for k, (method, keys) in enumerate(METHODS.items()):
            path = folder / f"{network}{k}.toml"
            entry = f'[[algorithm]]\nkind = "flower"\n{BATCHES}{keys}\n'
            main = '[metrics]\nevery_s = 1.0\nmain = "flower_server_accuracy"\n'
            base = f'extends = "{EXAMPLES / network}.toml"\nhorizon_s = 240.0\n'
            path.write_text(base + main + entry, encoding="utf-8")
            out = folder / path.stem
            cpu_s, _ = played(path, EXAMPLES / "digits_app", out)
            found.append({"network": network, "method": method, "cpu_s": cpu_s, **seen(out)})
    return found


def seen(out: Path) -> dict[str, Any]:
    """Results of a run."""
    told, rows = run_folder.summary(out), RunFolder.ended(out).metrics
    own = rows["metric"].isin(["flower_server_accuracy"])
    reached = rows["t_s"][own & (rows["value"] >= TARGET)]
    recorded = told["recorded"]
    done = recorded.get("flower_done_s")
    return {
        "accuracy": recorded["flower_server_accuracy"]["mean"],
        "target_s": float(reached.min()) if len(reached) else None,
        "done_s": None if done is None else done["mean"],
        "megabytes": told["messages"]["bits_transmitted"] / 8e6,
        "lost": told["messages"]["sent"] - told["messages"]["delivered"],
    }


def clients(folder: Path) -> list[dict[str, Any]]:
    """Three rounds of 10, 100 and 1,000 clients that compute next to nothing."""
    app = folder / "light"
    app.mkdir()
    for name, text in LIGHT.items():
        (app / name).write_text(text, encoding="utf-8")
    found = []
    for count in (10, 100, 1000):
        path = folder / f"clients{count}.toml"
        path.write_text(NETWORK.format(clients=count, nodes=count + 1), encoding="utf-8")
        cpu_s, memory = played(path, app, folder / path.stem)
        told = run_folder.summary(folder / path.stem)
        found.append(
            {
                "clients": count,
                "messages": told["messages"]["sent"],
                "cpu_s": cpu_s,
                "mebibytes": memory,
                "virtual_s": told["recorded"]["flower_done_s"]["mean"],
            }
        )
    return found


RAY = """
import sys
sys.path.insert(0, sys.argv[1])
import light
from flwr.simulation import run_simulation
run_simulation(light.server, light.client, int(sys.argv[2]),
               backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0}})
"""


def beside_ray(folder: Path) -> list[dict[str, Any]]:
    """The same app by Flower's own simulation and by netsim: wall time, and their numbers."""
    app = folder / "light_ray"
    app.mkdir()
    for name, text in LIGHT.items():
        (app / name).write_text(text, encoding="utf-8")
    found = []
    for count in (10, 100):
        results, walls = {}, {}
        for by in ("netsim", "ray"):
            result = folder / f"{by}{count}.json"
            os.environ |= {"LIGHT_RESULT": str(result), "LIGHT_CLIENTS": str(count)}
            begun_s = time.perf_counter()
            if by == "ray":
                environment = {
                    **os.environ,
                    "PYTHONPATH": f"{app}:{os.environ.get('PYTHONPATH', '')}",
                }
                command = [sys.executable, "-c", RAY, str(app), str(count)]
                subprocess.run(command, check=True, env=environment, capture_output=True)
            else:
                path = folder / f"ray{count}.toml"
                path.write_text(NETWORK.format(clients=count, nodes=count + 1), encoding="utf-8")
                played(path, app, folder / path.stem)
            walls[by] = time.perf_counter() - begun_s
            results[by] = json.loads(result.read_text(encoding="utf-8"))
        pairs = zip(results["netsim"], results["ray"], strict=True)
        gap = max(abs(a["loss"] - b["loss"]) / abs(b["loss"]) for a, b in pairs)
        walls_s = {"netsim_wall_s": walls["netsim"], "ray_wall_s": walls["ray"]}
        found.append({"clients": count, **walls_s, "greatest_difference": gap})
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a table of Markdown."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([shown(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: Any) -> str:
    """A number in three digits; what there is not as a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", choices=("networks", "clients", "ray"))
    said = parser.parse_args()
    parts = {"networks": networks, "clients": clients, "ray": beside_ray}
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, play in parts.items():
            if said.rows == name or (said.rows is None and name != "ray"):
                found[name] = play(Path(scratch))
                print(table(found[name]), end="\n\n")
    if said.json is not None:
        said.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
