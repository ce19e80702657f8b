"""All methods on one small setting, with equal local steps: rounds, and radio without a barrier.

    python benchmarks/methods_table.py --out FOLDER --data DIR

plays every method of `algorithms/` with three seeds in both worlds and writes its tables into
docs/methods_table.md, where the setting is described. Runs that FOLDER holds already are not played
again, so it can be stopped and called again, or called with `--world` for one of both. With
`--only` the rows of other methods, and the table of small scenarios, stay as the page has them.

A method's rounds are counted so that a node makes `STEPS` local steps in all, as the engine counts
them: a method that makes twice as many in a round has half the rounds. Its learning rate, and which
of two models is reported where it shows two, are what has the highest accuracy on validation
samples with a seed that is not among those of the table.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _small_baselines
from _methods import CASES, HEARD, NODES, RATES, SEEDS, STEPS, TUNING_SEED, WORLDS, Case, tables

from netsim.engine import runner
from netsim.recording import run_folder
from netsim.scenario import Scenario, from_dict
from netsim.units import BITS_PER_MEGABYTE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods_table.md"
BEGIN, END = "<!-- written by benchmarks/methods_table.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Job:
    """One run."""

    case: Case
    world: str
    rate: float
    seed: int
    out: Path

    @property
    def folder(self) -> Path:
        """Return the folder in which it is played."""
        return self.out / self.world / self.case.label / f"rate-{self.rate:g}" / f"seed-{self.seed}"


def played(job: Job) -> dict[str, Any]:
    """Play a run, unless its folder is there; its row: what the tables are made of."""
    row = job.folder / "row.json"
    if row.is_file():
        found: dict[str, Any] = json.loads(row.read_text(encoding="utf-8"))
        return found
    start = time.process_time()
    neighbours = NODES - 1 if job.world == "rounds" else HEARD
    rounds = job.case.rounds(neighbours)
    if job.case.per_neighbour and job.world == "radio":  # how many are heard, fading tells
        probe = scenario(job, rounds)
        steps = run(probe, job.folder.with_name(job.folder.name + "-probe"), True)["local_steps"]
        rounds *= STEPS * NODES / steps
    found = run(scenario(job, rounds), job.folder)
    found = {
        "accuracy": {stage: mean_at(found, "accuracy", stage) for stage in stages_of(found)},
        "validation": {
            stage: mean_at(found, "accuracy_validation", stage) for stage in stages_of(found)
        },
        "steps": found["local_steps"] / NODES,
        "megabytes": found["messages"]["bits_offered"] / BITS_PER_MEGABYTE,
        "transmitted_megabytes": found["messages"]["bits_transmitted"] / BITS_PER_MEGABYTE,
        "airtime_s": found["messages"]["airtime_s"],
        "diverged": len(found["diverged"]),
        "cpu_s": time.process_time() - start,
    }
    row.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def scenario(job: Job, rounds: float) -> Scenario:
    """The scenario of a run, checked."""
    return from_dict(tables(job.case, job.world, job.rate, job.seed, rounds), "methods_table")


def run(one: Scenario, folder: Path, timing_only: bool = False) -> dict[str, Any]:
    """Play a scenario of one algorithm; its summary."""

    def made() -> Path:
        folder.mkdir(parents=True)
        return folder

    runner.play(one, made, one.name, timing_only)
    return run_folder.summary(folder)


def stages_of(summary: Mapping[str, Any]) -> list[str]:
    """The stages that were measured; one without a name where there is only one."""
    return list(summary["accuracy"].get("stages", {})) or [""]


def mean_at(summary: Mapping[str, Any], metric: str, stage: str) -> float:
    """The mean over nodes of a stage's metric at the end."""
    block = summary[metric]
    return float(block.get("stages", {}).get(stage, block)["mean"])


@dataclass(frozen=True)
class Choice:
    """Choice that the validation samples have made for a method."""

    rate: float
    stage: str


def chosen(case: Case, rows: Mapping[float, Mapping[str, Any]]) -> Choice:
    """The rate and the stage with the highest validation accuracy, the lowest rate of equals."""
    found = {
        (rate, stage): accuracy if accuracy == accuracy else -1.0
        for rate, row in rows.items()
        for stage, accuracy in row["validation"].items()
    }
    rate, stage = max(found, key=lambda key: (found[key], -key[0]))
    return Choice(rate, stage or case.reports)


def play_all(jobs: Sequence[Job], workers: int) -> dict[Job, dict[str, Any]]:
    """The rows of some runs."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        found = {}
        for job, row in zip(jobs, pool.map(tolerated, jobs), strict=True):
            found[job] = row
            told = row.get("problem") or f"{row['cpu_s']:6.1f} s  {row['accuracy']}"
            print(f"{job.folder.relative_to(job.out)}: {told}", flush=True)
        return found


def tolerated(job: Job) -> dict[str, Any]:
    """`played`, or what stands in its way."""
    try:
        return played(job)
    except Exception as error:  # told at the end; the other methods go on
        return {"problem": f"{type(error).__name__}: {error}"}


def rate_of(case: Case, rate: float) -> float:
    """A rate of the search as this method takes it: heavy-ball steps are ten times as long."""
    return rate / 10 if case.kind == "dfedavgm" else rate


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--data", type=Path, help="the data sets [$NETSIM_DATA]")
    parser.add_argument("--world", choices=WORLDS, nargs="+", default=list(WORLDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--only", nargs="+", help="labels of methods")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--page", type=Path, default=PAGE, help="what to write")
    given = parser.parse_args(arguments)
    if given.data:
        os.environ["NETSIM_DATA"] = str(given.data.absolute())
    cases = [case for case in CASES if not given.only or case.label in given.only]

    search = [
        Job(case, "rounds", rate_of(case, rate), TUNING_SEED, given.out)
        for case in cases
        for rate in RATES
    ]
    tuning = play_all(search, given.jobs)
    choices = {}
    for case in cases:
        rows = {job.rate: row for job, row in tuning.items() if job.case is case}
        usable = {rate: row for rate, row in rows.items() if "problem" not in row}
        if usable:
            choices[case.label] = chosen(case, usable)
    jobs = [
        Job(case, world, choices[case.label].rate, seed, given.out)
        for world in given.world
        for case in cases
        if case.label in choices and world in case.worlds
        for seed in given.seeds
    ]
    rows = play_all(jobs, given.jobs)
    spent_s = sum(row.get("cpu_s", 0.0) for row in (*tuning.values(), *rows.values()))
    command = "python benchmarks/methods_table.py --out FOLDER --data DIR"
    if given.only:
        told = f"`--only` {', '.join(case.label for case in cases)}: {spent_s / 60:.0f} min."
        told = f"{datetime.date.today():%Y-%m-%d}, {told}"
        write_page(given.page, merged(given.page, told, page_lines(cases, choices, rows)))
        return
    small, small_s = _small_baselines.lines(given.out)
    spent_s += small_s
    lines = [
        f"`{command}`, {spent_s / 60:.0f} minutes of one core.",
        "",
        *page_lines(cases, choices, rows),
        "",
        "## Baselines of the papers in the small scenarios",
        "",
        "Lines of the file, the tests that hold whole runs in float64 against an independent",
        "transcription of the paper, and the accuracy [%] at the end of `small_baselines_server`",
        "(CGA: `small_baselines`; rounds, 600 s) and of `async_baselines` (radio, 400 s), seed 0.",
        "",
        *small,
    ]
    write_page(given.page, "\n".join(lines))


HEAD = (
    "| Method | rate | model | steps | accuracy | offered [MB] | steps | accuracy | offered [MB] "
    "| on the air [MB] | airtime [s] |"
)


def page_lines(
    cases: Iterable[Case], choices: Mapping[str, Choice], rows: Mapping[Job, Mapping[str, Any]]
) -> list[str]:
    """The table: methods by their accuracy in rounds."""
    found = []
    for case in cases:
        if case.label not in choices:
            found.append((-1.0, f"| {case.label} |" + " - |" * 10))
            continue
        choice = choices[case.label]
        cells = [case.label, f"{choice.rate:g}", choice.stage]
        order = 0.0
        for world in WORLDS:
            mine = [r for job, r in rows.items() if (job.case, job.world) == (case, world)]
            failed = [r["problem"] for r in mine if "problem" in r]
            if failed or not mine:
                cells += ["-", failed[0] if failed else "-", "-"]
                cells += ["-", "-"] if world == "radio" else []
                continue
            accuracy = [100 * at(r, choice.stage) for r in mine]
            if world == "rounds":
                order = statistics.mean(accuracy)
            diverged = sum(r["diverged"] for r in mine)
            cells += [
                number([r["steps"] for r in mine]),
                spread(accuracy) + (f" ({diverged} diverged)" if diverged else ""),
                number([r["megabytes"] for r in mine]),
            ]
            if world == "radio":
                cells += [
                    number([r["transmitted_megabytes"] for r in mine]),
                    number([r["airtime_s"] for r in mine]),
                ]
        found.append((order, "| " + " | ".join(cells) + " |"))
    found.sort(key=lambda row: -row[0])
    above = "| | | | rounds | | | radio | | | | |"
    return [above, "|" + "---|" * 11, HEAD, *(line for _, line in found)]


def merged(page: Path, told: str, new: Sequence[str]) -> str:
    """Put the rows of some methods among those that a page has.

    Parameters
    ----------
    page : Path
    told : str
        When and how they were played.
    new : sequence of str
        Lines of their table, its head included.

    Returns
    -------
    str
        What stands between the two marks.
    """
    text = page.read_text(encoding="utf-8")
    before, _, after = text.partition(BEGIN)[2].partition(END)[0].strip().partition(HEAD + "\n")
    above, _, _ = before.partition(new[0])
    old, _, rest = after.partition("\n\n")
    labels = {line.split("|")[1] for line in new[3:]}
    kept = [line for line in old.splitlines() if line.split("|")[1] not in labels]
    rows = sorted([*kept, *new[3:]], key=lambda line: -_accuracy(line))
    return "\n".join([above.rstrip(), "", told, "", *new[:3], *rows, "", rest.strip()])


def _accuracy(line: str) -> float:
    """Mean accuracy in rounds of a row; 0 where there is none."""
    found = re.match(r"\d+\.\d", line.split("|")[5].strip())
    return float(found[0]) if found else 0.0


def at(row: Mapping[str, Any], stage: str) -> float:
    """The test accuracy of a stage, or of the only one."""
    accuracy = row["accuracy"]
    return float(accuracy[stage] if stage in accuracy else next(iter(accuracy.values())))


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds."""
    if len(values) < 2:
        return f"{values[0]:.1f}"
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


def number(values: Sequence[float | None]) -> str:
    """A mean over seeds to three digits."""
    known = [v for v in values if v is not None]
    if not known:
        return "-"
    mean = statistics.mean(known)
    return f"{mean:.0f}" if mean >= 100 else f"{mean:.3g}"


def write_page(page: Path, text: str) -> None:
    """Put the tables between the two marks of the page; what is around them stays."""
    written = page.read_text(encoding="utf-8") if page.is_file() else f"{BEGIN}\n{END}\n"
    inner = f"{BEGIN}\n\n{text}\n\n{END}"
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    page.write_text(re.sub(pattern, lambda _: inner, written, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
