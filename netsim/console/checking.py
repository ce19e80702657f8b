"""The checks that every command makes of its scenario before it plays anything."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netsim.campaign import sweep_folder
from netsim.campaign.grid import COMMAND_LINE
from netsim.engine import output_folder, runner
from netsim.errors import ScenarioError
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario.draft import Draft
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.kinds import Kinds, keys_on_disk


def checked(
    name: str,
    sets: Sequence[str],
    sweep: dict[str, Any],
    modules: Kinds,
    out: Path | None,
    timing_only: bool,
) -> tuple[Draft, Scenario]:
    """The scenario, after every check that needs no data; all problems at once.

    Parameters
    ----------
    name : str
        A file, or a shipped scenario's name.
    sets : sequence of str
        Assignments `a.b=value`.
    sweep : dict
        What the command line says of `[sweep]`; it fills or overrides the file's table.
    modules : Kinds
        What it can name.
    out : Path or None
        The folder that results shall go into.
    """
    problems = []
    out_problem = output_folder.out_problem(out) if out is not None else None
    if out is not None and out_problem and not sweep_folder.takes_sweep(out):
        problems.append(out_problem)  # looked at last: another part may have just begun the sweep
    try:
        draft = draft_of(name, sets, modules)
        if sweep:
            draft.lay_over(
                with_absolute_paths({"sweep": sweep}, Path(), keys_on_disk(modules)), COMMAND_LINE
            )
        scenario = check(draft, modules)
        problems += runner.machine_problems(scenario, draft.path, modules, timing_only)
        problems += _seed_problems(draft, scenario)
    except ScenarioError as error:
        raise ScenarioError("\n".join([*str(error).splitlines(), *problems])) from None
    if problems:
        raise ScenarioError("\n".join(problems))
    return draft, scenario


def _seed_problems(draft: Draft, scenario: Scenario) -> list[str]:
    """A seed of the command line that the scenario's sweep would not play."""
    sweep, said = scenario.sweep, draft.source(("seed",))
    if sweep is None or not sweep.seeds or sweep.trials or not said.startswith("--set"):
        return []
    return [
        f"{said}: seed = {scenario.seed}: changes nothing beside the seeds of [sweep]: "
        f"{', '.join(map(str, sweep.seeds))}; change those, as in netsim sweep {draft.path} "
        f"--seeds {scenario.seed}"
    ]
