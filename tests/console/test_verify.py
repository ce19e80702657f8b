"""`netsim verify` names every file, row and version that is not what it was."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.campaign import verify as verification
from netsim.campaign import verify as verifying
from netsim.recording import checksums
from netsim.recording.run_difference import first_differences
from netsim.recording.schema import TABLES

RUN = ("run", "s.toml", "--out", "out", "-q", "--no-figures")
SENDS = ("--set", "algorithm={kind='dpsgd'}")


@pytest.fixture
def run(netsim, here):
    """The folder of a run whose nodes send models over a ring that a file describes."""
    (here / "ring.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    topology = ("--set", "topology={kind='file', path='ring.txt'}")
    kept = ("--set", "metrics.keep=['head']", "--set", "metrics.weights=true")
    result = netsim(*RUN, *SENDS, *topology, *kept)
    assert result.exit_code == 0, result.output
    return here / "out"


@pytest.fixture
def verify(netsim):
    def call(*options, code):
        result = netsim("verify", "out", *options)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    return call


def test_a_disk_is_not_searched_for_runs(netsim, here, monkeypatch):
    """Folders of runs are not counted, however many: those beside them are."""
    monkeypatch.setattr(verifying, "MOST_FOLDERS", 5)
    for number in range(10):
        (here / f"runs/{number}/messages").mkdir(parents=True)
        (here / f"runs/{number}/status.json").write_text('{"state": "running"}')
        assert len(verifying.run_folders(here / "runs")) == number + 1
    for number in range(10):
        (here / f"other/{number}").mkdir(parents=True)
    result = netsim("verify", "other")
    assert result.exit_code == 2
    assert re.fullmatch(
        r"other: more than 5 folders .* name the folder of a run.*\n", result.stderr
    )


def differing(output):
    return re.findall(r"differs +(.*)", output)


def change_cell(path, column, row, change):
    """Rewrite a table with one other cell."""
    table = pq.read_table(path)
    cells = table.column(column).to_pylist()
    before, cells[row] = cells[row], change(cells[row])
    place = table.column_names.index(column)
    values = pa.array(cells, table.column(column).type)
    pq.write_table(table.set_column(place, column, values), path)
    return before, cells[row]


def test_what_a_run_has_not_recorded_is_not_called_the_same(netsim, here, verify):
    assert netsim(*RUN, "--timing-only").exit_code == 0
    output = verify(code=0)
    assert "event log, played again" in output
    assert "parameters" not in output


@pytest.mark.slow
def test_a_run_that_nobody_touched_is_the_same(run, verify):
    output = verify(code=0)
    for what in ("files of the run", "files that it was made of", "event log", "parameters"):
        assert what in output
    assert differing(output) == []
    assert "another" not in output


@pytest.mark.slow
def test_a_run_of_a_release_with_fewer_columns_is_compared_by_those(run, here):
    older, later = here / "older", here / "later"
    for folder in (older, later):
        for table in TABLES.keys() & {path.name for path in run.iterdir()}:
            shutil.copytree(run / table, folder / table)
    dropped = 0
    for table, columns in TABLES.items():
        for part in (older / table).glob("*.parquet"):
            rows = pq.read_table(part)
            gone = [c.name for c in columns if c.is_later and c.name in rows.column_names]
            pq.write_table(rows.drop_columns(gone), part)
            dropped += len(gone)
    assert dropped >= 3
    assert first_differences(older, later) == first_differences(later, older) == []
    part = older / "graph" / "part-00000.parquet"
    change_cell(part, "weight", 2, lambda weight: weight / 2)
    [found] = first_differences(older, later)
    assert (found.table, found.row, found.column) == ("graph", 2, "weight")


@pytest.mark.slow
def test_a_flipped_byte_in_any_file_is_named(run, verify):
    files = [p for p in sorted(run.rglob("*")) if p.is_file()]
    assert {p.name for p in files} >= {
        "checksums.json", "environment.json", "nodes.parquet", "scenario.toml", "status.json",
        "summary.json", "part-00000.parquet", "head.weight.npz",
    }  # fmt: skip
    draw = np.random.default_rng(0)
    for path in files:
        content = path.read_bytes()
        for _ in range(3):
            flipped = bytearray(content)
            flipped[draw.integers(len(content))] ^= 1 << int(draw.integers(8))
            path.write_bytes(flipped)
            output = verify("--no-rerun", code=1)
            found = differing(output)
            if path.name == "checksums.json":
                assert found
            else:
                assert found == [f"out/{path.relative_to(run)}: changed"]
        path.write_bytes(content)
    verify("--no-rerun", code=0)


@pytest.mark.slow
def test_missing_and_foreign_files_are_named(run, verify):
    (run / "summary.json").unlink()
    (run / "messages" / "part-00001.parquet").write_bytes(b"more")
    assert differing(verify("--no-rerun", code=1)) == [
        "out/messages/part-00001.parquet: not of the run",
        "out/summary.json: missing",
    ]


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("table", "column", "change"),
    [
        ("messages", "bits", lambda bits: bits + 8),
        ("messages", "outcome", lambda _: "outage"),
        ("wakes", "count", lambda count: count + 1),
        ("metrics", "value", lambda value: value + 1e-15),
    ],
)
def test_a_changed_row_is_found_by_playing_it_again(run, verify, table, column, change):
    """Even where somebody has written new checksums."""
    before, after = change_cell(run / table / "part-00000.parquet", column, 5, change)
    checksums.write(run)
    [line] = differing(verify(code=1))
    assert line.startswith(f"from here on: {table}: row 5 (at ")
    assert line.endswith(f"column {column}: recorded {after}, rerun {before}")


@pytest.mark.slow
def test_a_row_less_is_found(run, verify):
    path = run / "messages" / "part-00000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(0, table.num_rows - 1), path)
    checksums.write(run)
    [line] = differing(verify(code=1))
    assert f"messages: row {table.num_rows - 1} (at " in line
    assert line.endswith("there in the rerun run, missing in the recorded")


@pytest.mark.slow
def test_a_changed_array_is_found(run, verify):
    path = run / "kept" / "head.weight.npz"
    arrays = dict(np.load(path))
    arrays["node_2"] = arrays["node_2"] + 1
    np.savez(path, **arrays)
    checksums.write(run)
    assert differing(verify(code=1)) == ["kept/head.weight.npz: node_2"]


@pytest.mark.slow
def test_another_version_is_named_and_is_no_difference(run, verify, monkeypatch):
    def others(real=verification.versions):
        found = real()
        found["packages"] = found["packages"] | {"torch": "99.0"}
        return found | {"netsim_sources_sha256": "x"}

    monkeypatch.setattr(verification, "versions", others)
    output = verify(code=0)
    assert re.search(r"another +torch: .* then, 99\.0 here", output)
    assert "its modules are others" in output


@pytest.mark.slow
def test_a_changed_input_file_is_named_with_what_it_changes(run, verify, here):
    path = here / "ring.txt"
    path.write_text("0 1\n1 2\n2 3\n3 1\n")
    found = differing(verify(code=1))
    assert found[0] == f"input file {path}: changed"
    assert "event log: another one when played again" in found
    assert any(line.startswith("from here on: ") for line in found)
    path.unlink()
    assert differing(verify("--no-rerun", code=1)) == [f"input file {path}: missing"]


@pytest.mark.slow
def test_a_changed_algorithm_is_named(netsim, here, verify):
    own = here / "own"
    shutil.copytree(here / "algorithms", own)
    assert netsim(*RUN, "--algorithms", "own", algorithms=False).exit_code == 0
    source = (own / "alone.py").read_text()
    (own / "alone.py").write_text(source + "\n# changed\n")
    result = netsim("verify", "out", "--algorithms", "own", algorithms=False)
    assert result.exit_code == 1
    assert differing(result.output) == [f"algorithm {own / 'alone.py'}: changed"]


@pytest.mark.slow
def test_an_algorithm_of_ones_own_is_never_imported_by_the_name_in_a_run_folder(netsim, here):
    assert netsim(*RUN).exit_code == 0
    result = netsim("verify", "out", algorithms=False)
    assert result.exit_code == 2
    assert "need --components DIR" in result.output


@pytest.mark.slow
def test_what_lacks_components_alone_does_not_differ(netsim, here):
    (here / "two.toml").write_text(
        'extends = "s.toml"\n[[algorithm]]\nkind = "alone"\n[[algorithm]]\nkind = "alone"\n'
        'name = "eager"\nlocal_steps = 2\n'
    )
    assert netsim("run", "two.toml", "--out", "out", "-q", "--no-figures").exit_code == 0
    result = netsim("verify", "out", algorithms=False)
    assert result.exit_code == 2, result.output
    assert "need --components DIR" in result.output
    assert "differs" not in result.output
    result = netsim("verify", "out", "--no-rerun", algorithms=False)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("backend", ["auto", "native"])
@pytest.mark.slow
def test_without_a_kernel_a_run_is_played_again_otherwise_and_that_is_told(
    netsim, here, monkeypatch, backend
):
    chosen = ("--set", f"run.backend={backend!r}", "--no-report")
    assert netsim(*RUN, *SENDS, *chosen).exit_code == 0
    if 'train = "native/' not in (here / "out" / "scenario.toml").read_text():
        pytest.skip("there is no native kernel here")
    monkeypatch.setenv("NETSIM_NATIVE_LIBRARY", str(here / "none"))
    result = netsim("verify", "out")
    assert result.exit_code in (0, 1), result.output  # as bits come
    assert "takes its place" in result.output or '"auto" in its place' in result.output
    assert "event log, played again" in result.output
    again = ("run", "out/scenario.toml", "--set", "run.backend='auto'", "--out", "again")
    result = netsim(*again, "--no-report", "--no-figures")
    assert result.exit_code == 0, result.output
    assert "numbers may differ in their last bits" in " ".join(result.stderr.split())


@pytest.mark.slow
def test_a_sweep_that_nobody_touched_is_the_same_and_a_touched_one_is_not(netsim, here, verify):
    assert netsim("sweep", "s.toml", "--seeds", "0:2", "--jobs", "1", "--out", "out").exit_code == 0
    verify(code=0)
    for name in ("sweep.csv", "status.json", "scenario.toml", "base/seed-1/alone/summary.json"):
        path = here / "out" / name
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert f"out/{name}: changed" in differing(verify("--no-rerun", code=1))
        path.write_bytes(content)


@pytest.mark.slow
def test_a_timing_only_run_is_played_again_as_such(netsim, verify):
    assert netsim(*RUN, *SENDS, "--timing-only").exit_code == 0
    verify(code=0)


@pytest.mark.slow
def test_every_algorithm_below_a_folder_is_checked(netsim, here, verify):
    (here / "two.toml").write_text(
        'extends = "s.toml"\n[[algorithm]]\nkind = "alone"\n[[algorithm]]\nkind = "dpsgd"\n'
    )
    assert netsim("run", "two.toml", "--out", "out", "-q", "--no-figures").exit_code == 0
    verify(code=0)
    (here / "out" / "comparison.csv").write_text("x\n")
    status = here / "out" / "alone" / "status.json"
    status.write_text(status.read_text().replace("done", "failed"))
    output = verify("--no-rerun", code=1)
    assert differing(output) == ["out/comparison.csv: changed"]
    unfinished = "out/alone: not the folder of a finished run: it is failed"
    assert f"{unfinished}; netsim resume out/alone goes on with it" in output


@pytest.mark.slow
def test_what_is_no_finished_run_is_bad_input(run, verify, here):
    (run / "status.json").write_text('{"state": "running"}')
    assert "not the folder of a finished run: it is running" in verify(code=2)
    (run / "status.json").write_text('{"state": "interrupted"}')
    assert "it is interrupted; netsim resume out goes on with it" in verify(code=2)
    shutil.rmtree(run)
    assert "no run here or below" in verify(code=2)


@pytest.mark.slow
def test_names_in_a_run_folder_forge_no_lines(run, verify):
    environment = json.loads((run / "environment.json").read_text())
    environment["inputs"][0]["file"] = "/no such file\n  same       all"
    (run / "environment.json").write_text(json.dumps(environment))
    checksums.write(run)
    assert differing(verify("--no-rerun", code=1)) == [
        "input file /no such file   same       all: missing"
    ]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("content", ["[]", '{"sha256": 1}', '{"sha256": {"../s.toml": "x"}}'])
def test_a_list_of_checksums_of_any_content_does_no_harm(run, verify, content):
    (run / "checksums.json").write_text(content)
    [line] = differing(verify("--no-rerun", code=1))
    assert line.startswith("out/checksums.json: ")


@pytest.mark.slow
def test_environment_lists_every_input_with_size_and_checksum(run, here):
    environment = json.loads((run / "environment.json").read_text())
    [file] = environment["inputs"]
    ring = here / "ring.txt"
    assert file == {
        "file": str(ring), "bytes": ring.stat().st_size, "sha256": checksums.sha256(ring),
    }  # fmt: skip
    assert environment["algorithm"][0]["file"].endswith("algorithms/dpsgd.py")


@pytest.mark.parametrize("named", ["top", "."])
@pytest.mark.parametrize("is_sweep", [False, True])
def test_a_run_that_is_gone_is_missed(netsim, here, is_sweep, named):
    """Of a folder of several: no list of files says that it was there."""
    scenario = "seed = 0\n[[algorithm]]\nkind = 'dpsgd'\n[[algorithm]]\nkind = 'local'\n"
    scenario = scenario.replace("kind = 'dpsgd'", "kind = 'dpsgd'\nname = 'dpsgd'")
    scenario = scenario.replace("kind = 'local'", "kind = 'local'\nname = 'local'")
    points = ["loss=0.1/seed-0", "loss=0.2/seed-0"] if is_sweep else ["."]
    table = "[sweep.over]\n'link.loss' = [0.1, 0.2]\n" if is_sweep else ""
    for point in points:
        for name in ("dpsgd", "local"):
            folder = here / "top" / point / name
            folder.mkdir(parents=True)
            (folder / "status.json").write_text('{"state": "done"}')
            (folder / "summary.json").write_text("{}")
            checksums.write(folder)
    (here / "top/scenario.toml").write_text(scenario + table)
    if is_sweep:
        (here / "top/sweep.json").write_text("{}")
    checksums.write(here / "top")
    assert netsim("verify", named, "--no-rerun").exit_code == 0
    gone = f"top/{points[-1]}/local".replace("/./", "/")
    shutil.rmtree(here / gone)
    result = netsim("verify", named, "--no-rerun")
    assert result.exit_code == 1
    (told,) = differing(result.stdout)
    assert ("loss=0.2, seed 0, local" if is_sweep else f"{gone}: missing") in told


def test_of_a_sweep_what_its_runs_left_is_known_and_a_run_at_anothers_place_is_not(netsim, here):
    """A run put aside whole, and one gone on with by `netsim resume POINT/seed-0`, have lists."""
    scenario = "seed = 0\n[algorithm]\nkind = 'local'\nname = 'local'\n[link]\nloss = {loss}\n"
    for loss in (0.1, 0.2):
        run = here / f"top/loss={loss}/seed-0/local"
        run.mkdir(parents=True)
        for name, text in (
            ("status", '{"state": "done"}'),
            ("summary", "{}"),
            ("environment", "{}"),
        ):
            (run / f"{name}.json").write_text(text)
        (run / "scenario.toml").write_text(scenario.format(loss=loss))
        checksums.write(run)
    shutil.copytree(run, here / "top/loss=0.2/seed-0.unfinished-1/local")
    checksums.write(here / "top/loss=0.1/seed-0")
    table = "[sweep.over]\n'link.loss' = [0.1, 0.2]\n"
    (here / "top/scenario.toml").write_text(scenario.format(loss=0.0) + table)
    (here / "top/sweep.json").write_text("{}")
    checksums.write(here / "top")
    result = netsim("verify", "top", "--no-rerun")
    assert result.exit_code == 0, result.output
    shutil.rmtree(run)
    shutil.copytree(here / "top/loss=0.1/seed-0/local", run)
    result = netsim("verify", "top", "--no-rerun")
    assert result.exit_code == 1
    (told,) = differing(result.stdout)
    assert told.startswith("loss=0.2/seed-0/local is a run of link.loss = 0.1, and is counted as")
