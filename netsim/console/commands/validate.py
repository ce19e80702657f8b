"""The command `netsim validate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from netsim.console import stand_ins, terminal
from netsim.console.options import Components, DataDir, Sets, assignments
from netsim.errors import ScenarioError, one_line

ALSO_CALLED = ("check", "lint", "test")


def command(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO...")],
    sets: Sets = None,
    components: Components = None,
    data: DataDir = None,
    world: Annotated[
        bool, typer.Option(help="Also read the data and lay out nodes and links.")
    ] = True,
) -> None:
    """Check scenarios and list all their errors."""
    changes = [*(sets or []), *assignments(data=data)]
    # Without worlds and components of the user's own, what only playing needs has stand-ins
    # first: if all scenarios are right, that is the answer.
    if not world and not components and stand_ins.in_their_place():
        try:
            texts = [_description(name, changes, _named_kinds(name, changes)) for name in scenarios]
        except (Exception, stand_ins.StandInUsedError):
            stand_ins.begin_again()
        for text in texts:
            terminal.out().print(text)
        return
    from netsim.scenario.kinds import kinds_of

    folders = tuple(components or ())
    kinds, problems = kinds_of(folders), []
    for name in scenarios:
        try:
            terminal.out().print(_description(name, changes, kinds, folders, world))
        except ScenarioError as error:
            problems += str(error).splitlines()
    if problems:
        raise ScenarioError("\n".join(problems))


def _description(
    name: str,
    sets: Sequence[str],
    kinds: Any,
    components: tuple[Path, ...] = (),
    world: bool = False,
) -> Text:
    """Describe a valid scenario; `world`: also read the data and lay out nodes and links."""
    from netsim.campaign import grid
    from netsim.console.checking import checked
    from netsim.engine import runner
    from netsim.scenario import plausibility
    from netsim.terminal import progress

    draft, scenario = checked(name, sets, {}, kinds, None, False)
    if scenario.sweep is not None:
        grid.plan(draft, scenario, Path(), components)
    notes = [*scenario.former_names, *plausibility.remarks(scenario)]
    radio = scenario.radio
    if radio is not None and radio.fidelity == "auto" and radio.mac.senses and not world:
        notes.append(
            '[radio] fidelity = "auto": netsim validate --world says how it is played, and why'
        )
    if world:
        from netsim.engine import method_remarks  # here: they bring torch
        from netsim.world.remarks import remarks

        of_each = runner.build_all(scenario, draft.path)
        runner.require_suitable(of_each, draft.path)
        worlds = list({id(w): w for w in of_each.values()}.values())
        notes = [note for one in worlds for note in remarks(one)]
        notes += [note for one in worlds for note in method_remarks.remarks(one)]
        need = max((one.need for one in worlds), key=lambda need: need.size)
        notes.append(need.remark or f"takes about {need}")
    said = Text(f"{one_line(name)}: ") + Text(progress.headline(scenario))
    lines = [Text(f"\n  {one_line(note)}", style="yellow") for note in dict.fromkeys(notes)]
    return Text("").join([Text("ok ", style="green"), said, *lines])


def _named_kinds(name: str, sets: Sequence[str]) -> Any:
    """The `Kinds` of those algorithms whose names occur in a scenario: the others need no look."""
    from netsim.scenario import component_files, file
    from netsim.scenario.kinds import Kinds

    words = {*_texts(file.read(name, {}).raw), *sets}
    shipped = component_files.shipped_names()
    only = {algorithm for algorithm in shipped if any(algorithm in word for word in words)}
    return Kinds(component_files.shipped(only).algorithms)


def _texts(value: Any) -> list[str]:
    """All texts in tables and lists."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, Mapping) else value
    if not isinstance(inside, list | tuple) and not isinstance(value, Mapping):
        return []
    return [text for part in inside for text in _texts(part)]
