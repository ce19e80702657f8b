"""Cost of resuming killed runs: replay beside `--timing-only`, and checkpoints.

    python benchmarks/resume.py [SCENARIO ...] [--algorithm NAME] [--horizon S] [--set A.B=V ...]
                                [--json FILE]

Plays one algorithm of each scenario, the first one unless said, cut at `--horizon`, with
checkpoints, and breaks it off at its horizon; then, as often as `--pairs` says and alternately,
replays it up to there and plays it with `--timing-only`. Prints CPU times: of the run, of a replay
over `--timing-only` (wanted: at most 1.3) and over the run (how much sooner a killed run is where
it was), and what checkpoints took of the run (wanted: under 2 %).
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netsim import engine
from netsim.engine import runner
from netsim.engine.checkpoints import writing
from netsim.engine.checkpoints.journal import Journal
from netsim.engine.checkpoints.replay import CheckpointReplay
from netsim.engine.simulation import Simulation
from netsim.errors import ReplayError
from netsim.scenario import check, draft_of
from netsim.scenario.kinds import kinds_of

SCENARIOS = ("kd_pdfl_iot", "small_dpfl")


class ReachedError(Exception):
    """The run is where it was."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS, metavar="SCENARIO")
    parser.add_argument("--algorithm", metavar="NAME")
    parser.add_argument("--horizon", type=float, metavar="S", help="in virtual time")
    parser.add_argument("--pairs", type=int, default=3, metavar="N")
    parser.add_argument("--set", action="append", default=[], dest="sets", metavar="A.B=V")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there, too")
    given = parser.parse_args(arguments)
    rows = [
        measured(name, given.sets, given.algorithm, given.horizon, given.pairs)
        for name in given.scenarios
    ]
    if given.json is not None:
        given.json.write_text(json.dumps({"runs": rows}, indent=1), encoding="utf-8")
    return 0


def measured(
    name: str, sets: Sequence[str], algorithm: str | None, horizon_s: float | None, pairs: int
) -> dict[str, Any]:
    """One scenario's row.

    Parameters
    ----------
    name : str
    sets : sequence of str
        Assignments `a.b=value`.
    algorithm : str or None
        Its name in the scenario; None: the first one.
    horizon_s : float or None
        In virtual time; None: the scenario's own.
    pairs : int
        How often replay and `--timing-only` are timed.
    """
    modules = kinds_of()
    scenario = check(draft_of(name, sets, modules), modules)
    if horizon_s is not None:
        scenario = scenario.model_copy(update={"horizon_s": horizon_s})
    entry = next(e for e in scenario.algorithm if algorithm in (None, e.name))
    built = runner.build(scenario, name)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        run_s, wall_s, spent = _run(built, entry, run)
        replays, plays = [], []
        for _ in range(pairs):
            replays.append(_replay(built, entry, run))
            plays.append(_timing_only(built, entry))
        mark = Journal(run).read().checkpoint
        assert mark is not None
    replay_s, timing_s = statistics.median(replays), statistics.median(plays)
    row = {
        "scenario": name,
        "algorithm": entry.name,
        "events": mark.moment.events,
        "run_cpu_s": run_s,
        "run_wall_s": wall_s,
        "replay_cpu_s": replay_s,
        "timing_only_cpu_s": timing_s,
        "checkpoints": len(spent),
        "checkpoint_ms": [round(1e3 * s, 1) for s in spent],
        "checkpoint_bytes": mark.cells.bytes,
        "checkpoint_share": sum(spent) / wall_s,
    }
    print(
        f"{name} ({entry.name}): run {run_s:.2f} CPU s, replay {replay_s:.2f} "
        f"({replay_s / timing_s:.2f} of --timing-only {timing_s:.2f}; run/replay "
        f"{run_s / replay_s:.1f}); {len(spent)} checkpoints of {mark.cells.bytes / 1e6:.2f} MB, "
        f"{1e3 * statistics.median(spent):.0f} ms each, {100 * row['checkpoint_share']:.2f} % of "
        "the run, the last one included",
        flush=True,
    )
    return row


def _run(built: Any, entry: Any, folder: Path) -> tuple[float, float, list[float]]:
    """Play a run, broken off at its horizon: CPU and wall time, and what each checkpoint took."""
    spent: list[float] = []
    write, finish = writing.Checkpointing.write, Simulation.finish

    def timed(self: Any, moment: Any) -> None:
        began_s = time.perf_counter()
        write(self, moment)
        spent.append(time.perf_counter() - began_s)

    def broken_off(self: Any, folder: Path | None) -> None:
        self._checkpointing.write(self._moment())
        raise ReachedError

    writing.Checkpointing.write = timed  # type: ignore[method-assign]
    Simulation.finish = broken_off  # type: ignore[method-assign, assignment]
    began_s, began_wall_s = time.process_time(), time.perf_counter()
    try:
        engine.play(built, entry, folder)
    except ReachedError:
        pass
    finally:
        writing.Checkpointing.write = write  # type: ignore[method-assign]
        Simulation.finish = finish  # type: ignore[method-assign]
    return time.process_time() - began_s, time.perf_counter() - began_wall_s, spent


def _replay(built: Any, entry: Any, folder: Path) -> float:
    """CPU time until a run is where it was, its values not yet given back."""
    journal = Journal(folder)
    checkpoint, numbers, _ = journal.read()
    assert checkpoint is not None
    replay = CheckpointReplay(journal, checkpoint, numbers, [], lambda _: None)
    go_on = Simulation._go_on

    def reached(self: Any, replay: Any) -> None:
        raise ReachedError

    Simulation._go_on = reached  # type: ignore[method-assign]
    began_s = time.process_time()
    try:
        Simulation(built, entry, folder, False, None, replay=replay).to_horizon()
    except (ReachedError, ReplayError):  # the latter at the horizon, where no look follows
        pass
    finally:
        Simulation._go_on = go_on  # type: ignore[method-assign]
    return time.process_time() - began_s


def _timing_only(built: Any, entry: Any) -> float:
    """CPU time of the network alone; values that the algorithm needs are the first run's."""
    began_s = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        Simulation(built, entry, Path(folder), True, None).to_horizon()
    return time.process_time() - began_s


if __name__ == "__main__":
    sys.exit(main())
