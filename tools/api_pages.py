"""Write the reference in docs/api/ from the docstrings of the code: `python tools/api_pages.py`.

A page is written by hand except below its markers: `<!-- api: netsim.api.Node.send -->` is followed
by the signature and the docstring of that object, up to `<!-- end -->`. After the name may stand
`members` (also all public members), `members=a,b` (also these), `bare` (without the parameters that
only netsim passes), and `as=NAME` (the name by which users know the object).
"""

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs/api").glob("*.md"))
MARKER = re.compile(r"^<!-- api: (?P<words>[^\n]+?) -->\n(?:.*?^<!-- end -->\n)?", re.M | re.S)
WIDTH = 88


def written(page: str) -> str:
    """The text of a page with every marker followed by its object's reference.

    Parameters
    ----------
    page : str
        The text as it is, perhaps with an earlier reference.
    """

    def filled(match: re.Match[str]) -> str:
        path, *options = match["words"].split()
        stated = dict(option.partition("=")[::2] for option in options)
        lines = "\n".join(_entry(_found(path), path, stated)).strip()
        return f"<!-- api: {match['words']} -->\n\n{lines}\n\n<!-- end -->\n"

    return MARKER.sub(filled, page)


@cache
def _package() -> Any:
    return griffe.load(
        "netsim", search_paths=[ROOT], allow_inspection=False, docstring_parser="numpy"
    )


def _found(path: str) -> Any:
    """The object that a dotted name means, through imports."""
    found = _package()[path.removeprefix("netsim.")]
    return found.final_target if found.is_alias else found


def _entry(found: Any, path: str, options: dict[str, str]) -> Iterator[str]:
    """Lines of one object, and of its members where they are asked for."""
    name = options.get("as") or path.rpartition("netsim.api.")[2].removeprefix("netsim.testing.")
    yield from _object(found, name, "###", "bare" in options)
    if "members" not in options:
        return
    wanted = options["members"].split(",") if options["members"] else None
    for key, member in found.members.items():
        if (wanted is None and key.startswith("_")) or (wanted is not None and key not in wanted):
            continue
        target = member.final_target if member.is_alias else member
        if target.is_class or target.docstring is None:
            continue  # a field: its class's docstring has it
        yield from _object(target, f"{name}.{key}", "####", bare=False)


def _object(found: Any, name: str, level: str, bare: bool) -> Iterator[str]:
    """Heading, signature and docstring of one object."""
    yield from (f"{level} {name}", "")
    signature = "" if bare else _signature(found, name)
    if signature:
        yield from ("```text", signature, "```", "")
    for section in found.docstring.parsed if found.docstring else ():
        if not (bare and section.kind.value == "parameters"):
            yield from _section(section)


def _signature(found: Any, name: str) -> str:
    """Return the call of a function or class, the type of a property, a constant's value."""
    if found.is_attribute:
        if "property" in found.labels or "cached" in found.labels:
            return f"{name}: {found.annotation}"
        value = f"{name} = {found.value}" if found.value is not None else ""
        is_long = len(value) > WIDTH and found.annotation is not None
        return f"{name}: {found.annotation}" if is_long else value
    if found.is_class and any(p.kind is None for p in found.parameters):
        return ""
    shown = [
        p
        for p in found.parameters
        if p.name not in ("self", "cls") and not p.name.startswith("__pydantic")
    ]
    if found.is_class and not shown:
        return ""
    words = list(_parameters(shown))
    gives = f" -> {found.returns}" if found.is_function and found.returns is not None else ""
    line = f"{name}({', '.join(words)}){gives}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){gives}"])


def _parameters(parameters: Sequence[Any]) -> Iterator[str]:
    keyword_only = False
    for p in parameters:
        kind = p.kind.value
        if kind == "keyword-only" and not keyword_only:
            keyword_only = True
            yield "*"
        keyword_only |= kind == "variadic positional"
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        typed = f": {p.annotation}" if p.annotation is not None else ""
        default = f" = {p.default}" if p.default is not None and not stars else ""
        yield f"{stars}{p.name}{typed}{default}"


def _section(section: Any) -> Iterator[str]:
    """Lines of one section of a docstring."""
    kind, value = section.kind.value, section.value
    if kind == "text":
        yield from (*_escaped(value).splitlines(), "")
    elif kind == "examples":
        yield from ("**Examples**", "")
        for part, text in value:
            fenced = part.value == "examples"
            yield from (*(["```text"] if fenced else []), text, *(["```"] if fenced else []), "")
    elif kind == "admonition":
        yield from (f"**{section.title or value.kind.capitalize()}**", "", value.description, "")
    elif isinstance(value, Iterable):
        yield from (f"**{section.title or kind.capitalize()}**", "")
        for item in value:
            named = f"`{item.name}`" if getattr(item, "name", "") else ""
            typed = f"`{item.annotation}`" if item.annotation is not None else ""
            head = ", ".join(word for word in (named, typed) if word)
            text = " ".join(_escaped(item.description).split())
            line = f"- {head}: {text}" if text else f"- {head}"
            yield textwrap.fill(
                line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        yield ""


def _escaped(text: str) -> str:
    """Text whose asterisks and underscores are signs of formulae, not of Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<!\\)([*_<])", r"\\\1", part) for part in parts
    )


def main() -> None:
    """Write the pages anew."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        path.write_text(written(text), encoding="utf-8")


if __name__ == "__main__":
    main()
