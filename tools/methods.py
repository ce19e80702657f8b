"""Write docs/methods.md, the guide to the methods in `algorithms/`: `python tools/methods.py`.

The header of a method's file describes it, in fields that begin a line and end at the next field or
at an empty line; the declaration `@algorithm(...)` and the parameters come from the module itself.
`tests/algorithms_/test_methods_guide.py` compares the fields with runs, and this document with the
headers.
"""

import argparse
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic_core import PydanticUndefined

from netsim.protocols.declaration import declaration_of
from netsim.registry import Table
from netsim.scenario.kinds import kinds_of

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "methods.md"

FIELDS = ("Personalizes", "Shares", "Sends", "Needs", "Cost a round", "Late or absent peers")
COLUMNS = (
    *("Method", "In a line", "Personal", "Bits", "Steps"),
    *("Server", "Schedules", "Validation", "Models"),
)
FORMULA = re.compile(r"`([^`]*)`")
UNEQUAL = "may differ"
VALIDATION = "validation samples"

PREFACE = """\
# Methods: which one for what

Written by `tools/methods.py` from the headers of `algorithms/*.py`; change those, then run it.

All methods train under every schedule unless the column *Schedules* says otherwise: under
`rounds`, with a barrier, and under `poisson`, `periodic` and `star`, without one. Without a barrier
a node that wakes mixes the newest models that have arrived. The column *Personal* names the part of
a model that differs between nodes. *Server* says whether a method needs a node of role `server`
(*with*), can use one (*with or without*) or has none (*without*). With a server, nodes send to the
server only, and it answers. Without a server they send to each other; over a complete topology
without losses both give the same numbers. *Validation* says whether a method needs validation
samples (`[data] validation`), *Models* whether architectures may differ between nodes.

The formula in *Bits* gives the bits that one node sends to one neighbour in a round, unless the
text says otherwise; *Steps* gives the local steps of a node in a round. In formulas, *b* is the
number of bits of a number (`[training] parameter_bits`, 32); *theta* counts the numbers of a model
with running statistics, *P* its parameters, *base* and *head* those of its two parts, and *norm*
those of its normalisation layers; *C* is the number of classes, *k* of the classes that the node
holds, and *F* of the features that the head takes; *N* counts nodes, *d* neighbours, and *S* the
local steps of a round as `local_steps` or `local_epochs` set them. Local steps take virtual time;
losses, gradients and passes over samples take none. A radio adds headers and acknowledgements.

The parameter `absent` of a method decides what happens if a peer's message is late or lost: the
other peers share its weight (`renormalise`), the node itself gets it (`self`), or the method uses
the peer's last message again (`last`), unless that is older than `max_age_s`
([Absence, lateness and age](asynchrony.md)). In the lists of parameters, `-` stands for an absent
value (the page [Algorithms](scenario/algorithms.md) says what that means) and `{...}` for a table
with a `kind`; a parameter without `=` has no default.

[All methods, one setting](methods_table.md) compares them on one small task, in rounds and over
radio.
"""


class Method(NamedTuple):
    """One method, as its file describes it.

    Attributes
    ----------
    kind : str
        The file's name.
    title : str
        What comes before the colon of its first line.
    idea : str
        What comes after it.
    source : str
    fields : dict of str to str
        By the names in `FIELDS`.
    schedules : tuple of str or None
        None: all of them.
    knows_servers, needs_server, needs_values : bool
    parameters : dict of str to object
        Defaults; `...` where one must be given.
    """

    kind: str
    title: str
    idea: str
    source: str
    fields: dict[str, str]
    schedules: tuple[str, ...] | None
    knows_servers: bool
    needs_server: bool
    needs_values: bool
    parameters: dict[str, Any]

    @property
    def wants_server(self) -> bool:
        """Return whether its declaration or its needs name a server."""
        return self.needs_server or "one server" in self.fields["Needs"]

    def formulas(self, field: str) -> list[str]:
        """Return the formulas between backquotes in a field, in its order."""
        found = FORMULA.findall(self.fields[field])
        return [f for f in found if re.fullmatch(r"[\w\s()*+/-]+", f) and f not in self.parameters]


def method(kind: str, module: ModuleType) -> Method:
    """Read a module's header, declaration and parameters.

    Raises
    ------
    ValueError
        If a field is missing.
    """
    text = inspect.getdoc(module) or ""
    title, _, idea = text.split("\n\n")[0].replace("\n", " ").partition(": ")
    fields = {name: field(text, name) for name in FIELDS}
    missing = [name for name, value in fields.items() if not value]
    if missing:
        raise ValueError(f"{kind}: the header lacks {', '.join(missing)}")
    declared = declaration_of(module)
    return Method(
        kind,
        title,
        idea[:1].upper() + idea[1:],
        whole(field(text, "Source")),
        fields,
        declared.schedules,
        declared.knows_servers,
        declared.needs_server,
        declared.needs_values,
        {n: default(f) for n, f in module.Params.model_fields.items()},
    )


def field(text: str, name: str) -> str:
    """A field of a header as one line; empty if it is not there."""
    ends = "|".join(map(re.escape, FIELDS))
    found = re.search(rf"^{re.escape(name)}: (.*?)(?=\n(?:{ends}): |\n\n|\Z)", text, re.M | re.S)
    return " ".join(found[1].split()) if found else ""


def whole(text: str) -> str:
    """A text up to its last full stop: headers go on with formulas, which the guide leaves out."""
    return text[: text.rindex(". ") + 1] if ". " in text and not text.endswith(".") else text


def default(info: Any) -> Any:
    """A parameter's default, `...` without one."""
    value = info.get_default(call_default_factory=True)
    return ... if value is PydanticUndefined else value


def methods() -> list[Method]:
    """All methods, by name."""
    return [method(kind, module) for kind, module in sorted(kinds_of().items())]


def guide() -> str:
    """The whole document."""
    known = methods()
    rows = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS), *map(row, known)]
    return "\n".join([PREFACE, "## To choose from", "", *rows, "", *map(section, known)])


def row(m: Method) -> str:
    """A line of the table to choose from."""
    cells = (
        f"[`{m.kind}`](#{m.kind})",
        m.idea.removesuffix("."),
        m.fields["Personalizes"].split(";")[0].split(", ")[0].removesuffix("."),
        next((f"`{f}`" for f in m.formulas("Sends")), m.fields["Sends"].removesuffix(".")),
        next((f"`{f}`" for f in m.formulas("Cost a round")), ""),
        "with" if m.wants_server else "with or without" if m.knows_servers else "without",
        "all" if m.schedules is None else ", ".join(m.schedules),
        "yes" if is_listed(m, VALIDATION) else "",
        UNEQUAL if UNEQUAL in m.fields["Needs"] else "equal",
    )
    return "| " + " | ".join(cells) + " |"


def is_listed(m: Method, need: str) -> bool:
    """Return whether a method always needs something."""
    return any(part.strip(" .") == need for part in m.fields["Needs"].split(";"))


def section(m: Method) -> str:
    """All about one method."""
    lines = [f"## {m.kind}", "", f"**{m.title}.** {m.idea}", ""]
    lines += [m.source, ""] if m.source else []
    lines += [f"- **{name}:** {value}" for name, value in m.fields.items()]
    lines.append(f"- **Timing only:** {'no' if m.needs_values else 'yes'}")
    shown = ", ".join(
        f"`{n}`" if v is ... else f"`{n} = {literal(v)}`" for n, v in m.parameters.items()
    )
    lines += [f"- **Parameters:** {shown or 'none'}", ""]
    return "\n".join(lines)


def literal(value: Any) -> str:
    """A default as a scenario would have it, a dash for None."""
    if isinstance(value, Table):
        return "{...}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "-" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


def main() -> None:
    """Write the guide."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    GUIDE.write_text(guide(), encoding="utf-8")


if __name__ == "__main__":
    main()
