"""Files of figures: width, fonts, the same bytes each time, numbers beside."""

import csv
import re
import zlib

import numpy as np
import pytest
from PIL import Image

from netsim.recording.reader import RunFolder
from netsim.views import Ask, accuracy
from netsim.views.render.figure import axes, panels
from netsim.views.render.figure import files as numbers
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import WIDTHS_IN, paper


@pytest.fixture
def make(tmp_path, written):
    for name in ("kd_pdfl", "local"):
        written(tmp_path / name, name, nodes=6, evaluations=4)
    runs = [RunFolder.ended(tmp_path / name) for name in ("kd_pdfl", "local")]

    def draw(path, form, width=3.5, paired_to=None):
        sheet = paper(width)
        with plot_style.style(sheet):
            ask = Ask(("accuracy",), paired_to=paired_to, on_paper=True)
            drawn = panels.draw(accuracy.of_runs(runs, ask), sheet=sheet)
        return drawn, numbers.write(drawn, path, form, with_table=True)

    return draw


def objects(content):
    """The text of a PDF with its compressed parts opened."""
    parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    opened = []
    for part in parts:
        try:
            opened.append(zlib.decompress(part))
        except zlib.error:
            opened.append(part)
    return content, b"\n".join(opened)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("width", sorted(WIDTHS_IN.values()))
def test_a_pdf_has_its_width_and_its_fonts_inside(tmp_path, make, width):
    _, (path, *_) = make(tmp_path / "out" / "figure.pdf", "pdf", width)
    plain, _ = objects(path.read_bytes())
    box = re.search(rb"/MediaBox \[ ?([\d. ]+)\]", plain)
    left, _, right, _ = map(float, box[1].split())
    assert right - left == pytest.approx(72 * width, abs=0.01)
    fonts = re.findall(rb"/BaseFont /([\w+-]+)", plain)
    assert fonts
    assert b"/FontFile2" in plain  # TrueType, embedded
    assert b"/Type3" not in plain
    assert b"/CreationDate" not in plain


@pytest.mark.slow
def test_a_png_has_its_width_and_a_svg_its_text_as_paths(tmp_path, make):
    _, (path, *_) = make(tmp_path / "a.png", "png", 3.5)
    with Image.open(path) as picture:
        assert picture.width == 3.5 * plot_style.PAPER_DPI
        assert np.asarray(picture.convert("L")).std() > 5
    _, (path, *_) = make(tmp_path / "a.svg", "svg", 3.5)
    text = path.read_text()
    assert re.search(r'<svg [^>]*width="252pt"', text)
    assert "<text" not in text
    assert "<dc:date>" not in text


@pytest.mark.thinned(6)
@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, make, form):
    _, first = make(tmp_path / f"a.{form}", form)
    _, second = make(tmp_path / f"b.{form}", form)
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_numbers_lie_beside_the_figure(tmp_path, make):
    drawn, files = make(tmp_path / "a.pdf", "pdf", paired_to="Local")
    assert [path.name for path in files] == ["a.pdf", "a.csv", "a.md"]
    with files[1].open() as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == len(drawn.rows) == 12
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in drawn.rows]
    table = files[2].read_text()
    assert "| KD-PDFL | Test accuracy, difference to Local [pp] | 600 | +" in table
    assert table.endswith("differences paired by node; ±: standard deviation over nodes\n")


@pytest.mark.thinned(6)
@pytest.mark.parametrize("width", [2.5, 3.5, 7.16])
def test_nothing_is_cut_off_and_text_is_readable(make, tmp_path, width):
    drawn, _ = make(tmp_path / "a.png", "png", width, paired_to="Local")
    figure = drawn.figure
    renderer = figure.canvas.get_renderer()
    whole = figure.bbox
    for panel in figure.axes:
        box = panel.get_tightbbox(renderer)
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1 + 4
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1 + 4
        sizes = [t.get_fontsize() for t in (*panel.get_xticklabels(), panel.xaxis.label)]
        assert min(sizes) >= 7
    box = figure.legends[0].get_window_extent(renderer)
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert not any(box.overlaps(p.get_tightbbox(renderer)) for p in figure.axes)


def test_long_labels_go_over_two_lines():
    assert axes.wrapped_once("Short [s]") == "Short [s]"
    assert axes.wrapped_once("Test accuracy, all classes, malicious [%]").count("\n") == 1
