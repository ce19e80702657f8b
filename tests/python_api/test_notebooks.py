"""Notebooks of examples/, and the code blocks of docs/python.md, in a real notebook kernel."""

import json
import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))
PAGE = ROOT / "docs" / "python.md"


def played(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Execute all cells, as a user's kernel does, in a folder."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        skip_cells_with_tag="skip-execution",
    )
    return client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [out for cell in notebook.cells for out in cell.get("outputs", [])]


def kinds(notebook: nbformat.NotebookNode) -> list[str]:
    """The MIME types that a notebook shows."""
    return [kind for out in outputs(notebook) for kind in out.get("data", {})]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_plays_from_top_to_bottom(path, tmp_path):
    notebook = played(nbformat.read(path, as_version=4), tmp_path)
    assert kinds(notebook).count("image/png") >= 1
    assert not [out for out in outputs(notebook) if out.output_type == "stream"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.slow
def test_every_block_of_the_page_runs_in_a_kernel(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 10
    assert text.count("```") == 2 * len(blocks)  # no block of another sort, which nobody runs
    notebook = played(notebook_of(*blocks), tmp_path)
    told = "".join(out.text for out in outputs(notebook) if out.output_type == "stream")
    assert 'did you mean "reachable"' in told
    assert (tmp_path / "accuracy.pdf").stat().st_size > 1000


@pytest.mark.slow
def test_progress_is_one_output_that_is_written_over(tmp_path):
    notebook = played(
        notebook_of(
            "import netsim",
            'run = netsim.run("quickstart", ["local"], progress=True)',
        ),
        tmp_path,
    )
    (shown,) = outputs(notebook)
    assert shown.data["text/plain"].startswith("local: 100 s in ")


@pytest.mark.slow
def test_a_figure_shows_itself_with_and_without_pyplot(tmp_path):
    notebook = played(
        notebook_of(
            "import netsim\nrun = netsim.run('quickstart', ['local'])",
            "run.plot.accuracy()",
            "import matplotlib.pyplot as plt\nplt.get_fignums()",
            "run.plot.accuracy()",
        ),
        tmp_path,
    )
    assert kinds(notebook).count("image/png") == 2
    assert outputs(notebook)[1].data["text/plain"] == "[]"
