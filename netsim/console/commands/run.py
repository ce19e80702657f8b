"""Commands, called once their command line has been parsed."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from netsim.console import ending, live, progress, sweeping, terminal
from netsim.console.checking import checked
from netsim.console.sweep_session import Where
from netsim.engine import runner
from netsim.errors import ScenarioError
from netsim.export.trackers import tracker
from netsim.recording import folder_lock
from netsim.scenario.kinds import kinds_of


def run(
    name: str,
    sets: Sequence[str],
    out: Path | None,
    components: Sequence[Path],
    timing_only: bool,
    figures: bool,
    quiet: bool,
    check: bool = False,
    report: bool = True,
    force_new: bool = False,
    watch: bool = False,
    log: Sequence[str] = (),
) -> None:
    """Play a scenario, or all of its sweep if it has one.

    Parameters
    ----------
    name : str
        A file, or a shipped scenario's name.
    sets : sequence of str
        Assignments `a.b=value`.
    out : Path or None
        Folder of the results; None: the first free of runs/NAME, runs/NAME-2, ...
    components : sequence of Path
        Folders of components of the user's own.
    timing_only : bool
        Without tensor work.
    figures : bool
        Whether to draw figures.
    quiet : bool
        Neither progress nor tables.
    check : bool
        Check the invariants while the run goes on, too.
    report : bool
        Whether to write a page of what happened; a sweep has none of each run.
    force_new : bool
        Move aside what `out` holds.
    watch : bool
        Write the page anew every few seconds while the run goes on.
    log : sequence of str
        Programs whose dashboards are told of the run; see `tracker.PROGRAMS`.

    Raises
    ------
    ScenarioError
        If the input is bad; nothing was written.
    RunFailedError
        If a run failed on its way.
    """
    with terminal.waiting("reading the algorithms and the scenario", quiet):
        modules = kinds_of(components)
        new = sweeping.new_folder(out, force_new)
        draft, scenario = checked(name, sets, {}, modules, new, timing_only)
    if scenario.sweep is not None and check:
        raise ScenarioError(
            f"{draft.path}: [sweep]: --check looks at single runs; leave the table out, or "
            "play scenario.toml of one of its runs"
        )
    if watch:
        live.require_page(report)
    if scenario.sweep is not None and log:
        raise ScenarioError(
            f"{draft.path}: [sweep]: --log is about single runs; leave the table out, or play "
            "scenario.toml of one of its runs"
        )
    if scenario.sweep is not None:
        where = Where(force_new=force_new, report=report, watch=watch)
        sweeping.play(draft, scenario, out, tuple(components), timing_only, quiet, where)
        return
    writers = tracker.writers_of(log)
    console = terminal.err()
    made: list[Path] = []

    def own(algorithm: str) -> Path:
        return made[0] / algorithm if len(scenario.algorithm) > 1 else made[0]

    def warn(text: str) -> None:
        console.print(Text(text, style="yellow"))

    try:
        names = [entry.name for entry in scenario.algorithm]
        with live.shown(watch, names, components, warn) as page:

            def make_folder() -> Path:
                if force_new:
                    sweeping.make_room(out, None if quiet else console)
                made.append(runner.claim(out, scenario.name))
                if not quiet:
                    progress.announce(console, scenario)
                if page is not None:
                    page.begin(made[0])
                return made[0]

            with (
                progress.watched(console, scenario, quiet) as shown,
                tracker.told(writers, own, live.write_every_s(page), warn) as observers,
            ):
                told = shown if page is None else page.told_with(shown)
                folders = runner.play(
                    scenario,
                    make_folder,
                    draft.path,
                    timing_only,
                    told,
                    components=components,
                    check=check,
                    observers=observers,
                    doing=None if told is None else told.doing,
                    ending=ending.RunEnding(scenario, figures, report, page),
                    warn=None if quiet else warn,
                )
            ending.tell(made[0], folders, scenario, quiet)
    finally:
        for folder in made:
            folder_lock.release(folder)


def tune(
    name: str, sets: Sequence[str], components: Sequence[Path], out: Path | None, quiet: bool
) -> None:
    """Measure a scenario's models and keep the routes that follow.

    Parameters
    ----------
    name : str
        A file, or a shipped scenario's name.
    sets : sequence of str
        Assignments `a.b=value`.
    components : sequence of Path
        Folders of components of the user's own.
    out : Path or None
        The table; None: the user's own.
    quiet : bool
        Print no table.

    Raises
    ------
    ScenarioError
        If the input is bad, or the table can't be read or written.
    """
    from netsim.backends import route_tables
    from netsim.campaign import tuning
    from netsim.console import tuning_table

    draft, scenario = checked(name, sets, {}, kinds_of(components), None, False)
    path = out or route_tables.user_table()
    route_tables.read_measured(path)  # a file that could not be kept must fail before the measuring
    found = tuning.tune(runner.build(scenario, draft.path))
    try:
        tuning.write_table(found, path)
    except OSError as error:
        raise ScenarioError(f"--out {path}: cannot be written: {error.strerror}") from error
    if quiet:
        return
    console = terminal.out()
    console.print("us of one node's job, and how many times faster than sequential")
    for m in found:
        console.print(tuning_table.timings(m))
    console.print(Text("kept in ") + Text(str(path), style="bold"))
