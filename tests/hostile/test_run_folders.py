"""A run folder is data: whatever is in it, commands read it or refuse it in words.

The fast suite breaks a few folders, the slow one more; 2,000 are played by
`python benchmarks/hostile_runs.py`, which also watches the memory.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from netsim.campaign import sweep_results
from netsim.campaign import verify as verification
from netsim.console.app import app
from netsim.recording import checksums

from .run_folders import CANARY, PAYLOADS, Readers, copied, folders, listed_anew, played_case


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return folders(tmp_path_factory.mktemp("good"))


@pytest.fixture
def readers(tmp_path):
    return Readers(tmp_path)


@pytest.fixture
def ended(good, readers, monkeypatch):
    """A copy of the run that has ended, and the folder to work in."""
    monkeypatch.chdir(readers.place)
    monkeypatch.setenv("COLUMNS", "300")
    return copied(good["ended"], readers.place)


def netsim(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert not isinstance(result.exception, Exception), result.exception
    return result


@pytest.mark.slow
@pytest.mark.thinned(3)
@pytest.mark.parametrize("number", range(3))
def test_a_broken_folder_is_read_or_refused(good, readers, number):
    _, told, wrong = played_case(readers, good, number)
    assert wrong == [], told


def test_what_goes_wrong_is_found(readers, monkeypatch):
    def crashes(*_):
        raise ZeroDivisionError

    def executes(*_):
        Path(CANARY).touch()
        sys.stdout.write("\x1b[2J")

    for wrong, found in ((crashes, ["ZeroDivisionError"]), (executes, ["controls", "a payload"])):
        monkeypatch.setattr(sweep_results, "is_sweep", wrong)
        told = readers._command(["compare", "."])
        assert all(what.startswith(word) for what, word in zip(told, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1060, 10))
def test_many_broken_folders_are_read_or_refused(good, readers, first):
    for number in range(first, first + 10):
        _, told, wrong = played_case(readers, good, number)
        assert wrong == [], (number, told)


@pytest.mark.slow
def test_nothing_is_wrong_with_good_ones(good, readers):
    for kind in ("ended", "cut"):
        wrong = readers.play(lambda kind=kind: copied(good[kind], readers.place), kind, None)
        assert wrong == []


@pytest.mark.slow
def test_ids_of_nodes_are_never_executed(ended):
    payload = f"(__import__('pathlib').Path('{CANARY}').touch() or '')"
    for path, columns in (("nodes.parquet", ["node"]), ("messages", ["src", "dst"])):
        part = ended / path if path == "nodes.parquet" else ended / path / "part-00000.parquet"
        table = pq.read_table(part)
        for column in columns:
            place = table.column_names.index(column)
            table = table.set_column(place, column, pa.array([payload] * table.num_rows))
        pq.write_table(table, part)
    listed_anew(ended)
    for words in (("explain", ended), ("explain", ended, "--node", "1"), ("report", ended)):
        result = netsim(*words)
        assert not (ended.parent / CANARY).exists()
        if words[0] == "explain":
            assert result.exit_code == 2
            told = f"{ended / 'nodes.parquet'}: column node: holds string, must hold whole numbers"
            assert result.stderr.splitlines() == [told]


@pytest.mark.slow
def test_a_folder_with_a_list_of_its_own_does_not_hide_from_verify(ended):
    inside = ended / "messages" / "sub"
    inside.mkdir()
    (inside / "checksums.json").write_text('{"sha256": {}}')
    (inside / "part-00000.parquet").write_bytes(b"anything")
    for more in ((), ("status.json",)):
        for name in more:
            (inside / name).write_text('{"state": "done"}')
        result = netsim("verify", ended, "--no-rerun")
        assert result.exit_code == 1
        assert f"differs    {inside}: not of the run" in result.stdout
    with (ended / "summary.json").open("wb") as file:
        file.truncate(5 << 30)  # reading it would take seconds
    os.mkfifo(ended / "pipe")
    (ended / "link").symlink_to("/etc/passwd")
    found = verification.verify(ended, {}, (), rerun=False).differences
    assert {f"{ended / name}: not of the run" for name in ("link", "pipe")} <= set(found)
    assert f"{ended / 'summary.json'}: changed: larger than what a run writes" in found


@pytest.mark.slow
@pytest.mark.thinned(6)
@pytest.mark.parametrize("what", ["missing", "pipe", "link", "folder", "broken"])
@pytest.mark.parametrize("name", ["status.json", "summary.json", "environment.json"])
def test_a_file_that_is_none_is_a_sentence(good, readers, name, what):
    def make():
        run = copied(good["ended"], readers.place)
        path = run / name
        path.unlink()
        if what == "pipe":
            os.mkfifo(path)
        elif what == "link":
            path.symlink_to("/etc/passwd")
        elif what == "folder":
            path.mkdir()
        elif what == "broken":
            path.write_text("{")
        return run

    for words in readers.commands(make(), "ended"):
        if words[0] in ("compare", "report", "explain", "verify", "resume"):
            make()
            assert readers._command(words) == [], words
            if words[0] == "explain" and name != "environment.json" and what != "missing":
                result = netsim(*words)
                assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
                assert f"{name}: " in result.stderr


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", [p for p in PAYLOADS if p.startswith(("=", "@"))])
def test_no_cell_of_csv_is_a_formula(ended, name):
    summary = json.loads((ended / "summary.json").read_text())
    (ended / "summary.json").write_text(json.dumps(summary | {"algorithm": name, "name": name}))
    part = ended / "messages" / "part-00000.parquet"
    table = pq.read_table(part)
    words = pa.array([name] * table.num_rows).dictionary_encode()
    pq.write_table(table.set_column(table.column_names.index("kind"), "kind", words), part)
    listed_anew(ended)
    for words in (
        ("compare", ended, "--csv", "a.csv"),
        ("export", ended, "--as", "messages-csv", "--out", "b.csv"),
        ("plot", ended, "--as", "accuracy", "--out", "c.svg", "--table"),
    ):
        assert netsim(*words).exit_code == 0
    for path in ("a.csv", "b.csv", "c.csv"):
        text = (ended.parent / path).read_text()
        assert (f"'{name[:6]}" in text) == (path != "c.csv")  # one curve is called by its band
        assert f",{name[:6]}" not in text
        assert not text.startswith(name[:6])
        assert f"\n{name[:6]}" not in text


@pytest.mark.slow
def test_names_are_text_in_pages_figures_and_tables(ended):
    name = "</script><script>alert(1)</script>[a](javascript:b)$\\frac{"
    summary = json.loads((ended / "summary.json").read_text())
    (ended / "summary.json").write_text(json.dumps(summary | {"algorithm": name, "name": name}))
    listed_anew(ended)
    assert netsim("report", ended, "--out", "p.html").exit_code == 0
    assert "<script>alert" not in (ended.parent / "p.html").read_text()
    words = ("--as", "accuracy", "--out", "c.svg", "--table")
    assert netsim("plot", ended, *words).exit_code == 0
    assert "<script>alert" not in (ended.parent / "c.svg").read_text()
    table = (ended.parent / "c.md").read_text()
    assert "<script>" not in table
    assert "](" not in table


def test_what_is_shown_is_not_what_is_computed_with(ended):
    """A folder whose name is code stands in the lines that are shown, as a text."""
    strange = ended.with_name("'+__import__('os').name+'")
    shutil.move(ended, strange)
    shown = netsim("explain", strange, "--queries").stdout
    lines = shown[shown.index("import tomllib") :].splitlines()
    (line,) = [one for one in lines if one.startswith("run, T = ")]
    assert repr(str(strange)) in line


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["summary.json", "notes.txt", "pipe", "link"])
def test_a_page_takes_the_place_of_nothing_but_a_page(ended, name):
    out = ended / name
    (ended / "notes.txt").write_text("by hand")
    os.mkfifo(ended / "pipe")
    (ended / "link").symlink_to("notes.txt")
    before = out.read_bytes() if name != "pipe" else b""
    result = netsim("report", ended, "--out", out)
    assert result.exit_code == 2
    assert f"--out {out}: is there already" in result.stderr
    assert out.is_fifo() if name == "pipe" else out.read_bytes() == before
    for _ in range(2):
        assert netsim("report", ended, "--out", ended.parent / "page.html").exit_code == 0


@pytest.mark.slow
def test_what_can_not_be_written_is_no_failed_run(ended):
    (ended.parent / "file").touch()
    result = netsim("report", ended, "--out", ended.parent / "file" / "page.html")
    assert result.exit_code in (1, 2)
    assert "the run failed" not in result.stderr


def test_an_input_is_read_no_further_than_it_was_long(ended):
    """Read a system file that never ends and has size 0, named by a folder."""
    for size, told in ((5, "changed"), (0, "changed")):
        path = ended / "environment.json"
        made = json.loads(path.read_text())
        made["inputs"] = [{"file": "/proc/kmsg", "bytes": size, "sha256": "0" * 64}]
        path.write_text(json.dumps(made))
        checksums.renew(ended, "environment.json")
        result = netsim("verify", ended, "--no-rerun")
        assert result.exit_code == 1
        if os.path.exists("/proc/kmsg") and os.access("/proc/kmsg", os.R_OK):
            assert f"input file /proc/kmsg: {told}" in result.stdout
