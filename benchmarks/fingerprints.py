"""Compare two commits: fingerprints of event logs and of final parameters.

    python benchmarks/fingerprints.py [--before REV|FILE] [--json FILE] [--only NAME...]

Plays shipped scenarios, cut short, with this checkout's code; with `--before REV` also with that
commit's code (in a git worktree that is removed again), and says for every algorithm whether
`event_log_sha256` and `parameters_sha256` are the same. `--before FILE` takes what `--json` wrote.
Both are to be played on one machine with one thread: bits of tensor work differ between machines.
Exits with 1 if anything differs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from netsim import engine, scenario, world
from netsim.backends.native import build

ROOT = Path(__file__).resolve().parents[1]

SCENARIOS = {
    "quickstart": 200,
    "kd_pdfl_iot": 300,
    "small_dpfl": 6,
    "async_dpfl": 12,
    "async_mapl": 40,
    "small_mapl": 60,
    "async_pfedgraph": 20,
    "small_pfedgraph": 20,
    "async_l2c": 300,
    "small_meta_l2c": 150,
    "async_baselines": 60,
    "backhaul": 60,
    "whatif_churn": 200,
    "whatif_mobility": 200,
    "small_asynchronous": 60,
    "small_baa": 31,
    "small_baselines": 41,
    "small_baselines_server": 41,
    "small_drift": 15,
    "small_drones": 20,
    "small_fedbn": 41,
    "small_harvest": 40,
    "small_leo": 800,
    "small_ncota": 7,
    "small_next_token": 3,
    "small_ofdma": 31,
    "small_presets": 1200,
    "small_regression": 25,
    "small_relays": 40,
    "small_sparq_sgd": 16,
    "small_tdma_reuse": 20,
    "small_vehicles": 3,
    "study_staleness": 60,
    "whatif_bandwidth": 20,
    "whatif_battery": 20,
    "whatif_density": 20,
    "whatif_doppler": 20,
    "whatif_duty_cycle": 20,
    "whatif_exchange_interval": 40,
    "whatif_latency": 20,
    "whatif_loss": 20,
    "whatif_mac": 20,
    "whatif_stragglers": 20,
    "ray_traced": 60,
    "flood": 30,
}
"""Scenarios to play, each up to a virtual second. Data sets that are not here are left out."""

HASHES = ("event_log_sha256", "parameters_sha256")

Prints = dict[str, dict[str, str]]
"""By `scenario/algorithm`."""


def main(arguments: list[str] | None = None) -> int:
    """Play, compare, print; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="REV|FILE", help="a commit, or what --json wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the fingerprints there")
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    given = parser.parse_args(arguments)
    before: Prints | None = None
    if given.before is not None and Path(given.before).is_file():
        before = json.loads(Path(given.before).read_text(encoding="utf-8"))
    elif given.before is not None:
        before = played_at(given.before, given.only)
    now = {k: v for name in given.only for k, v in played(name, SCENARIOS[name]).items()}
    if given.json is not None:
        given.json.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    return show(now, before)


def played(name: str, horizon_s: float) -> Prints:
    """The fingerprints of every algorithm of one scenario.

    Parameters
    ----------
    name : str
        A shipped scenario; an empty result says that its data set is not on this machine.
    horizon_s : float
        When it ends.
    """
    asked = scenario.load(name, [f"horizon_s={horizon_s}", "run.threads=1"])
    folder = os.environ.get("NETSIM_DATA")
    try:
        built = world.build(asked, None if folder is None else Path(folder))
    except Exception as error:
        if "data" not in str(error):
            raise
        print(f"{name}: left out: {error}", file=sys.stderr)
        return {}
    found: Prints = {}
    for entry in asked.algorithm:
        if getattr(entry, "set", None):
            continue  # in a world of its own; older code has none
        summary: dict[str, Any] = engine.play(built, entry)
        found[f"{name}/{entry.name}"] = {key: summary[key] or "none" for key in HASHES}
        print(f"{name}/{entry.name}", file=sys.stderr)
    return found


def played_at(revision: str, names: list[str]) -> Prints:
    """The same, played by another commit's code in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree, written = Path(folder, "tree"), Path(folder, "prints.json")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        try:
            if build.is_built():  # PyTorch, or another compiler, rounds otherwise
                library = Path("netsim", "backends", "native", build.library_name())
                shutil.copy2(ROOT / library, tree / library)
                program = "from netsim.backends.native import build as b; b.is_built() or b.build()"
                subprocess.run(
                    [sys.executable, "-c", program], env=environment, cwd=tree, check=True
                )
            subprocess.run(
                [sys.executable, __file__, "--json", written, "--only", *names],
                env=environment,
                cwd=tree,
                stdout=subprocess.DEVNULL,
                check=True,
            )
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)
        found: Prints = json.loads(written.read_text(encoding="utf-8"))
        return found


def show(now: Prints, before: Prints | None) -> int:
    """A line for each run; 1 if one differs from before. Runs that only one side has are named."""
    differing = 0
    for name, prints in now.items():
        cells = [name.ljust(36)]
        was = {} if before is None else before.get(name, {})
        for key in HASHES:
            old = was.get(key)
            same = old is None or old == prints[key]
            differing += not same
            word = "" if old is None else "  equal" if same else f"  WAS {old[:12]}"
            cells.append(f"{key.removesuffix('_sha256')} {prints[key][:12]}{word}")
        print("   ".join(cells) + ("" if before is None or was else "   new"))
    if before is not None:
        both = len(now.keys() & before.keys())
        print(f"{both} runs that both have, {differing} fingerprints differ")
        print(f"gone since: {', '.join(sorted(before.keys() - now.keys())) or 'none'}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
