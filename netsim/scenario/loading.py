"""A TOML file, or tables like it, as a frozen, validated `Scenario`; or all its errors at once."""

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from netsim.errors import ScenarioError
from netsim.links.wired.wire import Wire
from netsim.protocols.declaration import declaration_of
from netsim.recording.main_metric import is_share
from netsim.registry import (
    Component,
    did_you_mean,
    family,
    modules_of,
    once_a_class,
    use_components,
)
from netsim.scenario import file as scenario_file
from netsim.scenario import former_names
from netsim.scenario.algorithm_overrides import algorithm_overrides
from netsim.scenario.default_kinds import with_default_kinds
from netsim.scenario.descriptions import DescribedSchema
from netsim.scenario.draft import LISTS, Draft, in_words, parse_assignment
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.kinds import Kinds, as_kinds, keys_on_disk, kinds_of
from netsim.scenario.labels import shown
from netsim.scenario.nodes import SERVER, overridden
from netsim.scenario.normal_form import normalised
from netsim.scenario.problems import described, line
from netsim.scenario.scheduled_changes import scheduled_changes
from netsim.scenario.schema import at
from netsim.scenario.source_files import files_as_imported
from netsim.scenario.tables import (
    AlgorithmEntry,
    Scenario,
)
from netsim.scenario.validation_model import build_parts, validation_model
from netsim.scenario.workload import workload_problems
from netsim.traces.bounded_toml import require_plain

MOST_PROBLEMS = 200
"""So many are told: a list of a million wrong numbers has as many."""


def load(
    scenario: str,
    sets: Iterable[str] = (),
    algorithms_folder: Path | None = None,
    kinds: Kinds | None = None,
) -> Scenario:
    """Read and check a scenario.

    Parameters
    ----------
    scenario : str
        A path, or the name of a shipped scenario.
    sets : iterable of str
        `a.b=value`, laid over the file in order.
    algorithms_folder : Path or None
        A folder of algorithms and other components of the user's own.
    kinds : Kinds or None
        What the scenario can name; in place of a folder.

    Raises
    ------
    ScenarioError
        With every problem found, one a line.
    """
    known = _known(algorithms_folder, kinds)
    return check(draft_of(scenario, sets, known), known)


def from_dict(
    tables: dict[str, Any],
    name: str = "scenario",
    algorithms_folder: Path | None = None,
    kinds: Kinds | None = None,
) -> Scenario:
    """Check a scenario that is given as the tables a file would hold.

    Parameters
    ----------
    tables : dict
        `{"horizon_s": 100.0, "nodes": {"count": 5}, ...}`; file names in it are relative to the
        working directory.
    name : str
        The scenario's name unless the tables state one, and what errors begin with.
    algorithms_folder : Path or None
        A folder of algorithms and other components of the user's own.
    kinds : Kinds or None
        What the scenario can name; in place of a folder.

    Raises
    ------
    ScenarioError
        With every problem found, one a line.
    """
    require_plain(tables, name)
    draft = Draft(name, {"name": name, **tables}).copy()
    return check(draft, _known(algorithms_folder, kinds))


def _known(folder: Path | None, kinds: Kinds | None) -> Kinds:
    """Kinds that are given, or the shipped ones and those of a folder."""
    return kinds_of(() if folder is None else (folder,)) if kinds is None else kinds


def draft_of(scenario: str, sets: Iterable[str], modules: Mapping[str, ModuleType]) -> Draft:
    """The file with its base and the assignments laid over it, not yet checked.

    Parameters
    ----------
    scenario : str
        A path, or the name of a shipped scenario.
    sets : iterable of str
        `a.b=value`, laid over the file in order.
    modules : mapping of str to module
        The algorithms, or all `Kinds`: their keys may name files.

    Raises
    ------
    ScenarioError
        If the file can't be read, or an assignment's path leads nowhere; lists all of the latter.
    """
    kinds, sets = as_kinds(modules), list(sets)
    named = keys_on_disk(kinds)
    draft = scenario_file.read(scenario, named)
    if kinds.look_for([draft.raw, _assigned(sets)]):
        named = keys_on_disk(kinds)
        draft = scenario_file.read(scenario, named)
    problems = []
    assignments = []
    for text in sets:
        try:
            key, value = parse_assignment(text)
            assignments.append(
                (text, key, with_absolute_paths(value, Path(), named, tuple(key.split("."))))
            )
        except ScenarioError as error:
            problems.append(str(error))
    try:
        draft.assign_all(
            (path, value, in_words("--set", text)) for text, path, value in assignments
        )
    except ScenarioError as error:
        problems.append(str(error))
    if problems:
        raise ScenarioError("\n".join(problems))
    return draft


def _assigned(sets: Iterable[str]) -> list[dict[str, Any]]:
    """Assignments as tables, as far as they are any."""
    found = []
    for text in sets:
        with suppress(ScenarioError):
            key, value = parse_assignment(text)
            found.append({key: value})
    return found


def check(draft: Draft, modules: Mapping[str, ModuleType]) -> Scenario:
    """The scenario that a draft describes.

    Parameters
    ----------
    draft : Draft
    modules : mapping of str to module
        The algorithms, or all `Kinds` that it can name.

    Raises
    ------
    ScenarioError
        With every problem found, one a line.
    """
    kinds = as_kinds(modules)
    kinds.look_for(draft.raw)
    with use_components(kinds.components):
        return _checked(draft, kinds)


def _note_sources(scenario: Scenario, kinds: Kinds) -> None:
    """Note the files of what a scenario names, for the records of its runs."""
    own = (name for name in modules_of(scenario) if not name.startswith("netsim."))
    named = [kinds[entry.kind] for entry in scenario.algorithm]
    for module in (*named, *(sys.modules[name] for name in own if name in sys.modules)):
        files_as_imported(module)


def _checked(draft: Draft, kinds: Kinds) -> Scenario:
    model = _model(kinds)
    raw = _with_needless(with_default_kinds(normalised(draft.raw, draft.path), model), kinds)
    single = [key for (key,) in LISTS if isinstance(draft.raw.get(key), dict)]
    problems: list[str] = []
    checked: Scenario | None = None
    try:
        # As JSON, strictly: a text is no number and a number no switch, yet lists may be tuples.
        checked = model.model_validate_json(json.dumps(raw, default=str), strict=True)
    except ValidationError as error:
        written = Draft(draft.path, _written_form(raw, single), draft.said_by)
        details = error.errors(include_url=False)
        schema = _schema(model)
        unknown = any(detail["type"] == "union_tag_invalid" for detail in details)
        if unknown and kinds.read_installed():
            return check(draft, kinds)
        if len(details) > MOST_PROBLEMS:
            problems.append(f"{draft.path}: has {len(details):,} problems; these are the first")
        for detail in details[:MOST_PROBLEMS]:
            loc = detail["loc"]
            if (
                detail["type"] == "too_short"
                and len(detail["input"]) >= detail["ctx"]["min_length"]
            ):
                continue  # entries with errors of their own are not counted
            if len(loc) > 1 and loc[0] in single:
                loc = (loc[0], *loc[2:])
            problems.append(described({**detail, "loc": loc}, written, schema))
        problems += kinds.empty if unknown else ()
    problems += _across_tables(draft, raw, kinds)
    if checked is not None and checked.ideal_network:
        checked = checked.model_copy(update={"radio": None, "link": Wire()})
    if checked is not None:
        problems += workload_problems(checked, draft)
        problems += [*_target_problems(checked, draft), *_against_problems(checked, draft)]
        problems += _validation_problems(checked, draft, kinds)
    if problems or checked is None:
        raise ScenarioError("\n".join(dict.fromkeys(problems)))
    fields = {key: getattr(checked, key) for key in Scenario.model_fields}
    scenario = kinds.tables().model_construct(**fields)
    _note_sources(scenario, kinds)
    scenario._former_names = former_names.remarks(raw, model, draft)
    if scenario.changes:
        scenario._later = tuple(scheduled_changes(draft, scenario, lambda d: check(d, kinds)))
    if any(entry.set for entry in scenario.algorithm):
        scenario._own = algorithm_overrides(draft, scenario, lambda d: check(d, kinds))
    return scenario


NO_LEARNING = {"data": {"kind": "none"}, "model": [{"kind": "none"}]}
"""Tables of a scenario whose methods all bring their own learning, where it does not have them."""


def _kinds_of_methods(raw: Mapping[str, Any], modules: Mapping[str, ModuleType]) -> list[str]:
    """The kinds of the algorithms that a scenario names and that there are."""
    entries = raw.get("algorithm")
    kinds = [one.get("kind") for one in entries or () if isinstance(one, dict)]
    return [kind for kind in kinds if isinstance(kind, str) and kind in modules]


def _with_needless(raw: dict[str, Any], modules: Mapping[str, ModuleType]) -> dict[str, Any]:
    """The tables, and those that have to be there and that no method reads, where none are named.

    No data and no model where every method brings its own learning; where none waits for wake-ups,
    one wake-up of each node in the run, which nobody notices.
    """
    kinds = _kinds_of_methods(raw, modules)
    if not kinds:
        return raw
    needless: dict[str, Any] = {}
    if not any(declaration_of(modules[kind]).learns for kind in kinds):
        needless |= NO_LEARNING
    fades_by_wakeup = at(raw, ("radio", "fading", "hold")) == "exchange"
    if not fades_by_wakeup and not any(declaration_of(modules[kind]).wakes for kind in kinds):
        needless["exchange"] = {"schedule": "periodic", "period_s": raw.get("horizon_s")}
    return {**needless, **raw}


def json_schema(modules: Mapping[str, ModuleType]) -> dict[str, Any]:
    """JSON Schema of a scenario file: Params of all algorithms, and components of all `Kinds`."""
    schema: dict[str, Any] = json.loads(json.dumps(_schema(_model(as_kinds(modules)))))
    for (key,) in LISTS:  # one table may stand for a list of one
        entries = schema["properties"][key]
        about = {"description": entries.pop("description", "")}
        schema["properties"][key] = {"anyOf": [entries["items"], entries], **about}
    schema["properties"]["extends"] = {
        "type": "string",
        "description": "Another scenario file, whose tables this one changes.",
    }
    required = [key for key in schema["required"] if key != "name"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema} | {
        "title": "netsim scenario",
        "required": [],  # a base that others extend need not be whole
        "description": f"A whole scenario needs {', '.join(required)}.",
    }


def to_toml(scenario: Scenario, entry: AlgorithmEntry | None = None) -> str:
    """The scenario, resolved, as a file that runs again as it is.

    Parameters
    ----------
    scenario : Scenario
    entry : AlgorithmEntry or None
        Keep only this algorithm: what the folder of one algorithm holds.
    """
    tables = scenario.model_dump(mode="json")
    entries = scenario.algorithm if entry is None else (entry,)
    flat = [
        {
            "kind": e.kind,
            "name": e.name,
            **e.params.model_dump(mode="json"),
            "training": e.training.model_dump(mode="json", exclude_none=True),
            "stages": list(e.stages),
            **({"set": e.set} if e.set else {}),
        }
        for e in entries
    ]
    tables["algorithm"] = flat[0] if len(flat) == 1 else flat
    if len(tables["model"]) == 1:
        tables["model"] = tables["model"][0]
    if not scenario.ideal_network:
        del tables["ideal_network"]
    if not scenario.changes:
        del tables["changes"]
    if not scenario.data.drift:
        del tables["data"]["drift"]
    if scenario.sweep is not None:
        for key, draw in tables["sweep"]["draw"].items():
            listed = draw.pop("values")
            tables["sweep"]["draw"][key] = listed or draw
    return scenario_file.write(tables)


def _model(kinds: Kinds) -> type[Scenario]:
    """The class that reads a file with these kinds; the last eight are kept with their tables."""
    tables: Any = kinds.tables()
    if "models" not in vars(tables):
        tables.models = lru_cache(maxsize=8)(partial(_built, tables))
    found: type[Scenario] = tables.models(kinds.state()[0])
    return found


def _built(tables: type[Scenario], modules: Iterable[tuple[str, ModuleType]]) -> type[Scenario]:
    model = validation_model(dict(modules), tables)
    build_parts(model)
    return model


@once_a_class
def _schema(model: type[Scenario]) -> dict[str, Any]:
    """JSON Schema of the same: it takes as long again, and only errors need it."""
    return model.model_json_schema(schema_generator=DescribedSchema)


def _written_form(raw: dict[str, Any], single: list[str]) -> dict[str, Any]:
    return {**raw, **{key: raw[key][0] for key in single}}


def _target_problems(scenario: Scenario, draft: Draft) -> list[str]:
    """A sweep's target that its main metric can't have."""
    target = None if scenario.sweep is None else scenario.sweep.target
    name = scenario.main_metric.name
    if target is None or not is_share(name) or 0 <= target <= 1:
        return []
    return [line(draft, ("sweep", "target"), f"{name} is a share, from 0 to 1")]


def _against_problems(scenario: Scenario, draft: Draft) -> list[str]:
    """An algorithm that a sweep names and the scenario does not have."""
    against = None if scenario.sweep is None else scenario.sweep.against
    there = [entry.name for entry in scenario.algorithm]
    if against is None or against in there:
        return []
    problem = f"is no algorithm of this scenario; it has {', '.join(there)}"
    return [line(draft, ("sweep", "against"), problem + did_you_mean(against, there))]


def _validation_problems(scenario: Scenario, draft: Draft, modules: Kinds) -> list[str]:
    """Algorithms that need validation samples, where the scenario sets none aside."""
    if scenario.data.validation > 0:
        return []
    needing = {
        f'"{entry.kind}"': None
        for entry in scenario.algorithm
        if not entry.set  # checked in its own world
        and declaration_of(modules[entry.kind]).validates(entry.params)
    }
    if not needing:
        return []
    problem = (
        f"must be above 0 for algorithm {', '.join(needing)}, which looks at validation samples"
    )
    return [line(draft, ("data", "validation"), f"{problem}; give a share, such as 0.2")]


def _learning_problems(
    draft: Draft, raw: Mapping[str, Any], modules: Mapping[str, ModuleType]
) -> list[str]:
    """Tables that say there is nothing to learn, or who learns, beside a method that differs."""
    kinds = dict.fromkeys(_kinds_of_methods(raw, modules))
    learning = [kind for kind in kinds if declaration_of(modules[kind]).learns]
    alone = [kind for kind in kinds if kind not in learning]
    model = raw.get("model")
    tables = {"data": [raw.get("data")], "model": model if isinstance(model, list) else [model]}
    problems = []
    if alone and at(raw, ("run", "engine")) == "ray":
        problem = (
            f'algorithm "{alone[0]}" brings its own learning, which no actor computes; "local"'
        )
        problems.append(line(draft, ("run", "engine"), problem))
    return problems + [
        line(draft, (table, "kind"), f'algorithm "{learning[0]}" learns; name another kind')
        for table, each in tables.items()
        if learning and any(isinstance(one, dict) and one.get("kind") == "none" for one in each)
    ]


def _task(raw: Mapping[str, Any]) -> type[Component] | None:
    """Return the task's component; None where the file has a mistake there."""
    table = raw.get("task", {"kind": "classification"})
    kind = table.get("kind") if isinstance(table, dict) else None
    return family("netsim.learning.tasks").get(kind) if isinstance(kind, str) else None


def _across_tables(
    draft: Draft, raw: dict[str, Any], modules: Mapping[str, ModuleType]
) -> list[str]:
    """List faults across tables; read from the tables as written, so they show beside the rest."""
    problems = []
    groups = at(raw, ("nodes", "groups"))
    groups = [g for g in groups if isinstance(g, dict)] if isinstance(groups, list) else []
    both = raw.get("radio") is not None and raw.get("link") is not None
    if both and all(group.get("role") != SERVER for group in groups):
        problems.append(
            f"{draft.source(('link',))}: [link]: stands beside [radio], and no node has role "
            '"server", which it would be for; leave one out'
        )
    needed = {key: path.partition(".")[0] for key, path in overridden().items()}
    problems += [
        line(draft, ("nodes", "groups"), f"{key} is read only with a [{table}]; leave it out")
        for key, table in needed.items()
        if Scenario.model_fields[table].default is None  # a table that a scenario may lack
        and raw.get(table) is None
        and raw.get("ideal_network") is not True  # takes the table's place
        and any(key in group for group in groups)
    ]
    problems += _learning_problems(draft, raw, modules)
    entries = raw.get("algorithm")
    exchange = raw.get("exchange")
    schedule = exchange.get("schedule") if isinstance(exchange, dict) else None
    names: list[Any] = []
    for entry in entries if isinstance(entries, list) else []:
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or kind not in modules:
            continue
        name = entry.get("name", kind)
        if name in names:
            problems.append(
                f"{draft.source(('algorithm',))}: [algorithm] name = {shown(name)}: two algorithms "
                "have this name; give one another with the key name"
            )
        names.append(name)
        if entry.get("set"):
            continue  # checked in its own world
        learned = _task(raw)
        if learned is not None and not declaration_of(modules[kind]).can_learn(learned):
            problems.append(
                line(
                    draft,
                    ("task", "kind"),
                    f'algorithm "{kind}" does not learn this task; it learns '
                    f"{', '.join(declaration_of(modules[kind]).tasks or ())}",
                )
            )
        runs_under = declaration_of(modules[kind]).schedules
        known = isinstance(schedule, str) and schedule in family("netsim.schedules", "schedule")
        if runs_under is not None and known and schedule not in runs_under:
            problems.append(
                line(
                    draft,
                    ("exchange", "schedule"),
                    f'algorithm "{kind}" does not run under this schedule; '
                    f"it runs under {', '.join(runs_under)}",
                )
            )
    return problems
