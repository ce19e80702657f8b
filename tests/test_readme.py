"""Examples of README work as shown, and fit on a screen."""

import re
import tomllib
from pathlib import Path

from netsim.scenario import load

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_set_up_commands_are_there_word_for_word():
    install = "pip install .\n"
    assert f"    {install}    netsim run quickstart\n" in README
    for page in ("docs/start.md", "docs/index.md"):
        assert install in (ROOT / page).read_text(encoding="utf-8")
    assert f"pip install {PROJECT['name']}`" in README
    assert "    pip install -e '.[test]' && pytest\n" in README


def test_the_quickstart_is_a_scenario_that_ships():
    assert load("quickstart").horizon_s > 0


def test_it_fits_on_one_screen():
    assert len(README.splitlines()) <= 50


def test_its_picture_is_small_and_drawn_by_a_script():
    (name,) = re.findall(r"!\[[^\]]+\]\(docs/(\w+)\.svg\)", README)
    assert (ROOT / f"docs/{name}.svg").stat().st_size < 150_000
    assert f"({name}.svg)" in (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    assert name in (ROOT / "tools/worked_pages.py").read_text(encoding="utf-8")


def test_every_shipped_scenario_is_in_the_list():
    page = (ROOT / "docs/scenarios.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|$", page, re.MULTILINE)
    names = [name.strip("`, ") for cell, _ in rows for name in re.findall(r"`[^`]+`", cell)]
    told = " ".join(text for _, text in rows)
    for path in (ROOT / "scenarios").glob("[a-z]*.toml"):
        listed = any(re.fullmatch(name.replace("*", r"\w*"), path.stem) for name in names)
        assert listed, f"docs/scenarios.md lacks {path.stem}"
        if path.stem.startswith("small_"):
            assert path.stem.removeprefix("small_").split("_server")[0].split("_attack")[0] in told
