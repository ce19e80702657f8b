"""The command `netsim export`: a run's network, and what happened on it, for other programs."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Components, DataDir
from netsim.errors import ScenarioError

ALSO_CALLED = ("convert", "dump", "save")

WORLD = ("seed", "horizon_s", "nodes", "mobility", "radio", "link")
"""Tables of a scenario that say what is exported of its world."""

LINKS = ("radio", "link", "nodes")
"""Tables whose change in mid-run alters links; of `nodes` only powers and rates can change."""


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    wanted: Annotated[
        str | None,
        typer.Option("--as", metavar="FORMAT", help="timeline, messages-csv, gains, ns2, ..."),
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option("--for", metavar="SIMULATOR", help="Its messages, too, for ns3 to replay."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="File or folder to write \\[NAME and an ending]."),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time between samples, where there are any \\[1]."),
    ] = None,
    components: Components = None,
    data: DataDir = None,
) -> None:
    """Write the events of a run, or its network, for other programs."""
    path, remarks = export(run, (wanted, simulator), out, step, components or (), data)
    terminal.out().print(f"wrote {path}")
    for remark in remarks:
        terminal.err().print(f"{path}: {remark}")


def export(
    run: Path,
    wanted: tuple[str | None, str | None],
    out: Path | None,
    step_s: float | None,
    components: Sequence[Path],
    data: Path | None,
) -> tuple[Path, list[str]]:
    """Write what a run was played on or what happened in it, or what a simulator needs of both.

    Parameters
    ----------
    run : Path
        A run folder, or that of several algorithms: they share one world, and have messages each.
        What happened can be told of a run that has not ended, too.
    wanted : tuple of (str or None, str or None)
        The format, or the simulator that is to play the messages again.
    out : Path or None
        The file or folder; None: the scenario's name and an ending, in the working folder.
    step_s : float
        Time between samples [s]; None: 1 s.
    components : sequence of Path
        Folders of components of the user's own.
    data : Path or None
        The data folder; None: the scenario's, else `NETSIM_DATA`.

    Returns
    -------
    path : Path
        What was written.
    remarks : list of str
        Sentences on what of the run the file does not hold, or a simulator plays otherwise.

    Raises
    ------
    ScenarioError
        If it is not a run folder, there is no such format or simulator, or the run has not what it
        holds.
    """
    from netsim import views
    from netsim.campaign.node_positions import data_folder
    from netsim.campaign.sweep_results import require_run
    from netsim.export import formats, replays
    from netsim.recording import run_folder, status
    from netsim.recording.reader import begun_folders
    from netsim.recording.summary import run_folders
    from netsim.rng import Streams
    from netsim.scenario import load
    from netsim.scenario.kinds import kinds_of
    from netsim.units import to_ns
    from netsim.world.placement import place_nodes, starting_heights_m
    from netsim.world.radios import radios

    form, simulator = wanted
    if (form is None) == (simulator is None):
        raise ScenarioError("name a format, --as FORMAT, or a simulator, --for SIMULATOR")
    if form in views.names():
        raise ScenarioError(f"--as {form}: is a figure: netsim plot {run} --as {form}")
    if step_s is not None and not step_s >= 1e-9:
        raise ScenarioError(f"--step {step_s:g}: must be at least 1e-9 s")
    require_run(run)
    if form is not None and formats.tells_what_happened(form):
        folder = _only(begun_folders(run), run)
        state = status.state(folder) or "done"
        cut = [] if state == "done" else [f"the run is not done ({state}): as far as it came"]
        said = [*cut, *formats.lacking(folder, form), *_unread(step_s, set())]
        return formats.write_run(folder, form, out), said
    folders = run_folders(run)
    kinds = kinds_of(components)
    folder = folders[0] if simulator is None else _only(folders, run)
    scenario, *others = (
        load(str(run_folder.scenario_file(one)), kinds=kinds)
        for one in ([folder] if simulator is not None else folders)
    )
    for other, at in zip(others, folders[1:], strict=True):
        unlike = [key for key in WORLD if getattr(other, key) != getattr(scenario, key)]
        if unlike:
            raise ScenarioError(
                f"{run}: its algorithms are in different worlds: [{unlike[0]}] of {at.name} is not "
                f"that of {folder.name}; name one, such as {folder}"
            )
    lies = data_folder(scenario, data)
    streams = Streams(scenario.seed)
    positions_m, track = place_nodes(scenario, streams, lies)
    on_air = radios(scenario, positions_m, streams, track, lies)
    layout = formats.Layout(
        name=scenario.name,
        nodes=scenario.nodes.count,
        horizon_ns=to_ns(scenario.horizon_s),
        step_ns=to_ns(1.0 if step_s is None else step_s),
        positions_m=positions_m,
        track=track,
        radio=scenario.radio,
        budget=on_air.budget,
        tx_power_dbm=on_air.tx_power_dbm,
        streams=streams,
        heights_m=starting_heights_m(scenario, track),
        links_change=any(
            getattr(later, key) != getattr(scenario, key)
            for _, later in scenario.later
            for key in LINKS
        ),
    )
    if simulator is not None:
        played = replays.Run(folder=folder, scenario=scenario, layout=layout)
        path, differs = replays.write(played, simulator, out)
        said = [f"{simulator} plays otherwise than the run did: {one}" for one in differs]
        return path, [*layout.remarks, *said, *_unread(step_s, layout.read)]
    assert form is not None
    path = formats.write(layout, form, out)
    return path, [*layout.remarks, *_unread(step_s, layout.read)]


def _unread(step_s: float | None, read: Container[str]) -> list[str]:
    """A remark where somebody gave a step and nothing was sampled."""
    is_unread = step_s is not None and "step_ns" not in read
    return ["--step had no effect: nothing in it is sampled over time"] * is_unread


def _only(folders: Sequence[Path], run: Path) -> Path:
    if len(folders) > 1:
        raise ScenarioError(f"{run}: several runs; name one, such as {folders[0]}")
    return folders[0]
