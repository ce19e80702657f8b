"""The command `netsim sweep`, and the `[sweep]` table that its options stand for."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from netsim.console import terminal
from netsim.console.options import (
    Address,
    Against,
    Components,
    DataDir,
    Device,
    Engine,
    ForceNew,
    Out,
    Quiet,
    Report,
    ScenarioArgument,
    Sets,
    Show,
    Target,
    TimingOnly,
    Watch,
    assignments,
)
from netsim.errors import ScenarioError, one_line

ALSO_CALLED = ("grid", "search", "seeds")
FAILURE = terminal.THE_RUN


def command(
    scenario: ScenarioArgument,
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="A.B=V1,V2", help="Values of one key; repeated: their grid."),
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A.B=RANGE",
            help="Values from which a search chooses a key: LOW:HIGH or LOW:HIGH:log.",
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials of a search.")] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="WAY", help="optuna: by the trials that did well; or random \\[optuna]."
        ),
    ] = None,
    prune: Annotated[
        bool | None, typer.Option("--prune/--no-prune", help="End bad trials early.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="0:5", help="Seeds 0 to 4, or a list such as 0,3,7.")
    ] = None,
    select: Annotated[
        str | None, typer.Option(help="Metric that chooses the best trial or point.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time \\[one a core, or a GPU].")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Play every N-th run from the I-th on, beside others."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="Processes of this machine, or a Ray cluster.")
    ] = "local",
    address: Address = None,
    ray_cpus: Annotated[float, typer.Option(min=0.01, help="Cores that a run takes there.")] = 1.0,
    ray_gpus: Annotated[float, typer.Option(min=0.0, help="GPUs, or a part of one.")] = 0.0,
    show: Show = None,
    target: Target = None,
    against: Against = None,
    sets: Sets = None,
    out: Out = None,
    force_new: ForceNew = False,
    device: Device = None,
    components: Components = None,
    data: DataDir = None,
    timing_only: TimingOnly = False,
    report: Report = True,
    watch: Watch = False,
    quiet: Quiet = False,
) -> None:
    """Play a scenario many times (a grid, a search, seeds); paired differences.

    In the folder of a sweep, the same command plays what is missing; with more seeds, values or
    algorithms, what is new.
    """
    with terminal.loading(quiet):
        from netsim.campaign import sweeping
        from netsim.console.checking import checked
        from netsim.scenario.kinds import kinds_of

    table = options(
        over or [],
        draw or [],
        seeds,
        show,
        trials=trials,
        search=search,
        prune=prune,
        select=select,
        jobs=jobs,
        target=target,
        against=against,
    )
    changes = [*(sets or []), *assignments(device=device, data=data)]
    where = sweeping.Where(
        engine, address, ray_cpus, ray_gpus, part(only), force_new, report, watch
    )
    folders = tuple(components or ())
    new = sweeping.new_folder(out, force_new)
    draft, chosen = checked(scenario, changes, table, kinds_of(folders), new, timing_only)
    if chosen.sweep is None:
        raise ScenarioError(
            f"{draft.path}: has no [sweep] table; say what to vary: --over key.path=1,2 --seeds 0:5"
        )
    sweeping.play(draft, chosen, out, folders, timing_only, quiet, where)


def options(
    over: Iterable[str], draw: Iterable[str], seeds: str | None, show: str | None, **given: Any
) -> dict[str, Any]:
    """The `[sweep]` table that a command line describes.

    Parameters
    ----------
    over : iterable of str
        `key.path=value,value`.
    draw : iterable of str
        `key.path=low:high[:log]` or `key.path=value,value`.
    seeds : str or None
        `0:5` or `0,3,7`.
    show : str or None
        Names of measures, separated by commas.
    **given
        Other keys of the table; None leaves a key unsaid.

    Raises
    ------
    ScenarioError
        Naming every option that is malformed.
    """
    from netsim.campaign.sweep_results import measures_named
    from netsim.scenario.draft import in_words, parse_value, split_values

    table: dict[str, Any] = {}
    problems: list[str] = []
    for text in over:
        key, _, values = text.partition("=")
        if not values:
            problems.append(f"{in_words('--over', text)}: is not of the form key.path=value,value")
        if key in table.get("over", {}):
            problems.append(
                f"{in_words('--over', text)}: {one_line(key[:60])} is there already; list all its "
                "values at once"
            )
        table.setdefault("over", {})[key] = split_values(values)
    for text in draw:
        key, _, span = text.partition("=")
        if key in table.get("draw", {}):
            problems.append(
                f"{in_words('--draw', text)}: {one_line(key[:60])} is there already; say all of it "
                "at once"
            )
        low, _, rest = span.partition(":")
        high, _, log = rest.partition(":")
        if "," in span:
            table.setdefault("draw", {})[key] = split_values(span)
        elif not (low and high) or log not in ("", "log"):
            problems.append(
                f"{in_words('--draw', text)}: is not of the form key.path=low:high[:log] or =a,b,c"
            )
        else:
            limits = {"low": parse_value(low), "high": parse_value(high), "log": log == "log"}
            table.setdefault("draw", {})[key] = limits
    try:
        if seeds is not None:
            table["seeds"] = _seeds(seeds)
    except ScenarioError as error:
        problems.append(f"{in_words('--seeds', seeds or '')}: {error}")
    except ValueError:
        problems.append(
            f"{in_words('--seeds', seeds or '')}: is neither a range such as 0:5 nor a list "
            "such as 0,3,7"
        )
    try:
        if show is not None:
            table["show"] = measures_named(show)
    except ScenarioError as error:
        problems.append(str(error))
    if problems:
        raise ScenarioError("\n".join(problems))
    return table | {key: value for key, value in given.items() if value is not None}


def _seeds(text: str) -> list[int]:
    from netsim.scenario.sweep import MOST_RUNS

    if ":" in text:
        low, high = (int(end) for end in text.split(":"))
        if not 0 <= low < high:
            raise ValueError
        if high - low > MOST_RUNS:
            raise ScenarioError(f"has {high - low:,} seeds; at most {MOST_RUNS:,} are possible")
        return list(range(low, high))
    return [int(seed) for seed in text.split(",")]


def part(text: str | None) -> tuple[int, int] | None:
    """The part of a sweep that `--only` names: `3/8`."""
    if text is None:
        return None
    from netsim.scenario.draft import in_words

    which, _, parts = text.partition("/")
    numbers = len(text) < 20 and which.isdecimal() and parts.isdecimal()
    if not (numbers and 1 <= int(which) <= int(parts)):
        raise ScenarioError(
            f"{in_words('--only', text)}: is not of the form I/N with I from 1 to N, such as 3/8: "
            "every eighth run, beginning with the third"
        )
    return int(which), int(parts)
