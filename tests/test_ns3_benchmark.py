"""The runner of `benchmarks/ns3`: what it reads and compares, and what it says without ns-3."""

import importlib
import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks" / "ns3"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="an installed package has none")


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmark."""
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    for name in ("run", "_replay", "_programs", "_netsim"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path):
    about = {"name": "n", "program": "adhoc", "arguments": {"stop": 9.0}, "differs": ["a"]}
    (tmp_path / "replay.json").write_text(json.dumps(about))
    (tmp_path / "messages.txt").write_text(
        "# t_s src dst bytes t_done_s outcome\n"
        "1.0 0 1 800 1.5 delivered\n2.0 1 0 800 2.25 retries\n3.0 1 2 800 4.0 delivered\n"
    )
    return tmp_path


def test_without_ns3_it_says_so_and_does_nothing(module, monkeypatch, capsys):
    def none(name):
        raise PackageNotFoundError(name)

    run = module("run")
    monkeypatch.setattr("importlib.metadata.distribution", none)
    run.main(["dcf"])
    assert capsys.readouterr().out == (
        "skipped: ns-3 is not installed: pip install ns3==3.44.*, or name the folder of an "
        "unpacked wheel with --ns3.\n"
    )


def test_without_a_compiler_or_in_a_wrong_folder_it_says_so(module, monkeypatch, tmp_path, capsys):
    run = module("run")
    run.main(["dcf", "--ns3", str(tmp_path)])
    assert "is not an unpacked wheel of ns-3" in capsys.readouterr().out
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libns3.44-core.so").touch()
    monkeypatch.setenv("CXX", "no-such-compiler")
    run.main(["dcf", "--ns3", str(tmp_path)])
    assert capsys.readouterr().out == (
        "skipped: There is no C++ compiler (no-such-compiler); name one in CXX.\n"
    )


def test_what_a_program_prints_is_read(module):
    line = "mbps 5.36e0 got 4357 offered 0 events 1000000 cpu_s 0.25\n"
    assert module("_programs").numbers(line) == {
        "mbps": 5.36, "got": 4357, "offered": 0, "events": 1e6, "cpu_s": 0.25,
    }  # fmt: skip


def test_an_exported_run_is_read(module, folder):
    found = module("_replay").read(folder)
    assert (found.name, found.arguments, found.differs) == ("n", {"stop": 9.0}, ("a",))
    assert found.t_s.tolist() == [1.0, 2.0, 3.0]
    assert found.delay_s.tolist() == [0.5, 0.25, 1.0]
    assert found.delivered.tolist() == [True, False, True]


def test_what_is_no_export_is_told_with_its_line(module, folder):
    replay = module("_replay")
    with (folder / "messages.txt").open("a") as file:
        file.write("4.0 1 2\n")
    with pytest.raises(ValueError, match=r"messages\.txt:5: '4\.0 1 2': must be t_s src dst"):
        replay.read(folder)
    (folder / "replay.json").unlink()
    with pytest.raises(ValueError, match="not written by netsim export RUN --for ns3"):
        replay.read(folder)


def test_delays_are_compared_where_both_deliver(module, folder):
    """Messages 1 and 3 arrive in netsim, 1 and 2 in ns-3: both deliver message 1 alone."""
    replay = module("_replay")
    found = replay.side_by_side(replay.read(folder), np.array([0.75, 0.5, np.nan]))
    assert found == {
        "messages": 3.0, "same fate": pytest.approx(1 / 3),
        "netsim delivered": pytest.approx(2 / 3), "netsim mean s": 0.5, "netsim p95 s": 0.5,
        "ns-3 delivered": pytest.approx(2 / 3), "ns-3 mean s": 0.75, "ns-3 p95 s": 0.75,
        "ratio": pytest.approx(2 / 3),
    }  # fmt: skip


def test_errors_are_those_of_means(module):
    """1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14 over 3 and 4."""
    assert module("_replay").mean_se([1, 2, 3, 6]) == (3, pytest.approx((14 / 12) ** 0.5))


def test_both_sides_stand_beside_each_other(module):
    cells = [
        {"run": f"x {k}", "what": "x", "netsim mean s": k, "ns-3 mean s": 2.0, "ns-3 mean s ±": 0.5}
        for k in (1.0, 2.0)
    ]
    run = module("run")
    assert run.markdown([*cells, *run.averages(cells)]).splitlines() == [
        "| run | mean s netsim | mean s ns-3 |",
        "| --- | --- | --- |",
        "| x 1.0 | 1.000 | 2.000 ± 0.500 |",
        "| x 2.0 | 2.000 | 2.000 ± 0.500 |",
        "| x: mean of 2 | 1.500 ± 0.500 | 2.000 ± 0.000 |",
    ]


@pytest.mark.slow
def test_a_tiny_network_is_replayed(module, monkeypatch, tmp_path):
    programs, run = module("_programs"), module("run")
    try:
        programs.find()
    except programs.MissingError as missing:
        pytest.skip(str(missing))
    monkeypatch.setitem(run.ADHOC, "near", (3, 20.0, 0.2, 5.0))
    run.main(["adhoc", "near", "--seeds", "1", "--json", str(tmp_path / "found.json")])
    (cell,) = json.loads((tmp_path / "found.json").read_text())
    assert cell["netsim delivered"] == cell["ns-3 delivered"] == 1.0
    assert cell["netsim mean s"] == pytest.approx(cell["ns-3 mean s"], rel=0.05)
    assert cell["differs"] == []
