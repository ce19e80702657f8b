"""The live page in a real browser: it loads itself again, what its reader has set stays."""

import pytest

from netsim.campaign import live_worker

RUNNING = {"state": "running"}
EVERY_S = 3.0


def write(contents: live_worker.Contents, top, is_live: bool = True) -> None:
    """Write the page as the process beside a run does, more often."""
    live = {"words": "dpsgd (1 of 2) · 4 of 10 s · 12 s left", "share": 0.4, "every_s": EVERY_S}
    content = contents.now(is_live)
    assert live_worker.write(top, {**content, "live": live} if is_live else content) == ""


@pytest.fixture
def watched(browser, tmp_path, write_run):
    """A page that is open, the folder and the contents of its runs."""
    top = tmp_path / "out"
    write_run(top / "dpsgd", summary=False, state=RUNNING)
    contents = live_worker.Contents(top, ())
    write(contents, top)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((top / "report.html").as_uri())
    page.wait_for_selector("section#curves[data-drawn]", timeout=20000)
    yield page, top, contents
    page.close()
    assert said == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)


def held(page) -> None:
    """Press "Hold still": the page loads itself no more, or does again."""
    page.get_by_role("button", name="Hold still").evaluate("(one) => one.click()")  # no scrolling


def loaded_again(page) -> None:
    """Wait until the page has loaded itself once more, and is drawn."""
    page.evaluate("document.documentElement.dataset.before = ''")
    page.wait_for_selector("html[data-ready]:not([data-before])", timeout=20000)


@pytest.mark.slow
def test_it_shows_what_is_new_and_keeps_what_its_reader_has_set(watched, write_run):
    page, top, contents = watched
    assert "dpsgd (1 of 2) · 4 of 10 s" in page.inner_text(".live")
    assert page.locator(".notice").count() == 0
    page.get_by_role("radio", name="steps").check()
    page.locator("section#nodes").scroll_into_view_if_needed()
    page.wait_for_selector("section#nodes[data-drawn]")
    page.locator("section#nodes th button", has_text="training samples").click()
    page.locator("section#nodes td button").nth(1).click()
    at = page.locator("section#nodes").bounding_box()["y"]
    write_run(top / "dpsgd")
    write_run(top / "local", algorithm="local", summary=False, state=RUNNING)
    write(contents, top)
    loaded_again(page)
    held(page)
    assert page.locator("#run option").all_inner_texts() == ["all, compared", "dpsgd", "local"]
    assert page.evaluate("document.getElementById('run').selectedOptions[0].text") == "dpsgd"
    assert page.locator("section#nodes").bounding_box()["y"] == pytest.approx(at, abs=60)
    page.evaluate("report.drawAll()")
    assert page.get_by_role("radio", name="steps").is_checked()
    head = page.locator("section#nodes th", has_text="training samples")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.locator("section#nodes tr.picked").count() == 1
    write_run(top / "local", algorithm="local")
    held(page)
    write(contents, top, is_live=False)
    loaded_again(page)
    assert page.locator(".live").count() == 0
    assert page.evaluate("document.getElementById('run').selectedOptions[0].text") == "dpsgd"


@pytest.mark.slow
def test_it_can_be_held_still(watched):
    page, _, _ = watched
    held(page)
    page.evaluate("document.documentElement.dataset.before = ''")
    page.wait_for_timeout(4500)
    assert page.locator("html[data-before]").count() == 1
    held(page)
    page.wait_for_selector("html[data-ready]:not([data-before])", timeout=20000)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(watched, theme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    page, _, _ = watched
    held(page)
    page.emulate_media(color_scheme=theme)
    page.evaluate("report.drawAll()")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
