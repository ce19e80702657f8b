"""Notebooks of examples/, and the code blocks of docs/python.md, in a real notebook kernel."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from netsim.backends.native import library
from tools import notebooks
from tools.notebooks import NOTEBOOKS, play

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [out for cell in notebook.cells for out in cell.get("outputs", [])]


def kinds(notebook: nbformat.NotebookNode) -> list[str]:
    """The MIME types that a notebook shows."""
    return [kind for out in outputs(notebook) for kind in out.get("data", {})]


def skip_without(notebook: nbformat.NotebookNode) -> None:
    """Skip the test where an extra that the notebook installs is not there."""
    (install,) = [cell for cell in notebook.cells if cell.source.startswith("%pip install")]
    for extra in re.findall(r"netsim-dfl\[(\w+)\]", install.source):
        for requirement in map(Requirement, EXTRAS[extra]):
            try:
                version = importlib.metadata.version(requirement.name)
            except importlib.metadata.PackageNotFoundError:
                version = ""
            if version not in requirement.specifier:
                pytest.skip(f"{requirement} is not installed: pip install 'netsim-dfl[{extra}]'")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what installing the wheel puts there; the kernel is the checkout's."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    quiet = {**os.environ, "NETSIM_NATIVE": "0"}
    subprocess.run(command, cwd=ROOT, env=quiet, check=True, capture_output=True)
    (wheel,) = out.glob("netsim_dfl-*.whl")
    zipfile.ZipFile(wheel).extractall(out / "site")
    return out / "site"


@pytest.mark.slow
@EACH
def test_a_notebook_plays_in_an_empty_folder_and_shows_what_it_has_kept(
    path, installed, tmp_path, monkeypatch
):
    kernel = library.library_name()
    if (library.HERE / kernel).is_file():
        monkeypatch.setenv(library.PATH_VARIABLE, str(library.HERE / kernel))
    kept = read(path)
    skip_without(kept)
    where = nbformat.v4.new_code_cell("import netsim; netsim.__file__")
    fresh = read(path)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    fresh.cells.insert(0, where)
    play(fresh, tmp_path, [installed])
    (found,) = notebooks.texts(fresh.cells.pop(0))
    assert Path(found.strip("'")).is_relative_to(installed)
    assert list(notebooks.differences(kept, fresh)) == []


@EACH
def test_a_notebook_is_kept_with_what_each_cell_showed_when_all_were_played_in_order(path):
    notebook = read(path)
    cells = notebooks.code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert kinds(notebook).count("image/png") >= 1
    assert {out.name for out in outputs(notebook) if out.output_type == "stream"} <= {"stdout"}
    assert not [out for out in outputs(notebook) if out.output_type == "error"]


@EACH
def test_numbers_in_the_words_of_a_notebook_are_in_its_code_or_in_what_it_shows(path):
    assert notebooks.unquoted(read(path)) == []


@EACH
def test_a_notebook_begins_with_its_title_and_the_installation_and_ends_with_links(path):
    cells = read(path).cells
    assert cells[0].source.startswith("# ")
    assert cells[1].source.startswith("%pip install")
    assert notebooks.SKIPPED in cells[1].metadata.tags
    assert cells[-1].cell_type == "markdown"
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", cells[-1].source)
    assert len(links) >= 2
    every = [
        link
        for cell in cells
        if cell.cell_type == "markdown"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", cell.source)
    ]
    assert [link for link in every if not (path.parent / link).is_file()] == []


@EACH
def test_a_notebook_uses_public_names_alone(path):
    code = "\n".join(cell.source for cell in notebooks.code_cells(read(path)))
    modules = re.findall(r"^\s*(?:from|import) (netsim[\w.]*)", code, flags=re.MULTILINE)
    assert modules
    assert set(modules) <= {"netsim", "netsim.api", "netsim.flower", "netsim.gym"}


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 6


KEPT = "accuracy 0.960, 46 lost, +4.9 ± 4.5, runs/x"


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ("accuracy 0.955, 46 lost, +5.0 ± 4.4, runs/x", True),
        ("accuracy 0.900, 46 lost, +4.9 ± 4.5, runs/x", False),
        ("accuracy 0.960, 47 lost, +4.9 ± 4.5, runs/x", False),
        ("accuracy 0.960, 46 lost, -4.9 ± 4.5, runs/x", False),
        ("accuracy 0.960, 46 lost, +4.9 ± 4.5, runs/y", False),
        ("accuracy 0.960, 46 lost, +4.9 ± 4.5", False),
    ],
)
def test_what_is_kept_is_compared_by_words_and_numbers(other, alike):
    assert notebooks.alike(KEPT, other) == alike


def test_a_number_of_the_words_that_no_cell_shows_is_found():
    notebook = notebook_of("x = 12")
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text="0.921 of 1,200\n")]
    words = "Of 1,200 messages 0.921 arrived, 12 a node, and −7.5 points."
    notebook.cells.append(nbformat.v4.new_markdown_cell(words))
    assert notebooks.unquoted(notebook) == [7.5]


@pytest.mark.slow
def test_every_block_of_the_page_runs_in_a_kernel(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 10
    assert text.count("```") == 2 * len(blocks)  # no block of another sort, which nobody runs
    notebook = play(notebook_of(*blocks), tmp_path)
    told = "".join(out.text for out in outputs(notebook) if out.output_type == "stream")
    assert 'did you mean "reachable"' in told
    assert (tmp_path / "accuracy.pdf").stat().st_size > 1000


@pytest.mark.slow
def test_progress_is_one_output_and_a_figure_shows_itself_with_and_without_pyplot(tmp_path):
    notebook = play(
        notebook_of(
            "import netsim\nrun = netsim.run('quickstart', ['local'], progress=True)",
            "run.plot.accuracy()",
            "import matplotlib.pyplot as plt\nplt.get_fignums()",
            "run.plot.accuracy()",
        ),
        tmp_path,
    )
    progress, _, numbers, _ = outputs(notebook)
    assert progress.data["text/plain"].startswith("local: 100 s in ")
    assert kinds(notebook).count("image/png") == 2
    assert numbers.data["text/plain"] == "[]"
