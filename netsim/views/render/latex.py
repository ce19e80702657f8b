"""A view's table as LaTeX, in the rules of the package booktabs."""

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from netsim.recording.whole_files import make_folder, write_text
from netsim.views import Printed

_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "Δ": r"$\Delta$", "±": r"$\pm$", "×": r"$\times$", "µ": r"$\mu$",
    "—": r"\textemdash{}", "–": r"\textendash{}",
    "<": r"$<$", ">": r"$>$", "|": r"$|$",
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_CELL = re.compile(rf"({_NUMBER.pattern})(?: ± ({_NUMBER.pattern}))?( \(.*\))?")


def write_latex(path: Path, printed: Printed) -> None:
    """Write a table as LaTeX, whole; its folder is made, as that of a CSV file is."""
    text = latex_of(printed)
    make_folder(path.parent)
    write_text(path, text)


def latex_of(printed: Printed) -> str:
    r"""Return a `tabular`, to be put into a table of a paper with `\usepackage{booktabs}`.

    Its note, which says what ± is, stands above it as comments.
    """
    named = list(printed.names.items())
    titles = [*(name for name, _ in named), *(column.title for column in printed.columns)]
    aligned = [*("r" if name == "seeds" else "l" for name, _ in named), *"r" * len(printed.columns)]
    rows = list(
        zip(*(cells for _, cells in named), *(c.cells for c in printed.columns), strict=True)
    )
    groups = [None, *(row[0] if len(named) > 1 else "" for row in rows)]
    lines = [f"% {line}".rstrip() for line in printed.note.splitlines()]
    lines += [f"\\begin{{tabular}}{{{''.join(aligned)}}}", r"\toprule"]
    lines += [_row(map(_title, titles)), r"\midrule"]
    for (above, group), row in zip(pairwise(groups), rows, strict=True):
        cells = [_cell(text) for text in row]
        if len(named) > 1 and group == above:
            cells[0] = ""
        lines.append(_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _row(cells: Iterable[str]) -> str:
    row = " & ".join(cells) + r" \\"
    return f"{{}}{row}" if row[0] in "[*" else row  # else an argument of the command above it


def _title(title: str) -> str:
    name, _, unit = (_escaped(part) for part in title.partition("\n"))
    return f"{name} [{unit}]" if unit else name


def _cell(text: str) -> str:
    if text == "-":
        return "--"
    found = _CELL.fullmatch(text)
    if found is None:
        return _escaped(text)
    mean, half, rest = found.groups()
    around = rf" \pm {_number(half)}" if half else ""
    return f"${_number(mean)}{around}${_escaped(rest or '')}"


def _number(text: str) -> str:
    mantissa, e, exponent = text.replace(",", "{,}").partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if e else mantissa


def _escaped(text: str) -> str:
    text = "".join(_SPECIAL.get(character, character) for character in text)
    return re.sub("-(?=-)", "-{}", text)  # two hyphens would be a dash
