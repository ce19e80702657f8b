"""Write docs/models.md, every model with its equation and source: `python tools/models_page.py`.

Equations stand in `tools/model_equations.py`; what each kind is, in its docstring. A kind of a
family that has no equation there is an error.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from model_equations import CHAPTERS, WIRES, Chapter
from published_numbers import table
from scenario_reference import PAGES

from netsim.console.commands.list import EVERY, with_keys

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"

PREFACE = """\
# Models and equations

This page has every model of the network and its devices, with its equation and its source. The
link of each section leads to the keys of its kinds, with full references, ranges of validity and
departures from the source. [Fidelity](fidelity.md) says which models are compared with closed forms
and with ns-3, and what they leave out. Unless a section says otherwise, SNRs are linear, $d$ is in
m and $f$ in Hz. `tools/models_page.py` writes this page.
"""
PUBLISHED = """\
## Published numbers

The table compares numbers of standards, data sheets and papers (*published*) with those that the
models give when this page is written (*netsim*); the path in *test* is below `tests/`.
[Fidelity](fidelity.md) compares the medium access of 802.11. For sidelink mode 2 there is no
comparison with a published reception ratio; its tests compare it with Markov chains and with a
simulation slot by slot.
"""


def page() -> str:
    """The whole page."""
    lines, groups = [PREFACE], with_keys()
    for family, chapter in CHAPTERS.items():
        kinds = {entry.name for entry in groups[family]()} - {EVERY}
        if missing := sorted(kinds ^ set(chapter.kinds)):
            raise SystemExit(f"{family}: {', '.join(missing)}: in one of both only")
        lines += [f"## {chapter.title}\n", chapter.preface + "\n"]
        lines += [f"Keys: [{family}]({_place(family)}).\n", *_table(chapter), ""]
    lines += [f"## {WIRES.title}\n", WIRES.preface + "\n", *_table(WIRES, "part"), ""]
    lines += [PUBLISHED, *table()]
    return "\n".join(lines) + "\n"


def _table(chapter: Chapter, of: str = "`kind`") -> Iterator[str]:
    yield f"| {of} | model | source |"
    yield "|---|---|---|"
    for kind, model in chapter.kinds.items():
        name = kind if " " in kind or "`" in kind else f"`{kind}`"
        yield f"| {name} | {model.text} | {model.source} |"


def _place(family: str) -> str:
    """Return the place of the keys of a family."""
    page = next(p.name for p in PAGES if any(family.startswith(f) for f in p.families))
    return f"scenario/{page}.md#{family.replace('.', '')}"


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
