"""The command `netsim sweep`."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from netsim.campaign import force_new as moving_aside
from netsim.campaign import grid as sweeps
from netsim.campaign import ray_workers, search, sweep_folder
from netsim.console import live, terminal
from netsim.console.checking import checked
from netsim.console.sweep_session import Session, Where
from netsim.errors import ScenarioError
from netsim.scenario import Scenario, Sweep
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of


def sweep(
    name: str,
    sets: Sequence[str],
    table: dict[str, Any],
    out: Path | None,
    components: tuple[Path, ...],
    timing_only: bool,
    quiet: bool,
    where: Where,
) -> None:
    """Play a scenario's sweep, changed or made by the command line's, or go on with it.

    Parameters
    ----------
    name : str
        A file, or a shipped scenario's name.
    sets : sequence of str
        Assignments `a.b=value`.
    table : dict
        What the command line says of `[sweep]`; see `options`.
    out : Path or None
        Folder of the results; None: the first free of runs/NAME, runs/NAME-2, ...
    components : tuple of Path
        Folders of components of the user's own.
    timing_only : bool
        Without tensor work.
    quiet : bool
        Neither progress nor tables.
    where : Where

    Raises
    ------
    ScenarioError
        If there is anything wrong with the input; nothing was written.
    RunFailedError
        If a run failed; the others' results are there.
    """
    modules = kinds_of(components)
    new = new_folder(out, where.force_new)
    draft, scenario = checked(name, sets, table, modules, new, timing_only)
    if scenario.sweep is None:
        raise ScenarioError(
            f"{draft.path}: has no [sweep] table; say what to vary: --over key.path=1,2 --seeds 0:5"
        )
    play(draft, scenario, out, components, timing_only, quiet, where)


def new_folder(out: Path | None, force_new: bool = False) -> Path | None:
    """The folder, if it has to be a new one: none that a sweep goes on in, or that moves aside.

    Raises
    ------
    ScenarioError
        If it should move aside and can't.
    """
    if force_new:
        if out is None:
            raise ScenarioError("--force-new: needs --out DIR, the folder that is to be a new one")
        return None if moving_aside.must_move(out) else out
    return None if out is not None and sweep_folder.takes_sweep(out) else out


def make_room(out: Path | None, console: Console | None) -> None:
    """Move aside what a folder holds, and say so unless there is no console."""
    aside = None if out is None else moving_aside.move(out)
    if aside is not None and console is not None:
        console.print(Text(f"moved what {out} held to {aside}"))


def play(
    draft: Draft,
    scenario: Scenario,
    out: Path | None,
    components: tuple[Path, ...],
    timing_only: bool,
    quiet: bool,
    where: Where | None = None,
) -> Path:
    """Play what is missing of a sweep; whatever ends it, what has been played is summed up.

    Parameters
    ----------
    draft : Draft
        The scenario before validation: each run changes it and checks it again.
    scenario : Scenario
        With a sweep.
    out, components, timing_only, quiet, where
        As of `sweep`.

    Returns
    -------
    Path
        The sweep's folder.

    Raises
    ------
    ScenarioError, RunFailedError
        As `sweep`.
    """
    where = where or Where()
    assert scenario.sweep is not None
    sweeps.plan(draft, scenario, Path(), components, timing_only)  # before any folder
    _require(scenario.sweep, out, where)
    modules = kinds_of(components)
    said = sweep_folder.arguments(scenario, modules, timing_only)
    if where.force_new:
        make_room(out, None if quiet else terminal.err())

    def warn(text: str) -> None:
        terminal.err().print(Text(text, style="yellow"))

    with (
        sweep_folder.opened(out, scenario, said, where.only) as (top, new),
        ExitStack() as pages,
    ):
        played = Session(draft, scenario, top, new, quiet, where)
        jobs = sweeps.plan(draft, scenario, top, components, timing_only)
        page = pages.enter_context(live.shown(where.watch, (), components, warn))
        try:
            _play(played, jobs, top, page)
        except ScenarioError:
            if new and where.only is None:
                sweep_folder.withdraw(top)
            raise
        except KeyboardInterrupt as stop:
            played.sum_up("interrupted")
            raise played.with_what_is_missing(stop) from None
        try:
            played.sum_up("failed" if played.failed else "done")
        except KeyboardInterrupt as stop:
            raise played.with_what_is_missing(stop) from None
        played.raise_failures()
        return top


def _play(played: Session, jobs: list[sweeps.Job], top: Path, page: live.LivePage | None) -> None:
    """Play what is missing; what sums it up writes the last page."""
    if page is not None:
        page.begin(top)
    try:
        played.play(jobs)
    finally:
        if page is not None:
            page.stop()


def _require(sweep: Sweep, out: Path | None, where: Where) -> None:
    """Refuse what can't be played that way, before any folder."""
    if where.watch:
        live.require_page(where.report)
    if where.watch and where.only is not None:
        raise ScenarioError(
            "--watch: with --only, several processes would write one page; netsim report writes "
            "that of what is there"
        )
    if where.only is not None and out is None:
        raise ScenarioError("--only: needs --out DIR, the folder that all parts share")
    if where.only is not None and where.force_new:
        raise ScenarioError("--only: goes on in the folder of all parts; leave out --force-new")
    if where.only is not None and sweep.trials:
        raise ScenarioError(
            "--only: a search can't be played in parts, as each trial depends on those before it; "
            "use --jobs or --engine ray"
        )
    if sweep.trials:
        search.imported()
    if where.engine == "ray":
        ray_workers.imported()
