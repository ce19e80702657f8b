"""The command `netsim estimate`."""

from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import (
    Components,
    DataDir,
    Quiet,
    ScenarioArgument,
    Seed,
    Sets,
    assignments,
)

ALSO_CALLED = ("cost", "costs", "hours")


def command(
    scenario: ScenarioArgument,
    actors: Annotated[
        int, typer.Option(min=1, help="Actors of one core each, as of --engine ray.")
    ] = 2,
    sets: Sets = None,
    seed: Seed = None,
    components: Components = None,
    data: DataDir = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Play the network for so long at most, each algorithm.")
    ] = 20.0,
    quiet: Quiet = False,
) -> None:
    """Say what a run will take: seconds and memory, in one process and with actors."""
    with terminal.loading(quiet):
        from netsim.campaign import grid
        from netsim.campaign.sweep_points import points_of
        from netsim.console.checking import checked
        from netsim.engine import process_settings, runner
        from netsim.engine.estimate import estimated
        from netsim.scenario.kinds import kinds_of
        from netsim.views import Column, Printed
        from netsim.views.render.terminal import WrappedTable

    changes = [*(sets or []), *assignments(seed=seed, data=data)]
    with terminal.waiting("reading the algorithms and the scenario", quiet):
        kinds = kinds_of(tuple(components or ()))
        draft, played = checked(scenario, changes, {}, kinds, None, False)
    worlds = runner.build_all(played, draft.path)
    least, untimed, rows = 1.0, set[str](), list[tuple[str, ...]]()
    for entry in played.algorithm:
        world = worlds[entry.name]
        with (
            terminal.waiting(f"counting the work of {entry.name}", quiet),
            process_settings.of_runs(played.run.tf32),
        ):
            found = estimated(world, world.scenario.entry(entry.name), actors, seconds)
        least = min(least, found.part)
        untimed |= set(found.untimed)
        rows.append(
            (
                _time(found.alone_s),
                _time(found.shared_s),
                _time(found.loop_s),
                _size(found.moved_bytes),
                _size(found.rows_bytes + found.data_bytes),
                _size(found.all_rows_bytes + found.all_data_bytes),
            )
        )
    titles = "one core", f"{actors} actors", "event loop", "moved", "an actor", "all"
    columns = [Column(title, cells) for title, *cells in zip(titles, *rows, strict=True)]
    names = {"algorithm": [entry.name for entry in played.algorithm]}
    console = terminal.out()
    console.print(WrappedTable(Printed(names, columns, "")))
    console.print(
        "one core: wall time in one process on one core of this machine; actors: with as many "
        "cores as actors; event loop: what no actor takes off it; moved: rows that go between "
        "actors; an actor, all: models and samples in the fullest actor, and in one process. "
        "A method that decides by values decides by ones here."
    )
    if untimed:
        console.print(
            f"Left out, as they fail where ones stand in for values: {', '.join(sorted(untimed))}."
        )
    if played.sweep is not None:
        seeds = len(grid.seeds(played.sweep, played.seed))
        points = played.sweep.trials or len(points_of(played.sweep.over))
        kind = "trials" if played.sweep.trials else "points"
        console.print(
            f"[sweep]: {points * seeds:,} runs ({points:,} {kind}, {seeds:,} seeds), of which "
            "this is one, of the scenario without [sweep]; --set gives it a point's values."
        )
    if least < 1.0:
        console.print(f"Played to {least:.0%} of the horizon, the rest is taken to go on alike.")


def _time(seconds: float) -> str:
    """A duration in the unit that suits it."""
    for unit, name in ((3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"


def _size(size: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.0f} kB"
