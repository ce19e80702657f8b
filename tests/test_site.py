"""The documentation is built as a site without warnings, and asks nothing of a network."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium")
LOADED = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//[^\"]+")
STYLES = re.compile(
    r"<link[^>]*rel=\"(?:stylesheet|preconnect|preload)\"[^>]*href=\"https?://[^\"]+"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None, reason="the extra `docs` is not installed"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built so that a link to nowhere or a page that lacks its name is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


@pytest.fixture
def page(site: Path):
    """A page of a browser; at its end nothing was asked of a network, and nothing went wrong."""
    api = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    said: list[str] = []
    with api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1300, "height": 900})
        opened.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else said.append(r.url),
        )
        yield opened
        browser.close()
    assert said == []


def test_every_document_is_a_page(site: Path):
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix(".html")
        name = name.with_name("index.html") if path.stem == "README" else name
        assert (site / name).is_file(), path
    for name in ("contributing", "changelog", "benchmarks", "examples"):
        assert (site / f"{name}.html").is_file()


def test_no_page_loads_anything_from_elsewhere(site: Path):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert LOADED.findall(text) + STYLES.findall(text) == [], path


def test_formulae_are_drawn_by_the_browser_itself(site: Path):
    text = (site / "models.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    assert article.count("<math ") > 60
    assert not re.search(r"\\[a-z(\[]|arithmatex", article)


def test_reading_from_disk_asks_no_network_and_search_works(page, site: Path):
    for name in ("index", "start", "models", "api/node", "scenario/channels"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1300
    page.locator("[data-md-component='search-query']").click()
    page.keyboard.type("rayleigh")
    page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "start.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
