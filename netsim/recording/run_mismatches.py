"""Sentences on runs beside each other that were not made of the same: data, files, sources.

A difference between such runs may be of these, and not of what the reader compares.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.json_files import leaves
from netsim.registry import TAGS
from netsim.units import is_number

NAMED = 4
"""So many values are named, each with a run that has it, and so many differences of one sort."""

_FILES = {"inputs": "input file", "algorithm": "source of an algorithm", "components": "component"}
_SAMPLES = ("train_samples", "validation_samples", "test_samples", "class_counts")
_FILL_OTHERS = (*TAGS, "preset")
"""Keys by which others in their table have other values, where a scenario states none."""

_NOT_OF_THE_WORLD = ("algorithm", "name", "paper", "run", "seed", "sweep")
"""Tables and keys of a sweep's scenario that its runs have in another form, or that change none."""

_DIGITS = 12  # of a digest: enough to find it


def made_unlike(runs: Sequence[Path], labels: Sequence[str], is_varied: bool = False) -> list[str]:
    """Sentences on what runs that are compared do not share, and no table of their numbers shows.

    Parameters
    ----------
    runs : sequence of Path
        Run folders.
    labels : sequence of str
        The run's name, each.
    is_varied : bool
        Whether they are the runs of a sweep, whose points say what was varied: then only contents
        that changed under one name are told.

    Returns
    -------
    list of str
        Sentences without a full stop. Keys of `[data]` that differ, and the numbers of samples of
        the nodes in runs of one seed; the data set's digest; files whose contents differ; sources.
    """
    known = {label: _Origin(run) for label, run in zip(labels, runs, strict=True)}
    sentences = [] if is_varied else [*_data_keys(known), *_samples(known), *_inputs(known)]
    described = {label: one.data.get("sha256") for label, one in known.items()}
    sentences += _differing_values("arrays given as data differ: sha256", described, is_set=True)
    for sort, what in _FILES.items() if is_varied else list(_FILES.items())[1:]:
        sentences += _contents(known, sort, what, is_varied)
    sources = {label: one.environment.get("netsim_sources_sha256") for label, one in known.items()}
    count = len(set(sources.values()))
    sentences += _differing_values(
        f"played by {count} different sources of netsim: netsim_sources_sha256", sources
    )
    return sentences


def changed_in(
    sweep: Path, runs: Sequence[Path], points: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Sentences on files and sources that changed between the runs of a sweep, and on copies.

    Parameters
    ----------
    sweep : Path
        Its folder.
    runs : sequence of Path
        Folders in it, of runs that have ended.
    points : mapping of str to mapping
        By label, which is the point's folder, the swept keys and their values.
    """
    return misplaced_in(sweep, runs, points) + [
        f"{difference}: differences between runs may be of these; play the sweep in a new folder "
        "to be sure"
        for difference in made_unlike(
            runs, [run.relative_to(sweep).as_posix() for run in runs], is_varied=True
        )
    ]


def misplaced_in(
    sweep: Path, runs: Sequence[Path], points: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Sentences on runs of a sweep that are not the runs that belong at their places.

    Parameters
    ----------
    sweep, runs, points
        As of `changed_in`.
    """
    try:
        whole = run_folder.scenario_tables(sweep)
    except ScenarioError:
        whole = {}
    own, found = _set_keys(whole), []
    methods = {entry.get("name") for entry in _entries(whole)}
    for run in runs:
        label, set_keys = run.parent.parent.name, own.get(run.name, ())
        try:
            tables = run_folder.scenario_tables(run) if (run / "scenario.toml").exists() else {}
        except ScenarioError as error:
            found.append(str(error))
            continue
        if methods and run.name not in methods:
            found.append(
                f"{run.relative_to(sweep).as_posix()} is of no algorithm of this sweep, and is "
                "counted beside them: move it to another folder"
            )
            continue
        seed = _other_seed(run)
        if other := seed or _other_point(tables, label, points, set_keys):
            what = f"is a run of {other}, and is counted as one of another"
        elif whole and tables and (other := _other_key(tables, whole, points, set_keys)):
            what = f"was played with {other}"
        else:
            continue
        found.append(
            f"{run.relative_to(sweep).as_posix()} {what}: take it away, and netsim resume "
            f"{one_line(sweep)} plays the right one"
        )
    more = len(found) - NAMED
    return [*found[:NAMED], *([f"and {more} more runs such as these"] if more > 0 else [])]


def _other_seed(run: Path) -> str | None:
    """The seed of a run that lies where one of another seed belongs."""
    seed = run_folder.summary(run).get("seed")
    return None if seed is None or run.parent.name == f"seed-{seed}" else f"seed {seed}"


def _other_point(
    tables: Mapping[str, Any],
    label: str,
    points: Mapping[str, Mapping[str, Any]],
    own: Sequence[str],
) -> str | None:
    """A swept key and its value in a run that lies at a point with another value.

    Only values that are certainly of another point count: a run's scenario (`tables`) may write one
    in another way than the sweep does, and `own` are the keys that its algorithm sets for itself.
    """
    for key, value in points.get(label, {}).items():
        there = _value_at(tables, key)
        others = (values[key] for values in points.values() if key in values)
        if there is None or _meets(key, own) or _is_part(value, there):
            continue
        if (is_number(there) and is_number(value)) or any(_is_part(v, there) for v in others):
            return f"{key} = {one_line(there)}"
    return None


def _other_key(
    tables: Mapping[str, Any],
    whole: Mapping[str, Any],
    points: Mapping[str, Mapping[str, Any]],
    own: Sequence[str],
) -> str | None:
    """A key that the sweep does not vary and its values in a run and in the sweep, if they differ.

    `tables`, `whole`: the scenarios of the run and of its sweep. `own`: as of `_other_point`.
    """
    varied = {key for values in points.values() for key in values} | set(own)
    varied |= {k.rpartition(".")[0] for k in varied if k.rpartition(".")[2] in _FILL_OTHERS}
    varied |= {"radio", "link"} if "ideal_network" in varied else set()
    here, there = dict(leaves(whole)), dict(leaves(tables))
    for key in here | there:
        if here.get(key) == there.get(key) or key.partition(".")[0] in _NOT_OF_THE_WORLD:
            continue
        if here.get(key) in (None, "auto") and key != "changes":  # each run has found its own
            continue
        if not _meets(key, varied):
            was, now = _cell_text(there.get(key)), _cell_text(here.get(key))
            return f"{key} = {was}, and the sweep has {now}"
    return None


def _meets(key: str, others: Iterable[str]) -> bool:
    """Return whether a key is one of others, or one of both stands inside the other."""
    return any(f"{o}.".startswith(f"{key}.") or key.startswith(f"{o}.") for o in others)


def _set_keys(whole: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keys by the name of the algorithm that sets them: it has their values at every point."""
    own = {str(entry.get("name")): entry.get("set") for entry in _entries(whole)}
    return {n: [key for key, _ in leaves(s)] for n, s in own.items() if isinstance(s, Mapping)}


def _entries(whole: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    entries = whole.get("algorithm", [])
    return entries if isinstance(entries, list) else [entries]


def _value_at(tables: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key in a scenario of one algorithm; None without any."""
    first, *path = key.split(".")
    value = tables.get(first)
    if first == "algorithm" and path:
        name, *path = path
        value = value if isinstance(value, Mapping) and value.get("name") == name else None
    for step in path:
        if isinstance(value, list):
            named = [one for one in value if isinstance(one, Mapping) and one.get("name") == step]
            value = named[0] if named else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _is_part(value: Any, whole: Any) -> bool:
    """Return whether a value is what stands elsewhere, tables there having more keys."""
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and _is_part(one, whole[key]) for key, one in value.items())
    if isinstance(value, list | tuple) and isinstance(whole, list | tuple):
        return len(value) == len(whole) and all(map(_is_part, value, whole))
    return bool(value == whole)


class _Origin:
    """Account of a run folder of what its run was made of."""

    def __init__(self, run: Path) -> None:
        self.run, self.environment = run, run_folder.environment(run)
        self.data: Mapping[str, Any] = self.environment.get("data", {})

    def files(self, sort: str) -> Iterator[tuple[str, str]]:
        """Yield path and digest of each file of a sort."""
        for entry in self.environment.get(sort, ()):
            if {"file", "sha256"} <= entry.keys():
                yield entry["file"], entry["sha256"]


def _data_keys(known: Mapping[str, _Origin]) -> list[str]:
    """Keys of `[data]` that have other values in other runs, and runs that can't tell theirs."""
    tables, unread = {}, []
    for label, one in known.items():
        try:
            data = run_folder.scenario_tables(one.run).get("data", {})
        except ScenarioError as error:
            unread.append(f"[data] of {one_line(label)} is not compared: {error}")
            continue
        tables[label] = dict(leaves({"data": data}))
    keys = dict.fromkeys(key for table in tables.values() for key in table)
    differing: list[str] = []
    for key in keys:
        differing += _differing_values(
            f"[data] {key.removeprefix('data.')} differs:",
            {label: table.get(key) for label, table in tables.items()},
        )
    named = differing[:NAMED]
    if len(differing) > NAMED:
        named.append(f"and {len(differing) - NAMED} more keys of [data]")
    some_have_it = any((one.run / "scenario.toml").exists() for one in known.values())
    return [*(unread if len(known) > 1 and some_have_it else []), *named]


def _samples(known: Mapping[str, _Origin]) -> list[str]:
    """A sentence where nodes of runs of one seed have other numbers of samples or classes."""
    first: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    for label, one in known.items():
        nodes = run_folder.nodes_if_any(one.run)
        held = {name: nodes[name].tolist() for name in _SAMPLES if name in nodes}
        count = len(next(iter(held.values()), ()))
        other, theirs = first.setdefault((one.environment.get("seed"), count), (label, held))
        for name in held.keys() & theirs.keys():
            cells = zip(held[name], theirs[name], strict=True)
            node = next((k for k, (a, b) in enumerate(cells) if _plain(a) != _plain(b)), None)
            if node is not None:
                return [
                    f"node {node} has other samples in {one_line(label)} than in "
                    f"{one_line(other)} (nodes.parquet, {name})"
                ]
    return []


def _plain(cell: Any) -> Any:
    """A cell of a table that can be compared: an array as a list."""
    return cell.tolist() if hasattr(cell, "tolist") else cell


def _inputs(known: Mapping[str, _Origin]) -> list[str]:
    """A sentence on the files from outside that not all runs have read."""
    read = {label: dict(one.files("inputs")) for label, one in known.items()}
    shared = set.intersection(*(set(files.values()) for files in read.values())) if read else set()
    alone = {
        label: [
            f"{Path(path).name} (sha256 {sha256[:_DIGITS]})"
            for path, sha256 in files.items()
            if sha256 not in shared
        ]
        for label, files in read.items()
    }
    return _differing_values(
        "input files differ:", {k: _listed(names) or None for k, names in alone.items()}
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _contents(known: Mapping[str, _Origin], sort: str, what: str, is_varied: bool) -> Iterator[str]:
    """Yield the files of one name that have other contents in other runs."""
    digests: dict[str, dict[str, str]] = {}
    for label, one in known.items():
        for path, sha256 in one.files(sort):
            name = path if is_varied else Path(path).name
            digests.setdefault(name, {})[label] = sha256
    for name, of_runs in digests.items():
        yield from _differing_values(f"{what} {one_line(name)} differs: sha256", of_runs)


def _differing_values(what: str, values: Mapping[str, Any], is_set: bool = False) -> list[str]:
    """A sentence with the values that differ, each with a run that has it; none where all agree.

    `what`: its beginning. `values`: by the label of a run. `is_set`: whether a run without a value
    is left out.
    """
    runs: dict[str, list[str]] = {}
    for label, value in values.items():
        if value is not None or not is_set:
            runs.setdefault(_cell_text(value), []).append(label)
    if len(runs) < 2:
        return []
    named = [f"{value} in {_one_of(labels)}" for value, labels in list(runs.items())[:NAMED]]
    more = [f"{len(runs) - NAMED} more"] if len(runs) > NAMED else []
    return [f"{what} {', '.join(named + more)}"]


def _cell_text(value: Any) -> str:
    is_digest = isinstance(value, str) and len(value) == 64
    return "none" if value is None else one_line(value[:_DIGITS] if is_digest else value)


def _one_of(labels: Sequence[str]) -> str:
    first, *others = labels
    return one_line(first) + (f" and {len(others)} more" if others else "")
