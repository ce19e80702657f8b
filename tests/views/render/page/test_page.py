"""The file of a page: whole by itself, safe, and honest about what it lacks."""

import base64
import gzip
import json
import re

import pytest

from netsim.errors import ScenarioError
from netsim.recording.reader import begun_folders
from netsim.views.render.page.run_page import report


def panels_of(text: str, k: int = 0) -> dict:
    packed = re.search(rf'id="run-{k}">([^<]*)</script>', text).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def outline_of(text: str) -> dict:
    return json.loads(re.search(r'id="outline">(.*?)</script>', text, re.S).group(1))


def test_a_page_loads_nothing_from_anywhere(tmp_path, write_run):
    report([write_run(tmp_path)], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'\s>]*//""", text)
    assert not re.search(r"@import|url\((?!#)", text)
    assert "default-src 'none'" in text
    assert len(text) < 250_000
    assert set(panels_of(text)) == {
        "facts", "curves", "network", "fates", "links", "delays", "age_by_pair",
        "time_use", "nodes",
    }  # fmt: skip


def test_the_same_run_gives_the_same_bytes(tmp_path, write_run):
    folder = write_run(tmp_path / "run")
    for name in ("a.html", "b.html"):
        report([folder], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_from_files_are_text_and_nothing_else(tmp_path, write_run):
    bad = "</script><script>alert(1)</script>{{style}}<!-- data -->"
    report([write_run(tmp_path, name=bad, algorithm=bad)], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "alert(1)</script>" not in text.replace("alert(1)&lt;/script", "")
    assert outline_of(text)["runs"][0]["label"] == bad
    assert panels_of(text)["nodes"]


def test_a_run_that_failed_says_so_first(tmp_path, write_run):
    folder = write_run(
        tmp_path, summary=False,
        state={"state": "failed", "virtual_s": 7.5, "error": "node 2 at 7.5 s: no such luck"},
    )  # fmt: skip
    report([folder], folder / "report.html")
    text = (folder / "report.html").read_text()
    first = outline_of(text)["runs"][0]["notices"][0]
    assert first == "This run failed at 10 s of 10 s: node 2 at 7.5 s: no such luck"
    assert "curves" in panels_of(text)


@pytest.mark.parametrize(
    ("state", "told"), [("interrupted", "was interrupted"), ("running", "has not ended")]
)
def test_a_run_that_has_not_ended_says_so_first(tmp_path, write_run, state, told):
    folder = write_run(
        tmp_path, summary=False, messages=(), metrics=False, weights=(),
        state={"state": state, "virtual_s": 4.0},
    )  # fmt: skip
    report([folder], folder / "report.html")
    first = outline_of((folder / "report.html").read_text())["runs"][0]["notices"][0]
    assert told in first
    assert "4 s of 10 s" in first


def test_a_run_that_failed_before_anything_happened_has_a_page(tmp_path, write_run):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "status.json").write_text('{"state": "failed", "virtual_s": 0.0, "error": "oh"}')
    report([folder], folder / "report.html")
    text = (folder / "report.html").read_text()
    assert "oh" in outline_of(text)["runs"][0]["notices"][0]
    assert set(panels_of(text)) == {"facts"}


def test_algorithms_of_one_world_are_on_one_page(tmp_path, write_run):
    for name in ("dpsgd", "local"):
        write_run(tmp_path / name, algorithm=name)
    report(begun_folders(tmp_path), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert [run["label"] for run in outline_of(text)["runs"]] == ["all, compared", "dpsgd", "local"]
    lines = panels_of(text)["accuracy"]["panels"][0]["data"]["lines"]
    assert [(line["name"], line["y"]) for line in lines] == [
        ("D-PSGD", [40, 60]),
        ("Local", [40, 60]),
    ]
    numbers = panels_of(text)["compare"]["panels"][0]["data"]["columns"]
    assert numbers[1]["values"] == [60, 60]


def test_what_runs_warn_of_stands_above_their_comparison(tmp_path, write_run):
    for name in ("dpsgd", "local"):
        folder = write_run(tmp_path / name, algorithm=name)
        summary = json.loads((folder / "summary.json").read_text())
        summary["warnings"] = ["not one model was used"] if name == "dpsgd" else []
        (folder / "summary.json").write_text(json.dumps(summary))
    report(begun_folders(tmp_path), tmp_path / "report.html")
    compared, *_ = outline_of((tmp_path / "report.html").read_text())["runs"]
    assert compared["notices"] == ["dpsgd: not one model was used"]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no run here or one folder below"):
        begun_folders(tmp_path)


def test_a_table_of_another_run_is_named_and_left_out(tmp_path, write_run):
    strange = ((0.0, 1.0, 0, 10**12, "Model", "delivered", 1.0),)
    report([write_run(tmp_path, messages=strange)], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert any(
        "column dst, row 0: 1000000000000" in told
        for told in outline_of(text)["runs"][0]["notices"]
    )
    assert "curves" in panels_of(text)
