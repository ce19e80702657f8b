"""Data sets of files, users and drift at the command line: what is refused, and the keys."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import json
import sys

import pytest

TABLE = "data={kind = 'table', path = 'F', "
SWAP = "data.drift=[{kind = 'swap_labels', "


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "train.csv").write_text("a,who,label\n1,u,0\n2,v,1\n3,u,1\n4,v,0\n")
    leaf = folder / "leaf"
    leaf.mkdir()
    (leaf / "all.json").write_text(json.dumps({"users": ["u"], "user_data": {}}))
    return folder


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([TABLE + "target = 'outcome'}"], '[data] target = "outcome": train.csv: has no such column; it has a, who, label: say which by target'),
        ([TABLE + "user = 'whom'}"], '[data] user = "whom": train.csv: has no such column; did you mean "who"?; it has a, who, label: say which by user'),
        ([TABLE + "input = 'who'}"], '[data] input = "who": train.csv: row 0: F/v: no such image file; names are relative to the data folder'),
        ([TABLE + "test = 'none/*.csv'}"], '[data] kind = "table": no file none/*.csv; looked in F; point to it with [data] path, --data DIR or NETSIM_DATA. To get it: name files by test'),
        (["data={kind = 'leaf', path = 'F/leaf'}"], "F/leaf/all.json: user u has no lists x and y in user_data"),
        ([TABLE + "user = 'who', test_fraction = 0.5, partition = {kind = 'by_user'}}"], '[data.partition] kind = "by_user": 4 nodes, but 2 users with 1 training samples or more and a test sample; take fewer nodes, or write fewer_users = "split" or "repeat"'),
        ([SWAP + "at_s = 9.0, classes = [[0, 1]]}]"], '[[data.drift]] kind = "swap_labels": at_s = 9 is not before horizon_s = 4; it would never happen'),
        ([SWAP + "at_s = 1.0, nodes = [4], classes = [[0, 1]]}]"], '[[data.drift]] kind = "swap_labels": nodes names 4, which holds no data; 4 nodes do, 0 to 3'),
    ],
)  # fmt: skip
def test_bad_data_ends_with_2_and_one_line(netsim, written, files, sets, message):
    options = [o.replace("'F'", f"'{files}'").replace("'F/", f"'{files}/") for o in sets]
    result = netsim("run", "s.toml", *[x for o in options for x in ("--set", o)])
    assert result.exit_code == 2, result.output
    assert written() == set()
    told = result.stderr.replace(str(files), "F").removeprefix("s.toml: ")
    assert told == f"{message}\n"


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ("data.drift={kind = 'move', at_s = 1.0}", ["data.drift", "list"]),
        ("data.drift=[{kind = 'mvoe', at_s = 1.0}]", ["data.drift", 'did you mean "move"']),
        ("data.drift=[{kind = 'move'}]", ["data.drift", "at_s"]),
        ("data.drift=[{kind = 'move', at_s = []}]", ["at_s", "at least 1"]),
        ("data.drift=[{kind = 'move', at_s = -1.0}]", ["at_s", "at least 0"]),
        (
            "data.drift=[{kind = 'move', at_s = 1.0, nodes = [0], fraction = 0.5}]",
            ["leave one out"],
        ),
        ("data.drift=[{kind = 'redraw', at_s = 1.0}]", ["partition"]),
    ],
)
def test_a_drift_that_is_written_wrongly_is_told_by_its_key(netsim, written, sets, said):
    result = netsim("run", "s.toml", "--set", sets)
    assert result.exit_code == 2, result.output
    assert written() == set()
    assert len(result.stderr.splitlines()) == 1
    for words in said:
        assert words in result.stderr, result.stderr


def test_the_library_of_the_hub_is_named_where_it_is_missing(netsim, written, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    result = netsim("run", "s.toml", "--set", "data={kind = 'huggingface', name = 'ylecun/mnist'}")
    assert result.exit_code == 2
    assert written() == set()
    assert "pip install 'netsim-dfl[datasets]'" in result.stderr
    assert 'kind = "table"' in result.stderr


def test_keys_of_data_are_listed(netsim):
    text = netsim("list", "data", "--keys").stdout
    for key in ("table", "leaf", "huggingface", "by_user", "swap_labels", "test_fraction"):
        assert key in text
    assert "swap_labels" in netsim("list", "data.drift", "--keys").stdout
