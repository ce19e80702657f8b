"""A scenario before it is checked: its layers (`extends`, the file, `--set`) merged into one.

A `Draft` also knows which layer stated a key, so that an error can name it.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.registry import TAGS, did_you_mean
from netsim.scenario.labels import shown
from netsim.scenario.tables import DataKeys
from netsim.traces.bounded_toml import MOST_LEVELS, require_plain, toml_of

KeyPath = tuple[str | int, ...]
LISTS: tuple[tuple[str], ...] = (("algorithm",), ("model",))
"""Tables of which there may be a list."""
SHARED_KEYS: dict[KeyPath, tuple[str, ...]] = {("data",): tuple(DataKeys.model_fields)}
"""Keys of a component table that belong to the table, so that they outlive a change of kind."""


@dataclass
class Draft:
    """A scenario before validation.

    Attributes
    ----------
    path : str
        The file as the user named it.
    raw : dict
        The merged tables.
    said_by : dict of key path to str
        The layer (file or `--set`) that stated a key, where it is not `path`.
    """

    path: str
    raw: dict[str, Any]
    said_by: dict[KeyPath, str] = field(default_factory=dict)

    def source(self, path: KeyPath) -> str:
        """The layer that stated the key, or the table that it is missing from."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.said_by:
                return self.said_by[path[:end]]
        return self.path

    def lay_over(self, layer: dict[str, Any], label: str) -> None:
        """Merge a further file: tables key by key, all else replaced.

        A table whose kind differs replaces the whole table, except for `SHARED_KEYS`. Where a list
        of algorithms or models lies below, `[algorithm.NAME]` changes the entry of that name.
        """
        self.raw = _merge(self, self.raw, layer, (), label, addressed=False)

    def assign(self, dotted: str, value: Any, label: str) -> None:
        """Set one key as `--set a.b=value` does; entries of lists go by their name or number.

        Parameters
        ----------
        dotted : str
            Key path, such as `radio.reachable` or `algorithm.kd_pdfl.mu1`.
        value : object
            As TOML gives it.
        label : str
            Who says so, for errors about this key.

        Raises
        ------
        ScenarioError
            If the path leads through something that is no table.
        """
        keys = dotted.split(".")
        if not all(keys) or len(keys) > MOST_LEVELS:
            raise ScenarioError(f"{label}: {dotted[:60]!r} is not a key path such as radio.gap_db")
        layer: Any = value
        for key in reversed(keys):
            layer = {key: layer}
        self.raw = _merge(self, self.raw, layer, (), label, addressed=True)

    def assign_all(self, stated: Iterable[tuple[str, Any, str]]) -> None:
        """Set several keys as `assign` does, in whatever order they come.

        A table goes before the keys in it, which are laid over it, and its kind before them, as
        another kind replaces the table. Of a key that is stated twice the last value counts.

        Parameters
        ----------
        stated : iterable of (str, object, str)
            Key path, value and label of each.

        Raises
        ------
        ScenarioError
            If a path leads through something that is no table, or a value undoes another one that
            is not just a wider table's for the same key.
        """
        last = {key: (value, label) for key, value, label in stated}
        problems: list[str] = []
        done: list[str] = []
        for key in sorted(last, key=lambda k: (k.count("."), k.rpartition(".")[2] not in TAGS)):
            value, label = last[key]
            try:
                self.assign(key, value, label)
            except ScenarioError as error:
                problems.append(str(error))
                continue
            for wider in [k for k in done if key.startswith(f"{k}.")]:
                inside = key.removeprefix(f"{wider}.").split(".")
                last[wider] = (_remove_key(last[wider][0], inside), last[wider][1])
            for earlier in [k for k in done if not self._has(k, last[k][0])]:
                done.remove(earlier)
                undone, at = last[earlier]
                pair = f"undoes {at}"
                if at == label:
                    pair = f"{key} = {shown(value)} undoes {earlier} = {shown(undone)}"
                problems.append(f"{label}: {pair}; state one of both")
            done.append(key)
        if problems:
            raise ScenarioError("\n".join(problems))

    def _has(self, dotted: str, value: Any) -> bool:
        """Return whether setting a key once more would change nothing."""
        probe = Draft(self.path, self.raw)  # merging makes new tables
        try:
            probe.assign(dotted, value, "")
        except ScenarioError:
            return False
        return bool(probe.raw == self.raw)

    def copy(self) -> "Draft":
        """An independent draft."""
        return Draft(self.path, copy.deepcopy(self.raw), dict(self.said_by))


def _remove_key(value: Any, keys: list[str]) -> Any:
    """A table without one key of it, or of a table inside it."""
    if not isinstance(value, dict) or keys[0] not in value:
        return value
    rest = {key: inner for key, inner in value.items() if key != keys[0]}
    return rest if len(keys) == 1 else {**rest, keys[0]: _remove_key(value[keys[0]], keys[1:])}


def _merge(draft: Draft, base: Any, layer: Any, path: KeyPath, label: str, addressed: bool) -> Any:
    if _has_paths(path) and isinstance(layer, dict) and isinstance(base, dict):
        base, layer = flat_paths(base, draft.path), flat_paths(layer, label)
    if addressed and isinstance(layer, dict) and path:
        if isinstance(base, list):
            return _merge_entry(draft, base, layer, path, label)
        if path in LISTS and isinstance(base, dict) and len(layer) == 1:
            [(address, inner)] = layer.items()
            if address in (*_names(base), "0") and isinstance(inner, dict):
                layer = inner  # one table is a list of one: algorithm.kd_pdfl.mu1
    if path in LISTS and isinstance(base, list) and _addresses(layer):
        for address, inner in layer.items():
            base = _merge_entry(draft, base, {address: inner}, path, label)
        return base
    if not isinstance(layer, dict) or not isinstance(base, dict):
        if addressed and isinstance(layer, dict) and layer and base is not None:
            raise ScenarioError(
                f"{label}: {_dotted(path)} is a value, not a table; "
                f"it has no key {next(iter(layer))}"
            )
        _forget(draft, path)
        draft.said_by[path] = label
        return layer
    kept = dict(base)
    if any(tag in layer and layer[tag] != base.get(tag, layer[tag]) for tag in TAGS):
        kept = {key: base[key] for key in SHARED_KEYS.get(path, ()) if key in base}
        for key in base.keys() - kept.keys():
            _forget(draft, (*path, key))
        draft.said_by[path] = label
    for key, value in layer.items():
        kept[key] = _merge(draft, kept.get(key), value, (*path, key), label, addressed)
    return kept


def _addresses(layer: Any) -> bool:
    """Return whether a file's table names entries of a list, and is no entry itself."""
    tables = isinstance(layer, dict) and all(isinstance(v, dict) for v in layer.values())
    return tables and bool(layer)


def _merge_entry(
    draft: Draft, entries: list[Any], layer: dict[str, Any], path: KeyPath, label: str
) -> list[Any]:
    if len(layer) != 1:
        raise ScenarioError(f"{label}: {_dotted(path)} is a list; give a list of tables")
    [(address, inner)] = layer.items()
    names, found = _entry_names(entries), addressed(entries, address)
    if not found:
        where = _dotted(path)
        example = f"; say which, as in {where}.{names[0]}" if names else ""
        raise ScenarioError(
            f"{label}: {address} is not an entry of {where}, which has {', '.join(names)}"
            + (did_you_mean(address, names) or example)
        )
    if len(found) > 1:
        where = _dotted(path)
        alike = len({names[i] for i in found}) < len(found)
        ways = [f"{where}.{i if alike else names[i]}" for i in found]
        raise ScenarioError(
            f"{label}: {address} is the name or kind of several entries of {where}; "
            f"say which: {' or '.join(ways)}"
        )
    [i] = found
    merged = list(entries)
    merged[i] = _merge(draft, entries[i], inner, (*path, i), label, addressed=True)
    return merged


def addressed(entries: Sequence[Any], address: str) -> list[int]:
    """Return the places of a list's entries that an address means: name, else kind, else number."""
    found = [i for i, name in enumerate(_entry_names(entries)) if name == address]
    found = found or [i for i, entry in enumerate(entries) if address in _names(entry)]
    if address.isdecimal() and int(address) < len(entries):
        found = found or [int(address)]
    return found


def _entry_names(entries: Sequence[Any]) -> list[str]:
    return [(_names(entry) or [str(i)])[0] for i, entry in enumerate(entries)]


def _names(entry: Any) -> list[str]:
    """Return the possible names of a list's entry: its name, else its kind."""
    if not isinstance(entry, dict):
        return []
    return [entry[key] for key in ("name", "kind") if isinstance(entry.get(key), str)]


def flat_paths(tables: dict[str, Any], label: str) -> dict[str, Any]:
    """`{"a": {"b": [1]}}` as `{"a.b": [1]}`: TOML writes key paths with and without quotes.

    Parameters
    ----------
    tables : dict
    label : str
        Starts an error.

    Raises
    ------
    ScenarioError
        If two of the paths are the same.
    """
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        found = {key: value}
        if isinstance(value, dict) and value and not {"low", "high"} & value.keys():
            found = {f"{key}.{rest}": v for rest, v in flat_paths(value, label).items()}
        twice = [path for path in found if path in flat]
        if twice:
            raise ScenarioError(
                f"{label}: {one_line(twice[0])} is stated twice, with and without quotes; leave "
                "one out"
            )
        flat |= found
    return flat


def _has_paths(path: KeyPath) -> bool:
    """Return whether the keys of a table are key paths, which layers may quote or not."""
    return path in (("sweep", "over"), ("sweep", "draw")) or (
        path[:1] == ("algorithm",) and len(path) < 4 and path[-1] == "set"
    )


def _forget(draft: Draft, path: KeyPath) -> None:
    for known in [p for p in draft.said_by if p[: len(path)] == path]:
        del draft.said_by[known]


def _dotted(path: KeyPath) -> str:
    return ".".join(str(key) for key in path)


def parse_assignment(text: str) -> tuple[str, Any]:
    """`a.b=value` as key path and value; the value is TOML, a bare word is a string.

    Raises
    ------
    ScenarioError
    """
    (path, equals, value), label = text.partition("="), in_words("--set", text)
    if not equals or not path.strip():
        raise ScenarioError(f"{label}: is not of the form key.path=value")
    keys = path.strip().split(".")[: MOST_LEVELS + 1]  # of more than that, `assign` tells
    require_plain(dict.fromkeys(keys), label)
    if not value.isascii() and value.encode("utf-8", "ignore").decode() != value:
        raise ScenarioError(f"{label}: is not text in UTF-8")
    return path.strip(), parse_value(value.strip())


def in_words(option: str, text: str) -> str:
    """An option of the command line as it stands in errors: on one line, shortened."""
    shortened = text if len(text) <= 200 else text[:197] + "..."
    return f"{option} {one_line(shortened)}"


def parse_value(text: str) -> Any:
    """A value as TOML writes it; what is not TOML is a string."""
    try:
        tables = toml_of(f"value = {text}", "")
    except ScenarioError:
        return text
    return tables["value"] if tables.keys() == {"value"} else text


def split_values(text: str) -> list[Any]:
    """`1,2,[3, 4],"a,b"` as values: commas inside brackets and quotes separate nothing."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += char
    return [parse_value(part.strip()) for part in parts if part.strip()]
