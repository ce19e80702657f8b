"""Networks from files at the command line: what is refused, what is warned of, where files lie."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import html
import json

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def outside(tmp_path):
    """A folder beside the working one, for files of the user."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("text", "sets", "says"),
    [
        ("trace,time_s,mbps\na,0,-3\n", ["link.trace.uplink=FILE"], '[link.trace] uplink = "FILE": line 2: mbps, a capacity, must be a number of at least 0, and is "-3"'),
        ("0 1\n1 7\n", ["topology.kind=file", "topology.path=FILE"], '[topology] path = "FILE": line 2: node 7 is unknown: [nodes] count = 4, and the ids are node numbers from 0 to 3 where not all appear'),
        ("0 1\n1 0\n", ["link.latency_matrix={path = 'FILE', unit = 'ms'}"], '[link.latency_matrix] path = "FILE": has 2 hosts, [nodes] count = 4; lower the count'),
        ("20 1 1\n", ["topology.kind=contacts", "topology.path=FILE"], '[topology] path = "FILE": line 1: "1" is in contact with itself; take the line out'),
        ("a b\n", ["link.backbone.path=FILE", "link.backbone.routers=['a']"], '[link.backbone] path = "FILE": routers: 1 are listed for 4 nodes; list one a node'),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_and_nothing_written(netsim, written, outside, text, sets, says):
    path = outside / "f.txt"
    path.write_text(text)
    arguments = [word for one in sets for word in ("--set", one.replace("FILE", str(path)))]
    result = netsim("run", "s.toml", *arguments)
    assert result.exit_code == 2, result.output
    assert written() == set()
    assert result.stderr.splitlines() == ["s.toml: " + says.replace("FILE", str(path))]


@pytest.mark.slow
def test_a_missing_file_is_looked_for_below_the_data_folder(netsim, written, outside):
    arguments = ["--set", "topology.kind=file", "--set", "topology.path=graphs/g.txt"]
    result = netsim("run", "s.toml", *arguments, "--data", str(outside))
    assert result.exit_code == 2
    assert f"no such file; looked for graphs/g.txt, {outside}/graphs/g.txt" in result.stderr
    assert written() == set()
    (outside / "graphs").mkdir()
    (outside / "graphs" / "g.txt").write_text("0 1\n2 3\n")
    result = netsim("run", "s.toml", *arguments, "--data", str(outside))
    assert result.exit_code == 0, result.output
    assert "the topology is not connected: 2 components, the largest of 2 of 4" in result.stderr


@pytest.mark.slow
def test_a_file_beside_the_scenario_is_found_from_anywhere(netsim, here, outside, monkeypatch):
    scenario = (here / "s.toml").read_text() + '[topology]\nkind = "file"\npath = "g.txt"\n'
    (outside / "own.toml").write_text(scenario)
    (outside / "g.txt").write_text("0 1\n1 2\n2 3\n")
    result = netsim("run", str(outside / "own.toml"), "--out", "out")
    assert result.exit_code == 0, result.output
    assert f'path = "{outside}/g.txt"' in (here / "out" / "scenario.toml").read_text()
    assert "not connected" not in result.stderr


@pytest.mark.slow
def test_what_the_links_assume_is_told_once(netsim, here):
    text = (here / "s.toml").read_text().replace("[nodes]", '[nodes]\nplacement = "disc"')
    radio = '[radio]\ntx_power_dbm = 20.0\n[radio.path_loss]\nkind = "umi"\n'
    (here / "streets.toml").write_text(text + radio)
    result = netsim("run", "streets.toml", "--out", "out")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("between two devices it is an extrapolation") == 1


OWN = """
[topology]
kind = "file"
path = "nets/ring.txt"
[[nodes.groups]]
name = "few"
count = 2
churn = { kind = "trace", path = "nets/on.csv" }
[sweep.over]
"topology.path" = ["nets/ring.txt", "nets/path.txt"]
churn = [{ kind = "none" }, { kind = "trace", path = "nets/on.csv" }]
"""


@pytest.fixture
def nets(outside):
    """Files that a scenario may name, below a folder that is not the working one."""
    (outside / "nets").mkdir()
    (outside / "nets" / "ring.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    (outside / "nets" / "path.txt").write_text("0 1\n1 2\n2 3\n")
    (outside / "nets" / "on.csv").write_text("node,on_s,off_s\n0,1,3\n")
    return outside / "nets"


@pytest.mark.slow
def test_every_file_beside_the_scenario_is_found_from_anywhere(netsim, here, outside, nets):
    (outside / "own.toml").write_text((here / "s.toml").read_text() + OWN)
    result = netsim("sweep", str(outside / "own.toml"), "--jobs", "1", "--out", "out", "-q")
    assert result.exit_code == 0, result.output
    points = sorted(p.name for p in (here / "out").iterdir() if p.is_dir())
    assert points == [
        "path=nets_path.txt,churn=none", "path=nets_path.txt,churn=trace",
        "path=nets_ring.txt,churn=none", "path=nets_ring.txt,churn=trace",
    ]  # fmt: skip
    written = (here / "out" / points[0] / "seed-0" / "alone" / "scenario.toml").read_text()
    for name in ("path.txt", "on.csv"):
        assert f'path = "{nets}/{name}"' in written


@pytest.mark.slow
def test_files_on_the_command_line_lie_where_it_was_typed(netsim, here, nets, monkeypatch):
    nets.rename(here / "nets")
    how = ("--set", "topology.kind=file", "--set", "topology.path=nets/ring.txt")
    over = ("--over", "topology.path=nets/ring.txt,nets/path.txt")
    result = netsim("sweep", "s.toml", *how, *over, "--out", "out", "--jobs", "1", "-q")
    assert result.exit_code == 0, result.output
    monkeypatch.chdir(nets.parent)
    again = str(here / "out" / "path=nets_ring.txt" / "seed-0" / "alone" / "scenario.toml")
    own = ("--algorithms", str(here / "algorithms"))
    result = netsim("run", again, "--out", "again", *own, algorithms=False)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("path", ["x" * 300, "~nobody-here/x", "a\\u0000b"])
def test_a_path_that_no_file_has(netsim, written, path):
    sets = ("--set", "topology.kind=file", "--set", f'topology.path="{path}"')
    result = netsim("run", "s.toml", *sets)
    assert result.exit_code == 2, result.output
    assert "no such file" in result.stderr
    assert written() == set()


MOVES = ["nodes.placement=disc", "radio={}", "mobility.kind=trace", "mobility.path=FILE"]
HARDLY = "has no row for 0 s of the run's 4 s"


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("text", "sets", "says"),
    [
        ("node,t_s,x_m,y_m\nb,1e9,0,0\na,1e9,9,0\na,1000000009,0,0\n", [*MOVES, "mobility.start_s=0"], [HARDLY]),
        ("node,t_s,x_m,y_m\nb,1e9,0,0\na,1e9,9,0\na,1000000009,0,0\n", MOVES, []),
        ("node,t_s,x_m,y_m\nb,2,0,0\na,2,9,0\na,9,0,0\n", MOVES, ["its first row, at 2 s, is played when the run begins"]),
        ("node,t_s,x_m,y_m\n0,0,0,0\n1,0,9,0\n1,9,0,0\n7,0,1,1\n", MOVES, ['left aside are the nodes "7"']),
        ("0 7 8\n20 7 9\n20 9 4\n", ["topology.kind=contacts", "topology.path=FILE", "topology.start_s=-99"], [HARDLY]),
        ("0 CONN 7 8 up\n5 CONN 7 8 down\n9 CONN 9 4 up\n9 CONN 9 4 down\n12 CONN 9 4 up\n15 CONN 9 4 down\n",
         ["topology.kind=contacts", "topology.path=FILE"], ["left aside are 1 contacts that last for no time"]),
    ],
)  # fmt: skip
def test_what_of_a_file_is_hardly_played_is_told_before_and_after_a_run(
    netsim, here, outside, text, sets, says
):
    path = outside / "f.txt"
    path.write_text(text)
    arguments = [word for one in sets for word in ("--set", one.replace("FILE", str(path)))]
    first = netsim("validate", "s.toml", *arguments)
    assert first.exit_code == 0, first.output
    shown = " ".join(first.stdout.split())
    result = netsim("run", "s.toml", *arguments, "--out", "out", "--no-figures")
    assert result.exit_code == 0, result.output
    remarks = json.loads((here / "out" / "environment.json").read_text())["assumptions"]
    page = (here / "out" / "report.html").read_text()
    about = [one for one in remarks if one.startswith("[") and "stay where they are" not in one]
    assert len(about) == len(says)
    for part in says:
        assert part in shown
        assert part in about[0]
        assert " ".join(result.stderr.split()).count(part) == 1
        assert part.split('"')[0] in html.unescape(page)


def test_names_in_a_file_are_kept_beside_the_nodes(netsim, here, outside):
    path = outside / "f.csv"
    path.write_text("node,t_s,x_m,y_m\nbus,0,0,0\ncar,0,9,0\ncar,9,0,0\n")
    arguments = [word for one in MOVES for word in ("--set", one.replace("FILE", str(path)))]
    result = netsim("run", "s.toml", *arguments, "--out", "out", "--no-figures", "--no-report")
    assert result.exit_code == 0, result.output
    nodes = pq.read_table(here / "out" / "nodes.parquet")
    assert nodes["mobility_id"].to_pylist() == ["bus", "car", None, None]


def test_degrees_in_positions_are_refused(netsim, written):
    places = "[[9.427966, 47.5085], [9.527966, 47.5085], [9.5, 47.61211], [9.51234, 47.6]]"
    sets = ["nodes.placement=given", f"nodes.positions_m={places}", "radio={}"]
    result = netsim("validate", "s.toml", *(word for one in sets for word in ("--set", one)))
    assert result.exit_code == 2
    assert "[nodes] positions_m: its places lie within" in result.stderr
    assert "look like degrees" in result.stderr
    assert written() == set()
