"""Pages in a real browser: no errors, controls that work, by keyboard too, in both themes."""

import json
import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageColor

from netsim.recording.reader import begun_folders
from netsim.views.gathering.comparison import SweepDesign
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.page import sweep_page
from netsim.views.render.page.run_page import report

NODES = "section#nodes tbody tr"
REACHED = (
    "[...document.querySelectorAll('a[href], button, select, input, canvas[tabindex], .chart')]"
    ".filter(e => e.type !== 'radio' && e.offsetParent)"
)


CUT_TEXTS = """
const cut = window.cutTexts = [];
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const [wide, m] = [this.measureText(text).width, this.getTransform()];
  const from = x + ({ center: -wide / 2, right: -wide, end: -wide }[this.textAlign] || 0);
  const place = (at) => [m.a * at + m.c * y + m.e, m.b * at + m.d * y + m.f];
  const { width, height } = this.canvas;
  const outside = ([px, py]) => px < -2 || px > width + 2 || py < -2 || py > height + 2;
  if (String(text).trim() && [from, from + wide].map(place).some(outside)) cut.push(String(text));
  return draw.call(this, text, x, y, ...rest);
};
"""
"""Notes every text that a canvas has no room for."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory, write_run):
    """Files of pages by name: one run, several algorithms, of which one is measured once, one that
    failed, a sweep."""
    top = tmp_path_factory.mktemp("pages")
    draws = np.random.default_rng(0)
    messages = [
        (t, t + 0.1, int(a), int(b), ("Model", "Request")[k % 2],
         ("delivered", "delivered", "outage", "busy")[k % 4], 0.2)
        for k, (t, (a, b)) in enumerate(
            zip(np.linspace(0, 9.8, 60).tolist(), [draws.permutation(3)[:2] for _ in range(60)],
                strict=True)
        )
    ]  # fmt: skip
    report([write_run(top / "one", messages=messages)], top / "one.html")
    for name in ("dpsgd", "local"):
        write_run(top / "two" / name, algorithm=name, messages=messages)
    report(begun_folders(top / "two"), top / "two.html")
    for name in ("dpsgd", "local"):
        late = write_run(top / "late" / name, algorithm=name, messages=messages)
    path = late / "metrics" / "part-00000.parquet"
    measured = pq.read_table(path, filters=[("t_s", ">", 5.0)])
    values = pa.array(np.array([0.3, 0.4, 0.5]))
    pq.write_table(measured.set_column(4, "value", values), path)
    report(begun_folders(top / "late"), top / "late.html")
    failed = write_run(
        top / "failed", summary=False, weights=(), wakes=(),
        state={"state": "failed", "virtual_s": 5.0, "error": "disk full"},
    )  # fmt: skip
    report([failed], top / "failed.html")
    values = {f"x={x}-y={y}": {"x": x, "y": y} for x in (1, 10, 100) for y in (0.1, 0.2)}
    for point in values:
        for seed in (0, 1):
            run = write_run(top / "sweep" / point / f"seed-{seed}" / "dpsgd")
            told = json.loads((run / "summary.json").read_text())
            told["accuracy"]["mean"] += 0.05 * seed
            (run / "summary.json").write_text(json.dumps(told))
    tables = SweepTables(top / "sweep", SweepDesign(values, (0, 1)))
    sweep_page.report(tables, top / "sweep.html")
    return {path.stem: path for path in top.glob("*.html")}


@pytest.fixture
def opened(browser, pages):
    """Open a page by name; at the end the console must be empty."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(name: str, theme: str = "light", width: int = 1200):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(CUT_TEXTS)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(pages[name].as_uri())
        page.wait_for_selector("html[data-ready]")
        page.evaluate("report.drawAll()")
        until(
            page, "[...document.querySelectorAll('main section')].every(s => 'drawn' in s.dataset)"
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def until(page, condition: str) -> None:
    """Wait for a condition; Playwright's own way needs `eval`, which these pages forbid."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never: {condition}")


def settled(page) -> None:
    """Wait until what was asked for has been drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page, selector: str) -> str:
    settled(page)
    return page.evaluate(f"document.querySelector('{selector}').toDataURL()")


@pytest.mark.slow
@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", ["one", "two", "failed", "sweep"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_is_drawn_without_errors(opened, name, theme):
    page = opened(name, theme)
    assert page.locator("main section").count() >= 2
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    for section in page.locator("main section").all():
        assert section.bounding_box()["height"] > 40


@pytest.mark.slow
def test_a_curve_of_one_point_is_drawn(opened):
    page = opened("late")
    colours = page.evaluate("[0, 1].map(report.colour)")
    for title in ("Accuracy over time", "Accuracy over what was transmitted"):
        section = page.locator("section", has=page.get_by_role("heading", name=title, exact=True))
        settled(page)
        charts = section.locator("canvas").evaluate_all("all => all.map(one => one.toDataURL())")
        for chart in charts:
            with Image.open(BytesIO(b64decode(chart.partition(",")[2]))) as image:
                drawn = np.asarray(image.convert("RGB")).reshape(-1, 3)
            for colour in colours:
                assert (drawn == ImageColor.getrgb(colour)).all(axis=1).sum() > 20, (title, colour)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "two", "sweep"])
@pytest.mark.parametrize("width", [390, 1200])
def test_no_text_of_a_figure_is_cut(opened, name, width):
    page = opened(name, width=width)
    settled(page)
    assert page.evaluate("[...new Set(cutTexts)]") == []


@pytest.mark.slow
def test_two_seeds_are_dots_without_intervals(opened):
    page = opened("sweep")
    first = page.locator("section#sweep figure svg").first
    assert first.locator("circle[r='4']").count() == 6
    assert first.locator("circle[r='2.5']").count() == 2 * 6
    assert first.locator("line[stroke-width='1.6']").count() == 0
    assert "dots: the two seeds" in page.locator("section#sweep .about").inner_text()
    note = page.locator("section#differences p.muted").first
    assert "dots: the two seeds; ±: half the 95 % interval" in note.inner_text()
    assert page.locator("section#differences circle[r='2.5']").count() == 2 * 5
    assert "thin lines: the two seeds" in page.locator("section#multiples").inner_text()


@pytest.mark.slow
def test_panels_of_the_same_curves_have_one_legend(opened):
    page = opened("sweep")
    assert page.locator("section#sweep figure").count() > 1
    assert page.locator("section#sweep .legend").count() == 1


@pytest.mark.slow
def test_the_slider_moves_map_graph_and_weights_together(opened):
    page = opened("one")
    before = [pixels(page, f"#{name}") for name in ("map", "graph", "heat")]
    slider = page.locator("#moment-slider")
    slider.focus()
    page.keyboard.press("Home")
    settled(page)
    shown = page.evaluate(
        "['map', 'graph', 'heat'].map(n => document.getElementById(n).dataset.moment)"
    )
    assert shown == ["0", "0", "0"]
    after = [pixels(page, f"#{name}") for name in ("map", "graph", "heat")]
    assert all(a != b for a, b in zip(before, after, strict=True))
    page.keyboard.press("End")
    assert [pixels(page, f"#{name}") for name in ("map", "graph", "heat")] == before
    assert page.locator("output").inner_text() == "10 s of 10 s"


@pytest.mark.slow
def test_the_slider_moves_the_maps_of_all_runs_together(opened):
    page = opened("two")
    until(page, "document.querySelectorAll('section#networks canvas').length === 2")
    names = page.locator("section#networks h3").all_inner_texts()
    assert names == ["dpsgd", "local"]
    before = [pixels(page, f"#map-{k}") for k in range(2)]
    page.locator("#moment-slider").focus()
    page.keyboard.press("Home")
    settled(page)
    assert page.evaluate("[0, 1].map(k => document.getElementById(`map-${k}`).dataset.moment)") == [
        "0", "0"
    ]  # fmt: skip
    assert all(pixels(page, f"#map-{k}") != one for k, one in enumerate(before))
    assert page.locator("section#networks .swatch").count() == 1  # one scale for all


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "maps"), [("one", ["map", "graph", "heat"]), ("two", ["map-0", "map-1"])]
)
def test_maps_that_nobody_has_scrolled_to_are_on_paper(opened, name, maps):
    """A browser draws no further frame between `beforeprint` and the paper."""
    page = opened(name)
    drawn = page.evaluate(
        """async (maps) => {
          await report.show(0);
          dispatchEvent(new Event("beforeprint"));
          return maps.map((id) => document.getElementById(id)).map((canvas) => canvas
            .getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean));
        }""",
        maps,
    )
    assert drawn == [True] * len(maps)


@pytest.mark.slow
def test_play_goes_on_and_stops(opened):
    page = opened("one")
    page.click("#play")
    until(page, "(v => v >= 2 && v <= 50)(document.getElementById('moment-slider').value)")
    page.click("#play")
    at = page.input_value("#moment-slider")
    page.wait_for_timeout(600)
    assert page.input_value("#moment-slider") == at


@pytest.mark.slow
def test_axes_of_the_curves_switch(opened):
    page = opened("one")
    label = page.locator("#curves .chart")
    assert "Virtual time [s]" in label.get_attribute("aria-label")
    for word, axis in (("bytes", "[MB]"), ("steps", "Local steps")):
        page.get_by_label(word, exact=True).check()
        assert axis in page.locator("#curves .chart").get_attribute("aria-label")
    assert page.get_by_label("energy", exact=True).count() == 0  # nobody spent any


@pytest.mark.slow
def test_headings_sort_the_table(opened):
    page = opened("one")

    def column():
        return [row.locator("td").nth(at).inner_text() for row in page.locator(NODES).all()]

    heads = page.locator("section#nodes th button")
    at = next(k for k, head in enumerate(heads.all()) if "training samples" in head.inner_text())
    heads.nth(at).click()
    assert column() == ["30", "20", "10"]
    heads.nth(at).focus()
    page.keyboard.press("Enter")
    assert column() == ["10", "20", "30"]
    head = page.locator("section#nodes th").nth(at)
    assert head.get_attribute("aria-sort") == "ascending"


@pytest.mark.slow
def test_a_node_is_picked_out_in_table_map_and_curves(opened):
    page = opened("one")
    before = pixels(page, "#map")
    page.locator(f"{NODES} td button").nth(1).click()
    assert pixels(page, "#map") != before
    assert page.locator("section#nodes tr.picked").count() == 1
    assert page.get_by_label("Nodes picked out").input_value() == "1"
    page.get_by_label("Nodes picked out").fill("0, 2")
    page.keyboard.press("Enter")
    assert page.locator("section#nodes tr.picked").count() == 2


@pytest.mark.slow
def test_charts_and_maps_answer_the_arrow_keys(opened):
    page = opened("one")
    page.locator("#curves .chart").focus()
    page.keyboard.press("End")
    assert "mean 60" in page.locator("#curves .readout").inner_text()
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    assert "node 0" in page.locator("#network .readout").first.inner_text()
    page.keyboard.press("Enter")
    assert page.locator("section#nodes tr.picked").count() == 1


@pytest.mark.slow
def test_everything_is_reached_by_the_tab_key(opened):
    page = opened("one")
    wanted = page.evaluate(f"{REACHED}.length")
    page.evaluate("document.activeElement.blur(); window.met = new Set()")
    for _ in range(wanted + 30):
        page.keyboard.press("Tab")
        page.evaluate("met.add(document.activeElement)")
    missed = page.evaluate(f"{REACHED}.filter(e => !met.has(e)).map(e => e.outerHTML)")
    assert missed == []


@pytest.mark.slow
def test_the_theme_can_be_chosen(opened):
    page = opened("one", "light")
    before = pixels(page, "#map")
    page.get_by_label("Theme").select_option("dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert pixels(page, "#map") != before


@pytest.mark.slow
def test_paper_is_white_and_a_wide_table_of_few_rows_is_turned(opened):
    page = opened("one", "dark")
    wide = page.locator("section#nodes .scroll table")
    rows, columns = wide.locator("tbody tr").count(), wide.locator("thead th").count()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    turned = page.locator("section#nodes .on-paper")
    assert (wide.is_visible(), turned.is_visible()) == (False, True)
    assert turned.locator("thead th").count() == rows + 1
    assert turned.locator("tbody tr").count() == columns - 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "sweep"])
def test_a_sheet_has_room_and_colours(opened, name):
    page = opened(name, width=1280)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    too_wide = "e => e.getBoundingClientRect().right > e.closest('section').clientWidth + 60"
    drawn = "[...document.querySelectorAll('canvas, svg')]"
    assert page.evaluate(f"{drawn}.filter({too_wide}).map(e => e.outerHTML.slice(0, 90))") == []
    for key in page.locator(".legend i, .swatch").all():
        assert key.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"


@pytest.mark.slow
def test_rows_of_differences_have_whole_names_on_a_phone(opened):
    page = opened("sweep", width=390)
    labels = page.locator("section#differences svg text:has(title)")
    assert labels.count() == 5
    for label in labels.all():
        shown, title = label.evaluate("e => [e.firstChild.data, e.lastChild.textContent]")
        assert shown == title
        assert label.evaluate("e => e.getBoundingClientRect().right") < 390
    size = "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    assert page.locator("section#differences svg").evaluate(size) > 0.85  # letters as large as said


@pytest.mark.slow
def test_another_algorithm_can_be_chosen(opened):
    page = opened("two")
    assert page.locator("section#accuracy").count() == 1
    page.locator("#run").select_option(label="local")
    page.wait_for_selector("section#network")
    assert page.locator("section#facts dd").first.inner_text() == "local"


@pytest.mark.slow
def test_a_failed_run_says_so_at_the_top_and_shows_what_there_is(opened):
    page = opened("failed")
    notice = page.locator("main > *").first
    assert notice.get_attribute("role") == "alert"
    assert re.search(r"This run failed at .*: disk full", notice.inner_text())
    assert page.locator("section#curves").count() == 1
    assert page.locator("#graph").count() == 0  # it logged no weights


@pytest.mark.slow
def test_measures_of_a_sweep_can_be_chosen(opened):
    page = opened("sweep")
    rows = page.locator("section#differences circle[r='4']").count()
    assert rows == 5  # six points, against the first
    page.get_by_role("radio", name="means").check()
    assert page.locator("section#differences circle[r='4']").count() == 6
    assert page.locator("section#parallel path").count() == 6
    assert page.locator("section#multiples .chart").count() == 6


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["one", "two", "failed", "sweep"])
def test_axe_finds_nothing(opened, name, theme):
    """Contrast, names of controls, headings, roles: axe-core's rules."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    found = axe.Axe().run(opened(name, theme)).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
