"""What each command does, once its command line has been parsed."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from netsim.console import evaluation_cost, live, papers, progress, sweeping, terminal
from netsim.console.checking import checked
from netsim.console.sweep_session import Where
from netsim.engine import runner
from netsim.errors import FolderError, ScenarioError
from netsim.recording import checksums, folder_lock, run_folder
from netsim.recording.summary_fields import divergence
from netsim.results.trackers import tracker
from netsim.scenario import Scenario
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
    live_port: int | None = None,
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
    live_port : int or None
        Where the page is to be seen while the run goes on; 0: a port that is free; None: nowhere.
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
    if scenario.sweep is not None and (log or live_port is not None):
        option = "--log" if log else "--watch"
        raise ScenarioError(
            f"{draft.path}: [sweep]: {option} is about single runs; leave the table out, or play "
            "scenario.toml of one of its runs"
        )
    if scenario.sweep is not None:
        where = Where(force_new=force_new, report=report)
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
        with live.served(live_port, scenario, components) as page:

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
                watch = shown if page is None else page.told_with(shown)
                folders = runner.play(
                    scenario,
                    make_folder,
                    draft.path,
                    timing_only,
                    watch,
                    components=components,
                    check=check,
                    observers=observers,
                    doing=None if watch is None else watch.doing,
                    warn=None if quiet else warn,
                )
            try:
                conclude(made[0], folders, scenario, figures, quiet, report)
            except (KeyboardInterrupt, FolderError) as stop:
                stop.add_note(f"all runs had ended; their results are in {made[0]}")
                raise
    finally:
        for folder in made:
            folder_lock.release(folder)


def conclude(
    top: Path,
    folders: Sequence[Path],
    scenario: Scenario,
    figures: bool,
    quiet: bool,
    report: bool = False,
) -> None:
    """Draw and print what runs have found.

    Parameters
    ----------
    top : Path
        The folder of all of them.
    folders : sequence of Path
        One an algorithm.
    scenario : Scenario
    figures, quiet, report : bool
        As of `run`.
    """
    from netsim.results import network_cost  # here: pictures and tables only once there are any
    from netsim.results.compare import table
    from netsim.results.summary import load

    several = len(folders) > 1
    with terminal.waiting("drawing figures" if figures else "summing up", quiet):
        compared = table(folders, top / "comparison.csv" if several else None)
        worlds = network_cost.of_runs(folders, scenario)
        if figures:
            from netsim.results.figures import draw, draw_comparison

            for folder in folders:
                draw(folder)
                checksums.extend(folder)
            if several:
                draw_comparison(top, folders)
            if worlds is not None:
                from netsim.results import network_cost_figure

                network_cost_figure.draw(top, worlds)
        has_page = False
        if report:
            from netsim.console import reporting

            has_page = reporting.conclude(top, folders, scenario)
        if several:
            checksums.write(top)
    if not quiet:
        console = terminal.out()
        console.print(compared if worlds is None else network_cost.table(worlds))
        for sentence in network_cost.sentences(worlds) if worlds is not None else ():
            console.print(Text(sentence))
        for folder in folders:
            for warning in warnings_of(folder, names_assumptions=folder == folders[0]):
                terminal.err().print(Text(warning, style="yellow"))
        summaries = [load(folder) for folder in folders]
        remedy = evaluation_cost.remedy(summaries, scenario)
        if remedy is not None:
            terminal.err().print(Text(remedy, style="yellow"))
        cost = evaluation_cost.line(summaries)
        if cost is not None:
            console.print(Text(cost))
        seen = "; report.html in it shows what happened" if has_page else ""
        console.print(Text("results in ") + Text(str(top), style="bold") + Text(seen))


def warnings_of(folder: Path, names_assumptions: bool = False) -> list[str]:
    """What of a run its user should know before reading its numbers.

    What its links assume and what its routes are holds for all algorithms of a scenario, and is
    told once.
    """
    summary, environment = run_folder.summary(folder), run_folder.environment(folder)
    algorithm = summary.get("algorithm", folder.name)
    found = list(environment.get("assumptions", ())) if names_assumptions else []
    if names_assumptions:
        routes = environment.get("routes", {}).values()
        advice = [route["advice"] for route in routes if "advice" in route]
        found += list(dict.fromkeys(advice))
    found += [
        f"{algorithm}: {subject} ran node after node: {reason}"
        for subject, reason in summary.get("engine", {}).get("one_by_one", {}).items()
    ]
    graph = summary.get("topology", {})
    if graph.get("components", 0) > 1:
        found.append(
            f"{algorithm}: the topology is not connected: {graph['components']} "
            f"components, the largest of {graph.get('largest_component')} of "
            f"{summary.get('nodes')} nodes, {graph.get('isolated_nodes')} nodes without neighbours"
        )
    found += [
        f"{algorithm}: {', '.join(change['unread'])}: no process has read it since the "
        f"change at {change['at_s']:g} s, which had no effect"
        for change in summary.get("changes", ())
        if change.get("unread") and "at_s" in change
    ]
    found += [f"{algorithm}: {warning}" for warning in summary.get("warnings", ())]
    if told := divergence(summary):
        found.append(f"{algorithm}: {told}")
    return found


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
    from netsim.console import tuning_table
    from netsim.engine import tuning

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


def list_papers(measure: bool) -> None:
    """Print which shipped scenario plays which table of a paper, and how long it would take here.

    Parameters
    ----------
    measure : bool
        Time models anew, even those whose times are kept.
    """
    path = papers.kept_times()
    timer = papers.KeptTimes(path, measure, lambda text: terminal.err().print(Text(text)))
    entries = papers.entries(kinds_of(), timer)
    console = terminal.out()
    console.print(papers.as_table(entries))
    console.print(Text("Not played: " + "; ".join(papers.left_out())))
    console.print(
        Text(
            "Hours: local steps and evaluations as timed here, of the methods that have losses of "
        )
        + Text("their own as they play between two nodes. Times kept in ")
        + Text(str(path))
    )
