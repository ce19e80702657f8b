"""The live page in a real browser: what is new comes by itself, what its user has set stays."""

import json

import pytest

from netsim.results.live.pages import Pages
from netsim.results.live.server import Server
from netsim.results.played import folders
from netsim.results.report import run_page
from netsim.results.report.html import pieces

RUNNING = {"state": "running"}


class InProcess:
    """Maker of the numbers of a page without another process."""

    builds = 0

    def start(self):
        pass

    def build(self, top):
        self.builds += 1
        content = run_page.content(folders(top), lambda f: run_page.gather(f, is_live=True))
        return json.dumps(pieces(content)).encode(), 0.01

    def close(self):
        pass


@pytest.fixture
def watched(browser, tmp_path, write_run):
    """A page that is open, and what it shows."""
    state = {
        "doing": "", "algorithms": 2, "algorithm": "dpsgd", "place": 1, "virtual_s": 4.0,
        "horizon_s": 10.0, "wall_s": 8.0, "ended": "", "failed": False,
    }  # fmt: skip
    pages = Pages(InProcess(), lambda: state, every_s=0.2)
    server = Server(pages.answers())
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    yield page, pages, state
    page.close()
    server.close()
    assert said == []
    assert all(url.startswith((server.address, "data:", "blob:")) for url in asked)


def shown(page, text: str) -> None:
    """Wait until the page says something; Playwright's own way needs `eval`."""
    for _ in range(200):
        if page.evaluate("text => document.body.innerText.includes(text)", text):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the page never says {text!r}: {page.inner_text('.live')}")


@pytest.mark.slow
def test_it_waits_shows_what_is_new_and_ends(watched, tmp_path, write_run):
    page, pages, state = watched
    shown(page, "dpsgd at 4 of 10 s of virtual time (40 %) · algorithm 1 of 2 · 8 s so far")
    assert page.locator("main section").count() == 0  # nothing has been written
    pages.top = tmp_path / "out"
    write_run(pages.top / "dpsgd", summary=False, state=RUNNING)
    page.wait_for_selector("section#curves[data-drawn]", timeout=20000)
    assert page.locator(".notice").count() == 0
    assert page.locator("h1").inner_text() == "tiny · dpsgd"
    page.get_by_role("radio", name="steps").check()
    page.locator("section#nodes").scroll_into_view_if_needed()
    page.wait_for_selector("section#nodes[data-drawn]")
    page.locator("section#nodes th button", has_text="training samples").click()
    page.locator("section#nodes td button").nth(1).click()
    page.wait_for_timeout(300)
    at = page.locator("section#nodes").bounding_box()["y"]
    assert page.evaluate("scrollY") > 0

    write_run(pages.top / "dpsgd")
    write_run(pages.top / "local", algorithm="local", summary=False, state=RUNNING)
    page.wait_for_selector("#run-choice:not([hidden])", timeout=20000)
    page.wait_for_timeout(300)
    assert page.locator("#run option").all_inner_texts() == ["all, compared", "dpsgd", "local"]
    assert page.evaluate("document.getElementById('run').selectedOptions[0].text") == "dpsgd"
    assert page.locator("section#nodes").bounding_box()["y"] == pytest.approx(at, abs=20)
    page.evaluate("report.drawAll()")
    assert page.get_by_role("radio", name="steps").is_checked()
    assert "Local steps" in page.locator("#curves .chart").get_attribute("aria-label")
    head = page.locator("section#nodes th", has_text="training samples")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.locator("section#nodes tr.picked").count() == 1

    state |= {"ended": "The run has ended.", "virtual_s": 10.0}
    pages.end(wait_s=10)
    shown(page, "The run has ended.")
    assert page.get_by_role("button", name="Hold still").count() == 0


@pytest.mark.slow
def test_it_can_be_held_still(watched, tmp_path, write_run):
    page, pages, _ = watched
    pages.top = tmp_path / "out"
    write_run(pages.top, summary=False, state=RUNNING)
    page.wait_for_selector("section#curves[data-drawn]", timeout=20000)
    page.get_by_role("button", name="Hold still").click()
    before = pages._builder.builds
    write_run(pages.top)
    page.wait_for_timeout(4500)
    assert pages._builder.builds == before
    page.get_by_role("button", name="Hold still").click()
    shown(page, "wall time")
    assert pages._builder.builds == before + 1


@pytest.mark.slow
def test_it_says_when_its_run_is_gone(watched, tmp_path, write_run, monkeypatch):
    page, pages, _ = watched
    pages.top = tmp_path / "out"
    write_run(pages.top, summary=False, state=RUNNING)
    page.wait_for_selector("section#curves[data-drawn]", timeout=20000)
    page.route("**/state", lambda route: route.fulfill(status=204, body=""))  # not JSON
    shown(page, "The run's process no longer answers")
    assert page.locator("section#curves").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(watched, tmp_path, write_run, theme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    page, pages, _ = watched
    page.emulate_media(color_scheme=theme)
    pages.top = tmp_path / "out"
    write_run(pages.top, summary=False, state=RUNNING)
    page.wait_for_selector("section#curves[data-drawn]", timeout=20000)
    page.evaluate("report.drawAll()")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
