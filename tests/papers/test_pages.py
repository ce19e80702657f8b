"""The pages of results are what the kept numbers give."""

import pytest

from .little import command, over_radio, table_files, tables

PAGES = sorted({table_files.load(name).page for name in table_files.names()})


@pytest.mark.slow
@pytest.mark.thinned(2)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_what_the_numbers_give(page):
    text = (tables.RESULTS / f"{page}.md").read_text(encoding="utf-8")
    assert text == command.page_text(page), (
        f"run: python -m papers.results page TABLE, for a table of {page}"
    )


@pytest.mark.slow
def test_the_list_of_verdicts_is_what_the_numbers_give():
    text = (tables.RESULTS / "README.md").read_text(encoding="utf-8")
    assert text == command.with_verdicts(text), "run: python -m papers.results page TABLE"


def test_the_page_over_radio_is_what_the_numbers_give():
    assert over_radio.PAGE.read_text(encoding="utf-8") == over_radio.page(), (
        "run: python -m papers.results page over_radio"
    )


def test_the_radio_page_tells_what_survives(tmp_path, monkeypatch):
    lines = [",".join(over_radio.COLUMNS)]
    for world, shift in (("rounds", 0.1), ("radio", 0.0)):
        for seed in range(3):
            for method, more in (("local", 0), ("kd_pdfl", shift), ("fedavg_stars", shift / 2)):
                lines.append(f"{method},{world},{seed},{0.5 + more + seed / 100},360,1,2,3,4")
    (tmp_path / "radio.csv").write_text("\n".join(lines))
    monkeypatch.setattr(over_radio, "CSV", tmp_path / "radio.csv")
    page = over_radio.page()
    assert "paper's baselines: in the ideal world `kd_pdfl`; over radio none." in page
    assert "`kd_pdfl`: lead over local training: ideal +10.0 ± 0.0 (holds), radio" in page
    assert "| KD-PDFL: kd_pdfl | its best: fedavg_stars | +5.0 ± 0.0 | +0.0 ± 0.0 | -5.0" in page
