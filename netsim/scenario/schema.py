"""Look-ups in the JSON Schema of a scenario: the keys and kinds that one table of it may have."""

from typing import Any

from netsim.scenario.draft import KeyPath


def at(raw: Any, path: KeyPath) -> Any:
    """The value at a key path, or None."""
    for key in path:
        try:
            raw = raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def properties(path: KeyPath, raw: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """The keys that the table at `path` knows, given the kinds chosen in `raw`.

    Parameters
    ----------
    path : tuple of (str or int)
        Of the table; empty for the top of the file.
    raw : dict
        The whole scenario as written.
    schema : dict
        Its JSON Schema.

    Returns
    -------
    dict
        JSON Schema of each key; empty if there is no such table.
    """
    found: dict[str, Any] = _subschema(path, raw, schema).get("properties", {})
    return found


def tags(path: KeyPath, raw: Any, schema: dict[str, Any]) -> list[str]:
    """The kinds that the component table at `path` may have, in alphabetical order.

    Parameters
    ----------
    path : tuple of (str or int)
        Of the table.
    raw : dict
        The whole scenario as written.
    schema : dict
        Its JSON Schema.
    """
    node = _subschema(path, raw, schema, choose_last=False)
    return sorted(node.get("discriminator", {}).get("mapping", {}))


def _subschema(
    path: KeyPath, raw: Any, root: dict[str, Any], choose_last: bool = True
) -> dict[str, Any]:
    node = _choose(root, raw, root, True)
    for i, key in enumerate(path):
        raw = at(raw, (key,))
        if isinstance(key, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(key) or node.get("additionalProperties") or {}
        node = node if isinstance(node, dict) else {}
        node = _choose(node, raw, root, choose_last or i + 1 < len(path))
    return node


def _choose(node: dict[str, Any], raw: Any, root: dict[str, Any], by_kind: bool) -> dict[str, Any]:
    """Follow references, and the branch of a union that `raw` means."""
    while True:
        if node.get("type") == "array" and isinstance(raw, dict):
            node = node.get("items", {})  # one table stands for a list of one
        elif "$ref" in node:
            node = root["$defs"][node["$ref"].rpartition("/")[2]]
        elif "anyOf" in node:
            wanted = "array" if isinstance(raw, list) else "object"
            branches = [_choose(b, raw, root, by_kind) for b in node["anyOf"]]
            fits = [b for b in branches if b.get("type") == wanted or "discriminator" in b]
            return fits[0] if fits else {}
        elif "discriminator" in node and by_kind:
            tag = raw.get(node["discriminator"]["propertyName"]) if isinstance(raw, dict) else None
            chosen = node["discriminator"]["mapping"].get(tag) if isinstance(tag, str) else None
            node = {"$ref": chosen} if chosen else {}
        else:
            return node
