"""Play the notebooks of `examples/` and keep in them what their cells show.

    python tools/notebooks.py [NAME ...]    such as first_network; none: all

`tests/python_api/test_notebooks.py` plays them again and compares: words have to be the same,
numbers up to a tolerance for other versions of PyTorch and processors; pictures have to be there.
"""

import argparse
import html
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SKIPPED = "skip-execution"
"""Tag of the cell that installs netsim."""

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])(?!\.\d)")
RELATIVE, DECIMALS = 0.02, {0: 0.0, 1: 0.5}
"""Tolerances of numbers: a share; and absolutely, by their decimals (see `OTHERS`)."""

OTHERS = 0.02
"""Absolute tolerance of numbers of two decimals and more, which are shares."""


def play(
    notebook: nbformat.NotebookNode, folder: Path, path: Sequence[Path] = (ROOT,)
) -> nbformat.NotebookNode:
    """Execute all cells, as a user's kernel does.

    Parameters
    ----------
    notebook : NotebookNode
        Its outputs become those of the cells.
    folder : Path
        In which it works.
    path : sequence of Path
        What comes first where Python looks for modules: netsim lies in one of them.

    Returns
    -------
    NotebookNode

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    """
    paths = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        skip_cells_with_tag=SKIPPED,
        record_timing=False,
    )
    return client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def code_cells(notebook: nbformat.NotebookNode) -> list[Any]:
    """The cells that are executed."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and SKIPPED not in cell.metadata.get("tags", ())
    ]


def texts(cell: Any) -> list[str]:
    """Texts that a cell shows, those of tables without their tags.

    What is printed is one text, in however many parts it came.
    """
    found, printed = [], dict[str, str]()
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            printed[output.name] = printed.get(output.name, "") + output.text
        for kind, text in sorted(output.get("data", {}).items()):
            if kind == "text/html":
                text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
                found.append(html.unescape(re.sub(r"<[^>]*>", " ", text)))
            elif kind.startswith("text/"):
                found.append(text)
    return [*printed.values(), *found]


def pictures(cell: Any) -> int:
    """Number of pictures that a cell shows."""
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", ()))


def numbers(text: str) -> list[float]:
    """Numbers in a text, without sign."""
    return [abs(value(found)) for found in NUMBER.findall(text)]


def value(number: str) -> float:
    """The value of a number as it is written."""
    return float(number.replace(",", "").replace("−", "-"))


def differences(kept: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> Iterator[str]:
    """Yield a line on each output of one notebook that is another in the other.

    Parameters
    ----------
    kept, fresh : NotebookNode
        With the same cells.
    """
    for number, (one, other) in enumerate(
        zip(code_cells(kept), code_cells(fresh), strict=True), start=1
    ):
        if pictures(one) != pictures(other):
            yield f"cell {number}: {pictures(one)} pictures, now {pictures(other)}"
        was, now = texts(one), texts(other)
        if len(was) != len(now):
            yield f"cell {number}: shows {len(was)} texts, now {len(now)}"
        for before, after in zip(was, now, strict=False):
            if not alike(before, after):
                yield f"cell {number}: was\n{before}\nis\n{after}"


def alike(text: str, other: str) -> bool:
    """Return whether two texts have the same words, and nearly the same numbers."""
    words = [NUMBER.sub("#", each).split() for each in (text, other)]
    pairs = zip(NUMBER.findall(text), NUMBER.findall(other), strict=False)
    return words[0] == words[1] and all(near(one, two) for one, two in pairs)


def near(one: str, other: str) -> bool:
    """Return whether two numbers are equal up to the tolerance; whole numbers are exactly."""
    decimals = len(one.partition(".")[2])
    first, second = value(one), value(other)
    if not decimals:
        return first == second
    absolute = DECIMALS.get(decimals, OTHERS)
    return abs(first - second) <= absolute + RELATIVE * abs(first)


def unquoted(notebook: nbformat.NotebookNode) -> list[float]:
    """Numbers in the notebook's words that no cell has in its code or in what it shows."""
    shown = {
        number
        for cell in code_cells(notebook)
        for text in (cell.source, *texts(cell))
        for number in numbers(text)
    }
    written = [
        number
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for number in numbers(re.sub(r"\]\([^)]*\)", "]", cell.source))
    ]
    return [number for number in written if number not in shown]


def kept(path: Path) -> None:
    """Play a notebook in an empty folder and write it with what its cells show."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        notebook = play(notebook, Path(folder))
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Play those that are named."""
    parser = argparse.ArgumentParser(description="Play the notebooks of examples/.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args().names
    for path in NOTEBOOKS:
        if not asked or path.stem in asked:
            kept(path)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
