"""Write docs/scenario.md and docs/scenario/, all keys: `python tools/scenario_reference.py`.

The docstring of a class describes its keys; examples are in `tools/scenario_examples.py`.
`tests/scenario/test_reference.py` compares the pages with both.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from methods import field, whole
from scenario_examples import EXAMPLES

from netsim.console.commands import list as listing
from netsim.console.commands.list import EVERY, TABLES, TOP, Choice, with_keys
from netsim.registry import Choice as Chosen
from netsim.registry import Component, shipped_family, tag_of
from netsim.scenario.descriptions import descriptions, summary
from netsim.scenario.file_paths import marked_keys
from netsim.scenario.keys import Key
from netsim.scenario.kinds import Kinds, kinds_of
from netsim.scenario.tables import Scenario

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

GENERATED = "Written by `tools/scenario_reference.py` from the docstrings of `netsim/`."

PREFACE = f"""\
# Every key of a scenario

{GENERATED}

A scenario is a TOML file of tables. `netsim list WORD --keys` prints the same descriptions for a
table or family (`channels`, `nodes`, `fading`, ..., or `all`), `netsim schema` prints them as a
JSON Schema for editors, and the error for a wrong value contains the description of its key.

The end of a key states the unit of its number: `ttl_s` is in seconds, `rate_bps` in bit/s. In the
column *default*, *required* means that every scenario must state the key (or, below an absent
table, every scenario that has the table). An empty default means that the key may be absent; its
description says what happens then. A table with a `kind` is a component: its other keys are those
of that kind, on the page of its family.

"""


class Page(NamedTuple):
    """One page of families.

    Attributes
    ----------
    name : str
        Of its file.
    title : str
    families : tuple of str
        As `netsim list` calls them, in their order.
    """

    name: str
    title: str
    families: tuple[str, ...]


PAGES = (
    Page("schedules", "Schedules: wake-ups of nodes", ("exchange",)),
    Page("channels", "Channel models of the radio", ("channels.",)),
    Page(
        "topology",
        "Topology, mobility and churn",
        ("topology", "topology.mobility", "topology.churn"),
    ),
    Page(
        "data",
        "Data sets, partitions, drift and tasks",
        ("data.sets", "data.partitions", "data.drift", "tasks"),
    ),
    Page("models", "Models", ("models",)),
    Page("devices", "Speed and energy of devices", ("compute.speed", "energy.")),
    Page("attacks", "Attacks", ("attacks",)),
    Page("algorithms", "Algorithms", ("algorithms", "protocols.")),
)

FIRST = (
    *("top", "nodes", "exchange", "radio", "link", "topology", "mobility", "churn"),
    *("data", "task", "model", "training", "algorithm", "compute", "energy", "attack"),
    *("metrics", "run", "changes", "sweep", "paper"),
)
"""The tables in the order in which one meets them."""


def pages() -> dict[str, str]:
    """Text of every page by its path below `docs/`."""
    kinds = kinds_of()
    groups = {name: group() for name, group in with_keys().items()}
    unknown = {name.removeprefix(TABLES) for name in groups if name.startswith(TABLES)} - {*FIRST}
    if unknown:
        raise ValueError(f"FIRST lacks {unknown}")
    found = {"scenario.md": _overview(groups)}
    for page in PAGES:
        names = [g for f in page.families for g in groups if g == f or (f[-1] == "." and f in g)]
        sections = [_family(name, groups[name], kinds) for name in names]
        head = f"# {page.title}\n\n{GENERATED} All tables: [scenario.md](../scenario.md).\n\n"
        found[f"scenario/{page.name}.md"] = head + "\n".join(sections)
    return found


def _overview(groups: dict[str, list[Choice]]) -> str:
    """The tables that no `kind` chooses, and where those are that one does."""
    found = [PREFACE, "Pages of the families:\n"]
    found += [f"- [{page.title}](scenario/{page.name}.md)" for page in PAGES] + [""]
    for name in FIRST:
        path = "" if name == "top" else name
        found.append(f"## {'Top of the file' if name == 'top' else f'[{name}]'}\n")
        about = descriptions(Scenario)[path].text if path else groups[TABLES + name][0].about
        found += [f"{about}\n", _toml(EXAMPLES[path])]
        for entry in groups.get(TABLES + name, ()):
            is_inner = entry.name not in (f"[{name}]", TOP)
            found += [f"### {entry.name}\n", f"{entry.about}\n"] if is_inner else []
            found += _table(entry.keys)
        if name == "algorithm":
            found.append("The keys of each one: [algorithms](scenario/algorithms.md).\n")
        found += _where(path, groups)
    return "\n".join(found)


def _where(path: str, groups: dict[str, list[Choice]]) -> list[str]:
    """List the kinds of the tables at and below a path, with their pages."""
    lines = []
    for keys, chosen in _chosen():
        if keys.partition(".")[0] == path:
            name = _listed(chosen.package)
            page = next(p for p in PAGES if any(name.startswith(f) for f in p.families))
            names = " ".join(f"`{e.name}`" for e in groups[name] if e.name != EVERY)
            link = f"scenario/{page.name}.md#{_anchor(name)}"
            lines.append(f"- [`[{keys}]`]({link}) `{chosen.tag}`: {names}")
    return [*lines, ""] if lines else []


def _chosen() -> list[tuple[str, Chosen]]:
    """The tables that a `kind` chooses, and from which family."""
    marks = marked_keys(Scenario, Chosen)
    found = {".".join(p for p in path if p != "*"): mark for path, mark in marks}
    return list(found.items())


def _listed(package: str) -> str:
    """Return the name of a family in `netsim list`."""
    return next(name for name, there in listing.families().items() if there == package)


def _family(name: str, entries: Sequence[Choice], kinds: Kinds) -> str:
    """A section about one group: what all have, then each one."""
    package = listing.families().get(name)
    members = {} if package is None else shipped_family(package, tag_of(package))
    where = [
        f"[{path}]" for path, chosen in _chosen() if members and name == _listed(chosen.package)
    ]
    lines = [f"## {name}\n"]
    lines += [f"In {', '.join(f'`{table}`' for table in where)}.\n"] if where else []
    if name == "algorithms":
        lines.append(
            "In `[algorithm]`, beside the keys of [every algorithm](../scenario.md#algorithm); "
            "[Methods](../methods.md) describes each method.\n"
        )
    if name.startswith("protocols"):
        lines.append("In the keys of algorithms that take it.\n")
    for entry in entries:
        if entry.name == EVERY:
            lines += ["Keys of every one:\n", *_table(entry.keys)]
            continue
        lines += [f"### {entry.name}\n", f"{entry.about}\n"]
        if entry.name in members:
            lines += _explained(members[entry.name])
        elif entry.name in kinds:
            lines += [f"{_source(inspect.getdoc(kinds[entry.name]) or '')}\n"]
        lines += _table(entry.keys)
    return "\n".join(lines)


def _explained(component: type[Component]) -> list[str]:
    """Return the text of a component's class and module beyond their first lines and keys."""
    about = summary(component)
    module = sys.modules[component.__module__]
    rest = (module.__doc__ or "").strip().partition("\n")[2].strip()
    return [about, "", *([f"```text\n{rest}\n```", ""] if rest else [])]


def _source(text: str) -> str:
    """The field `Source` of a method's header, as docs/methods.md has it; empty: it has none."""
    source = whole(field(text, "Source"))
    return f"Source: {source}" if source else ""


def _table(keys: Iterable[Key]) -> list[str]:
    """Keys as a table."""
    rows = [
        f"| `{key.name}` | {_cell(key.values)} | {_default(key)} | {key.about.unit} "
        f"| {_cell(key.about.text)} | {_cell(key.about.source)} |"
        for key in keys
    ]
    head = ["| key | values | default | unit | what it does | source |", "|" + "---|" * 6]
    return [*head, *rows, ""] if rows else ["No keys of its own.\n"]


def _default(key: Key) -> str:
    if key.default is None:
        return "*required*"
    return f"`{_cell(key.default)}`" if key.default else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _toml(text: str) -> str:
    return f"```toml\n{text.strip()}\n```\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def main() -> None:
    """Write all pages."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
