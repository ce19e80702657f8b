"""One run with actors on simulated machines beside the same run in one process.

    python benchmarks/actors.py hashes --actors 2 3 4     event logs and parameters, by method
    python benchmarks/actors.py kills --kills 20          the same while actors and machines die
    python benchmarks/actors.py speed                     wall time, two cores each way

Machines are those of `ray.cluster_utils.Cluster`, all of them processes of this one. `kills` ends
actors by SIGKILL at random moments, takes machines out of the cluster, and ends the event loop,
after which `netsim resume` goes on. Needs `pip install 'netsim-dfl[ray]'`.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from _timing import save, show

SYSTEMS = ("kd_pdfl", "dpfl", "mapl", "pfedgraph", "l2c", "meta_l2c", "fedavg", "dpsgd")

WORLD = """\
horizon_s = {horizon_s}
[nodes]
count = 12
placement = "disc"
radius_m = 60.0
[mobility]
kind = "random_waypoint"
[churn]
kind = "exponential"
mean_on_s = 20.0
mean_off_s = 5.0
[radio]
[exchange]
schedule = "poisson"
rate_hz = 0.5
[data]
kind = "digits"
validation = 0.2
[model]
kind = "mlp"
hidden = [32]
[metrics]
every_s = 20.0
common_test_samples = 50
"""

STEPS = """\
horizon_s = {horizon_s}
[nodes]
count = 16
[exchange]
{exchange}
[data]
kind = "{data}"
train_rows = 5200
test_rows = 400
partition = {{ kind = "iid", train_samples = 300, test_samples = 20 }}
[model]
{model}
[training]
batch_size = {batch}
[metrics]
every_s = {stretch_s}
common_test_samples = 20
[[algorithm]]
{method}
"""

PLAYED = """\
import json, sys, time
import netsim
stamps = []
def note(evaluation):
    stamps.append((time.perf_counter(), time.process_time()))
if __name__ == "__main__":
    netsim.run("run.toml", out=sys.argv[1], on_evaluation=note)
    print(json.dumps(stamps))
"""
"""Plays a run, and prints wall and processor time of the event loop at each evaluation [s]."""

EXCHANGES = {
    "rounds": 'schedule = "rounds"\ninterval_s = 2.0',
    "clocks": 'schedule = "poisson"\nrate_hz = 0.5',
}
"""Schedules: in rounds, where all train at a time, or by clocks, where a few do."""
DPSGD = 'kind = "dpsgd"\nlocal_steps = {}'
"""Mixes whole models."""
MAPL = 'kind = "mapl"\nwarmup_rounds = 1'
"""Mixes prototypes, and sends heads."""
MODELS = {
    "lenet": ('kind = "lenet"', DPSGD.format(20), 10, 100.0),
    "mapl_resnet": ('kind = "mapl"\nbackbone = "resnet18"', DPSGD.format(2), 10, 2.0),
    "mapl_shufflenet": ('kind = "mapl"\nbackbone = "shufflenet_v2"', DPSGD.format(4), 10, 6.0),
    "mapl_resnet_by_mapl": ('kind = "mapl"\nbackbone = "resnet18"', MAPL, 64, 2.0),
    "mapl_shufflenet_by_mapl": ('kind = "mapl"\nbackbone = "shufflenet_v2"', MAPL, 64, 2.0),
}
"""Tables of models, method, batch size, and the virtual time of a stretch of a run [s]."""

STRETCHES = 4
"""Stretches of a run that are timed, after a first one that is not."""

COLUMNS = {
    "what": "<28s",
    "actors": "d",
    "killed": "d",
    "machines": "d",
    "loops": "d",
    "equal": "s",
    "wall s": ".1f",
    "s a kill": ".1f",
    "over one process": ".2f",
    "width": ".1f",
    "begin s": ".1f",
    "one process s": ".2f",
    "actors s": ".2f",
    "median speed": ".2f",
    "loop's share": ".3f",
    "kB moved a step": ".0f",
    "speed": ".2f",
}
NOTHING = dict.fromkeys(COLUMNS)


def command(folder: Path, *given: str) -> subprocess.Popen[str]:
    """A command of netsim that has begun."""
    return subprocess.Popen(
        [sys.executable, "-m", "netsim", *given, "--quiet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a command that must not fail."""
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(out)


def hashes(run: Path) -> dict[str, tuple[str, str]]:
    """Event log and parameters of each algorithm of a run."""
    found = {}
    for path in sorted(run.rglob("summary.json")):
        summary = json.loads(path.read_text())
        found[summary["algorithm"]] = summary["event_log_sha256"], summary["parameters_sha256"]
    return found


@contextmanager
def machines(count: int) -> Iterator[Any]:
    """A cluster of so many machines of one core, the first of them without any work."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(count):
        cluster.add_node(num_cpus=1)
    try:
        yield cluster
    finally:
        cluster.shutdown()


def compared(folder: Path, systems: Sequence[str], actors: Sequence[int]) -> list[dict[str, Any]]:
    """Each system in one process and with actors.

    Parameters
    ----------
    folder : Path
    systems : sequence of str
    actors : sequence of int
    """
    rows = []
    for system in systems:
        text = WORLD.format(horizon_s=40.0) + f'[[algorithm]]\nkind = "{system}"\n'
        (folder / f"{system}.toml").write_text(text)
        ended(command(folder, "run", f"{system}.toml", "--out", system))
        for count in actors:
            began_s, out = time.perf_counter(), f"{system}-{count}"
            with machines(count) as cluster:
                given = "--engine", "ray", "--actors", str(count), "--address", cluster.address
                ended(command(folder, "run", f"{system}.toml", "--out", out, *given))
            same = hashes(folder / system) == hashes(folder / out)
            rows.append(
                {
                    **NOTHING,
                    "what": system,
                    "actors": count,
                    "equal": str(same),
                    "wall s": time.perf_counter() - began_s,
                }
            )
            show(rows[-1:], COLUMNS)
    return rows


def killed(
    folder: Path, kills: int, lost: int, loops: int, seed: int, horizon_s: float
) -> list[dict[str, Any]]:
    """One run whose actors, machines and event loop die at random moments.

    Parameters
    ----------
    folder : Path
    kills, lost, loops : int
        Actors, machines and event loops.
    seed : int
        Of the moments.
    horizon_s : float
        Of the run; long enough for all of them.
    """
    draws = random.Random(seed)
    text = WORLD.format(horizon_s=horizon_s) + '[[algorithm]]\nkind = "mapl"\n'
    (folder / "run.toml").write_text(text)
    began_s = time.perf_counter()
    ended(command(folder, "run", "run.toml", "--out", "alone"))
    alone_s = time.perf_counter() - began_s
    deaths = ["actor"] * kills + ["machine"] * lost + ["loop"] * loops
    draws.shuffle(deaths)
    died = {"actor": 0, "machine": 0, "loop": 0}
    with machines(4) as cluster:
        given = "--address", cluster.address
        first = "--engine", "ray", "--actors", "3", *given
        began_s = time.perf_counter()
        ended(command(folder, "run", "run.toml", "--out", "undisturbed", *first))
        undisturbed_s, began_s = time.perf_counter() - began_s, time.perf_counter()
        process = command(folder, "run", "run.toml", "--out", "shared", *first)
        while process.poll() is None:
            time.sleep(draws.uniform(1.0, 15.0))
            record = folder / "shared" / "environment.json"
            if not deaths or not record.exists() or process.poll() is not None:
                continue
            kind = deaths.pop()
            if kind == "loop":
                process.kill()
                process.communicate()
                process = command(folder, "resume", "shared", *given)
            elif kind == "machine":
                workers = [node for node in cluster.list_all_nodes() if node != cluster.head_node]
                cluster.remove_node(draws.choice(workers), allow_graceful=False)
                cluster.add_node(num_cpus=1)
            else:
                found = actor_processes()
                if not found:
                    deaths.append(kind)
                    continue
                os.kill(draws.choice(found), signal.SIGKILL)
            died[kind] += 1
            print(f"{time.perf_counter() - began_s:7.1f} s: one {kind} died", flush=True)
        ended(process)
        wall_s = time.perf_counter() - began_s
    same = hashes(folder / "alone") == hashes(folder / "shared") == hashes(folder / "undisturbed")
    return [
        {
            **NOTHING,
            "what": "mapl",
            "actors": 3,
            "killed": died["actor"],
            "machines": died["machine"],
            "loops": died["loop"],
            "equal": str(same),
            "wall s": wall_s,
            "s a kill": (wall_s - undisturbed_s) / max(1, sum(died.values())),
            "over one process": wall_s / alone_s,
        }
    ]


def actor_processes() -> list[int]:
    """Processes below this one that are actors of a run."""
    above, actors = dict[int, int](), set[int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number = int(path.parent.name)
            above[number] = int(path.read_text().rpartition(")")[2].split()[1])
            if (path.parent / "cmdline").read_bytes().startswith(b"ray::ShardActor"):
                actors.add(number)
        except OSError:
            continue
    below = {os.getpid()}
    while more := {one for one, parent in above.items() if parent in below} - below:
        below |= more
    return sorted(actors & below)


def timed(folder: Path, model: str, exchange: str, rounds: int) -> list[dict[str, Any]]:
    """Two actors of one thread beside one process with two, in turn.

    A stretch lasts from one evaluation to the next; the first, with all that a run begins with, is
    left out.

    Parameters
    ----------
    folder : Path
    model : str
        One of `MODELS`.
    exchange : str
        One of `EXCHANGES`.
    rounds : int
        Runs each way. The shortest stretch of all counts, and the median beside it.
    """
    table, method, batch, stretch_s = MODELS[model]
    ways = {"one process": "threads = 2", "actors": 'engine = "ray"\nactors = 2'}
    (folder / "played.py").write_text(PLAYED)
    stretches: dict[str, list[float]] = {way: [] for way in ways}
    loop_s, begin_s, found = list[float](), list[float](), dict[str, Any]()
    for number in range(rounds):
        for way, run in ways.items():
            text = STEPS.format(
                model=table,
                data="cifar10",
                exchange=EXCHANGES[exchange],
                horizon_s=stretch_s * (1 + STRETCHES),
                stretch_s=stretch_s,
                batch=batch,
                method=method,
            )
            (folder / "run.toml").write_text(f"{text}[run]\n{run}\n")
            out, began_s = f"{way.replace(' ', '-')}-{number}", time.perf_counter()
            given = [sys.executable, "played.py", out]
            played = subprocess.run(given, cwd=folder, check=True, capture_output=True, text=True)
            stamps = json.loads(played.stdout.splitlines()[-1])[-STRETCHES - 1 :]
            wall = [after[0] - before[0] for before, after in pairwise(stamps)]
            stretches[way] += wall
            found[way] = json.loads((folder / out / "summary.json").read_text())
            if way == "actors":
                loop_s += [after[1] - before[1] for before, after in pairwise(stamps)]
                begin_s.append(time.perf_counter() - began_s - sum(wall) * (1 + 1 / STRETCHES))
    least = {way: min(all_s) for way, all_s in stretches.items()}
    middle = {way: median(all_s) for way, all_s in stretches.items()}
    made = found["actors"]
    return [
        {
            **NOTHING,
            "what": f"{model}, {exchange}",
            "actors": 2,
            "width": found["one process"]["engine"]["mean_batch_width"],
            "begin s": min(begin_s),
            "one process s": least["one process"],
            "actors s": least["actors"],
            "median speed": middle["one process"] / middle["actors"],
            "loop's share": median(loop_s) / (2 * middle["actors"]),
            "kB moved a step": made["engine"]["moved_bytes"] / made["local_steps"] / 1e3,
            "speed": least["one process"] / least["actors"],
        },
    ]


def main(given: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("hashes", "kills", "speed"))
    parser.add_argument("--systems", nargs="+", default=SYSTEMS)
    parser.add_argument("--actors", nargs="+", type=int, default=[2, 3, 4])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--machines", type=int, default=5)
    parser.add_argument("--loops", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--horizon-s", type=float, default=1000.0)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--exchanges", nargs="+", choices=EXCHANGES, default=list(EXCHANGES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if asked.what == "hashes":
            rows = compared(folder, asked.systems, asked.actors)
        elif asked.what == "kills":
            rows = killed(
                folder, asked.kills, asked.machines, asked.loops, asked.seed, asked.horizon_s
            )
        else:
            rows = []
            for number, model in enumerate(asked.models):
                for exchange in asked.exchanges:
                    here = folder / f"{number}-{exchange}"
                    here.mkdir()
                    rows += timed(here, model, exchange, asked.rounds)
                    show(rows[-1:], COLUMNS)
    show(rows, COLUMNS)
    save(asked.json, {"rows": rows})
    return rows


if __name__ == "__main__":
    main()
