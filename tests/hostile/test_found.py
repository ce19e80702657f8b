"""Inputs that once hung, filled the memory, crashed or lied: each is refused in words."""

# ruff: noqa: E501 - one case a line reads better than a tidy margin

import bz2
import gzip
import io
import json
import lzma
import os
import socket
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w
from typer.testing import CliRunner

from netsim import scenario
from netsim.console.app import app
from netsim.data.files import images, read_table
from netsim.engine import runner
from netsim.errors import DataError, ScenarioError, one_line, printable
from netsim.recording import run_folder
from netsim.traces import bounded, bounded_tables
from netsim.traces.arrays import Arrays
from netsim.traces.bounded_toml import read_toml, toml_of
from netsim.traces.files import read_text
from netsim.traces.sumo_fcd import read_fcd

from . import seeds
from .inputs import guarded


@pytest.fixture(autouse=True)
def soon():
    with guarded(20.0):
        yield


@pytest.fixture
def netsim(tmp_path, monkeypatch):
    """Call the command line in an empty folder; give exit code and lines of standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("NETSIM_DATA", raising=False)

    def call(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        return result.exit_code, result.stderr.splitlines() or result.stdout.splitlines()

    return call


@pytest.fixture
def refused(tmp_path):
    """Return the reason why a good scenario of four nodes and 4 s is refused with some options."""
    path = tmp_path / "s.toml"
    path.write_text(tomli_w.dumps({**seeds.BASE, **seeds.RADIO}))

    def said(*sets):
        with pytest.raises(ScenarioError) as caught:
            scenario.load(str(path), sets)
        return str(caught.value)

    return said


# -- what would never end ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("exchange={schedule='poisson',rate_hz=1e30}", "[exchange] rate_hz = 1e+30: 1.6e+31 wake-ups of 4 nodes in horizon_s = 4; at most 1,000,000,000 are possible; lower it, or shorten horizon_s"),
        ("exchange={schedule='periodic',period_s=1e-9}", "1.6e+10 wake-ups of 4 nodes"),
        ("exchange={schedule='rounds',interval_s=1e-9}", "rounds of 4 nodes"),
        ("exchange={schedule='star',slot_s=1e-9}", "4e+09 slots in horizon_s = 4"),
        ("metrics.every_s=1e-9", "[metrics] every_s = 1e-09: 4e+09 evaluations in horizon_s = 4; at most 1,000,000 are possible; raise it"),
        ("churn={kind='exponential',mean_on_s=1e-9,mean_off_s=1.0}", "switches"),
        ("radio.fading={kind='rayleigh',coherence_s=1e-9}", "blocks of fading"),
        ("horizon_s=3.9e9", "[exchange] rate_hz = 1.0: 1.56e+10 wake-ups of 4 nodes in horizon_s = 3.9e+09"),
        ("horizon_s=1e30", "horizon_s = 1e+30: must be at most 4e+09"),
        ("mobility={kind='random_waypoint',max_m_per_s=1e300}", "must be at most 2.99792e+08"),
        ("nodes.radius_m=1e-30", "turns of 4 nodes"),
        ("run.threads=100000", "[run] threads = 100000: must be at most 1024"),
        ("model.hidden=" + str([1] * 101), "must have at most 100 entries"),
        ("sweep={trials=1000000000,draw={\"horizon_s\"={low=1,high=2}}}", "[sweep]: 1,000,000,000 runs: 1,000,000,000 points; at most 10,000 are possible; give fewer values, trials or seeds"),
    ],
)  # fmt: skip
def test_what_happens_too_often_is_counted_and_refused(refused, assignment, said):
    moving = ["mobility={kind='random_waypoint'}"] if "radius_m" in assignment else []
    assert said in refused(*moving, assignment)


def test_a_key_that_has_its_default_is_told_beside_the_horizon():
    star = {"horizon_s": 3.9e9, "exchange": {"schedule": "star"}}
    with pytest.raises(ScenarioError) as caught:
        scenario.from_dict({**seeds.BASE, **star})
    assert str(caught.value) == (
        "scenario: horizon_s = 3900000000.0: 3.9e+09 slots in horizon_s = 3.9e+09; at most "
        "1,000,000,000 are possible ([exchange] slot_s = 1.0)"
    )


def test_a_grid_of_a_billion_points_is_counted_and_not_made():
    over = {f"a{i}": list(range(10)) for i in range(9)}
    with pytest.raises(
        ScenarioError, match=r"1,000,000,000 runs: 1,000,000,000 points; at most 10"
    ):
        scenario.from_dict({**seeds.BASE, "sweep": {"over": over}})


def test_a_billion_seeds_are_not_listed(netsim):
    code, lines = netsim("sweep", "quickstart", "--seeds", "0:1000000000")
    assert (code, lines) == (
        2,
        ["--seeds 0:1000000000: has 1,000,000,000 seeds; at most 10,000 are possible"],
    )


@pytest.mark.slow
def test_a_nanosecond_is_played(netsim, tmp_path):
    assert netsim("run", "quickstart", "-q", "--timing-only", "--set", "horizon_s=1e-9")[0] == 0


def test_a_model_larger_than_memory_is_counted_and_not_made():
    given = scenario.from_dict({**seeds.BASE, "model": {"kind": "mlp", "hidden": [10**9]}})
    with pytest.raises(ScenarioError, match=r"\[model\] kind = \"mlp\": has 75,000,000,010 param"):
        runner.build(given, "s.toml")
    given = scenario.from_dict({**seeds.BASE, "model": {"kind": "mlp", "hidden": [10**18]}})
    with pytest.raises(ScenarioError, match=r"s.toml: \[model\] kind = \"mlp\": can't be built"):
        runner.build(given, "s.toml")


@pytest.mark.parametrize("probability", [1e-300, 1e-17])
def test_a_graph_that_hardly_has_a_link_is_drawn(probability):
    topology = {"kind": "erdos_renyi", "probability": probability}
    world = runner.build(scenario.from_dict({**seeds.BASE, "topology": topology}), "s.toml")
    assert not any(world.neighbours)


# -- what would fill the memory ------------------------------------------------------------------

ZEROS = bytes(1 << 20)


def gz_of_zeros(path, mebibytes):
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for _ in range(mebibytes):
            packed.write(ZEROS)
    return path


def text(path, member=None):
    return read_text(str(path), None, "topology", member=member)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", ["a.gz", "a.zip"])
def test_a_small_archive_that_unpacks_to_much(tmp_path, name):
    path = gz_of_zeros(tmp_path / name, 130)
    if name == "a.zip":
        path.unlink()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            packed.writestr("e.txt", ZEROS * 130)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="holds more than 128 MiB; cut it down to the time"):
        text(path)


def test_a_zip_that_says_less_than_it_holds(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("e.txt", b"0 1\n" * 1000)
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 4000), struct.pack("<I", 40)))
    with pytest.raises(DataError, match=r"can't be read .*CRC"):
        text(path)


def test_a_zip_packed_by_a_method_that_unpacks_to_any_size_at_once(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_BZIP2) as packed:
        packed.writestr("e.txt", "0 1\n")
    with pytest.raises(DataError, match=r"e.txt: is packed by a method .* usual one \(deflate\)"):
        text(tmp_path / "a.zip")


@pytest.mark.parametrize(("pack", "name"), [(bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_a_text_packed_otherwise_than_is_read(pack, name, tmp_path):
    (tmp_path / "e.txt").write_bytes(pack(b"0 1\n"))
    with pytest.raises(DataError, match=f"is packed by {name}; unpack it, or pack it by gzip"):
        read_text(str(tmp_path / "e.txt"), None, "topology")


def test_a_zip_of_too_many_members(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "_MOST_DIRECTORY_BYTES", 1 << 12)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for i in range(100):
            packed.writestr(f"{i}.txt", "0 1\n")
    with pytest.raises(DataError, match="its list of members takes"):
        text(tmp_path / "a.zip", member="1.txt")


def test_an_encrypted_zip(netsim, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("e.npy", "0 1\n")
    raw = bytearray(path.read_bytes())
    raw[6] |= 1  # the flag that says so, here and in the list of members
    raw[raw.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"can't be read .*encrypted"):
        text(path)
    path.rename(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"can't be read .*encrypted"):
        Arrays("radio.path_loss", str(tmp_path / "a.npz"), None).get("e")


def sparse(path, size=5 << 30):
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_sparse_files(netsim, tmp_path):
    code, lines = netsim("validate", sparse(tmp_path / "s.toml"))
    said = "is larger than 4 MiB; a scenario is a short TOML file"
    assert (code, lines) == (2, [f"{tmp_path / 's.toml'}: {said}"])
    with pytest.raises(DataError, match="holds more than 128 MiB"):
        text(sparse(tmp_path / "a.txt"))
    with pytest.raises(DataError, match="holds more than 512 MiB"):
        Arrays("radio.path_loss", str(sparse(tmp_path / "a.mat")), None)
    with pytest.raises(DataError, match="holds more than 512 MiB"):
        read_table([sparse(tmp_path / "a.csv")])
    (tmp_path / "run").mkdir()
    code, lines = netsim("compare", sparse(tmp_path / "run" / "summary.json").parent)
    assert code == 2
    assert "summary.json: holds more than 64 MiB" in lines[0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"0 1\n" * 2_600_000, "has 2,600,000 lines, at most 2,500,000 are read"),
        (b"0 1\n" + b"1 " * 16_100_000, "words, at most 16,000,000 are read"),
        ("\u2028".encode() * 2_600_000, "has 2,600,000 lines"),
    ],
    ids=["lines", "words", "unicode"],
)
def test_texts_of_too_many_pieces(tmp_path, content, said):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=said):
        text(tmp_path / "a.txt")


def test_a_parquet_of_a_few_bytes_and_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_tables, "MOST_TABLE_BYTES", 1 << 24)
    pq.write_table(pa.table({"a": np.zeros(1 << 22)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 16
    with pytest.raises(DataError, match=r"its 4,194,304 rows take 0.0312 GiB, at most 0.01562"):
        read_table([tmp_path / "a.parquet"])
    (tmp_path / "traffic").mkdir()
    (tmp_path / "a.parquet").rename(tmp_path / "traffic" / "part-00000.parquet")
    with pytest.raises(ScenarioError, match=r"has 4,194,304 rows, at most 1,000,000 are read"):
        run_folder.read(tmp_path, "traffic")


@pytest.mark.slow
def test_a_parquet_of_a_megabyte_and_200_million_rows(tmp_path):
    with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema({"a": pa.int64()})) as writer:
        for _ in range(60):
            writer.write_table(pa.table({"a": np.zeros(1 << 22, dtype=np.int64)}))
    with pytest.raises(DataError, match=r"has 251,658,240 rows, at most 100,663,296 are read"):
        read_table([tmp_path / "a.parquet"])


@pytest.mark.slow
def test_a_parquet_of_one_long_text_in_every_row(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_tables, "MOST_TABLE_BYTES", 1 << 26)
    table = pa.table({"a": pa.array(["x" * (1 << 16)] * 4000).dictionary_encode()})
    pq.write_table(table.cast(pa.schema({"a": pa.string()})), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 18
    with pytest.raises(DataError, match="its rows take more than"):
        read_table([tmp_path / "a.parquet"])


def test_a_table_of_too_many_columns(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a," * 20_000 + b"\n")
    with pytest.raises(DataError, match="has more than 10,000 columns"):
        read_table([tmp_path / "a.csv"])


@pytest.mark.parametrize(
    ("side", "rescaled", "said"),
    [
        (100_000, False, "the image in row 0 can't be decoded"),
        (100_000, True, "the image in row 0 can't be decoded"),
        (5_000, False, "row 0 is 5000 x 5000, not 28 x 28 pixels"),
        (5_000, True, "row 0 is 5000 x 5000, more than 16,777,216 pixels"),
    ],
)
def test_an_image_of_ten_billion_pixels(tmp_path, side, rescaled, said):
    png = bytearray(seeds.image())
    png[16:24] = struct.pack(">II", side, side)
    png[29:33] = struct.pack(">I", __import__("zlib").crc32(png[12:29]))
    table = pa.table({"image": [{"bytes": bytes(png), "path": None}]})
    with pytest.raises(DataError, match=said):
        images(table, "image", (1, 28, 28), tmp_path / "a.parquet", rescaled)


def test_an_image_in_a_format_that_runs_a_program(tmp_path):
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 28 28\n%%EndComments\nshowpage\n"
    table = pa.table({"image": [{"bytes": eps, "path": None}]})
    with pytest.raises(DataError, match="the image in row 0 can't be decoded"):
        images(table, "image", (1, 28, 28), tmp_path / "a.parquet")


@pytest.mark.slow
def test_a_matlab_file_whose_numbers_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "MOST_BYTES", 1 << 21)
    io_ = pytest.importorskip("scipy.io")
    io_.savemat(
        tmp_path / "a.mat", {"a": np.zeros((1000, 1000), dtype=np.uint8)}, do_compression=True
    )
    raw = (tmp_path / "a.mat").read_bytes()
    assert len(raw) < 1 << 14
    Arrays("radio.path_loss", str(tmp_path / "a.mat"), None)
    cells = np.empty((100, 100), dtype=object)
    cells[:] = 1.0
    io_.savemat(tmp_path / "b.mat", {"a": cells}, do_compression=True)
    with pytest.raises(DataError, match="its values take too much memory"):
        Arrays("radio.path_loss", str(tmp_path / "b.mat"), None)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<a>" * 300, "tags lie more than 100 deep in each other"),
        (b"<fcd-export><a " + b"x" * (5 << 20), "a tag is longer than 4 MiB"),
        (b"<a>" + b"".join(b"<b%d/>" % i for i in range(200_000)), "names of tags and keys"),
    ],
    ids=["depth", "tag", "names"],
)
def test_xml_that_a_parser_would_keep(tmp_path, content, said):
    (tmp_path / "a.xml").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_fcd(str(tmp_path / "a.xml"), None, "mobility", 5)


@pytest.mark.slow
def test_xml_of_white_space_that_unpacks_without_end(tmp_path):
    with gzip.open(tmp_path / "a.xml.gz", "wb", compresslevel=1) as packed:
        for _ in range(80):
            packed.write(b" " * (1 << 20))
    with pytest.raises(DataError, match="unpack to more than 200 times as much"):
        read_fcd(str(tmp_path / "a.xml.gz"), None, "mobility", 5)


# -- what is no file -----------------------------------------------------------------------------


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    return tmp_path / "pipe.toml"


def test_a_pipe_is_not_waited_for(netsim, pipe, tmp_path):
    said = "is a pipe; copy what is to be read into a file"
    assert netsim("validate", pipe) == (2, [f"{pipe}: {said}"])
    (tmp_path / "s.toml").write_text('extends = "pipe.toml"\n')
    assert netsim("validate", "s.toml")[0] == 2
    for table in ({"kind": "file", "path": str(pipe)}, {"kind": "contacts", "path": str(pipe)}):
        with pytest.raises(DataError, match=said):
            runner.build(scenario.from_dict({**seeds.BASE, "topology": table}), "s.toml")
    with pytest.raises(DataError, match=said):
        read_table([pipe])
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "summary.json")
    code, lines = netsim("compare", "run")
    assert (code, lines) == (2, ["run: no finished run here or one folder below (no summary.json)"])


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/stdin", "/dev/full"])
def test_a_device_is_not_read(netsim, device):
    code, lines = netsim("validate", device)
    assert code == 2
    assert "copy what is to be read into a file" in lines[0] or "no such file" in lines[0]


def test_a_socket_is_not_read(netsim, tmp_path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("s.toml" if os.getcwd() == str(tmp_path) else str(tmp_path / "s.toml"))
        assert netsim("validate", tmp_path / "s.toml")[1][0].endswith(
            "is a socket; copy what is to be read into a file"
        )


def test_what_became_a_pipe_after_it_was_looked_at(pipe, monkeypatch):
    monkeypatch.setattr(bounded, "kind_problem", lambda *_: None)
    with pytest.raises(DataError, match="a: is a pipe"):
        bounded.open_plain_file(pipe, "a")


# -- exit code 2 and words, not an internal line -------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["exchange.schedule=[]"], "[exchange] schedule = []: must be one of periodic, poisson, rounds, star, or of your own"),
        (["model.hidden=[[1], [[2]]]"], "[model] hidden.0 = [1]: must be a whole number"),
        (["seed=" + "1" * 5000], "must be a whole number"),
        ([".".join(["a"] * 1000) + "=1"], "is not a key path such as radio.gap_db"),
        (["model.hidden=" + "[" * 300 + "1" + "]" * 300], "[model] hidden = "),
        (["model.hidden=" + "[" * 5000], "[model] hidden = "),
        (["algorithm.name=comparison.csv"], '[algorithm] name = "comparison.csv": must not end in ".csv": it names a folder beside files of that kind'),
        (["seed=99999999999999999999999"], "seed = 99999999999999999999999: must be at most"),
        (["seed=\udcff"], "is not text in UTF-8"),
    ],
)  # fmt: skip
def test_options_of_any_form(refused, sets, said):
    found = refused(*sets)
    assert said in found
    assert len(found) < 2_000


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a = " + "1" * 5000, "is not valid TOML: Exceeds the limit"),
        (".".join(["a"] * 1000) + " = 1", "has a key of more than 30 parts"),
        (".".join(['"a"'] * 40) + " = 1", "has a key of more than 30 parts"),
        ("[" + " . ".join(["a"] * 500_000) + "]", "has a key of more than 30 parts"),
        ("a" * 1_000_000, "is not valid TOML"),
        ('\\"' * 500_000, "is not valid TOML"),
        ("a = " + "[" * 40 + "]" * 40, "lie more than 30 deep"),
        ("a = " + "[" * 100_000, "lie more than 30 deep"),
        ("a = " + "{b = " * 40 + "1" + "}" * 40, "lie more than 30 deep"),
        ("\n".join(f"a{i} = 1" for i in range(6000)), "has more than 5,000 keys"),
        ("a" * 300 + " = 1", f'the key "{"a" * 60}" is too long'),
        ('"a\\u001b[2J" = 1', 'the key "a\\x1b[2J" holds control characters'),
        ("\0", "is a binary file"),
    ],
    ids=range(13),
)
def test_toml_that_nobody_writes(tmp_path, content, said):
    (tmp_path / "s.toml").write_text(content)
    with pytest.raises(ScenarioError) as caught:
        read_toml(tmp_path / "s.toml", "s.toml")
    assert str(caught.value).startswith("s.toml: ")
    assert said in str(caught.value)


def test_long_lists_of_numbers_are_no_long_keys():
    assert toml_of("a = [" + "1.5, " * 1000 + "]", "s")["a"] == [1.5] * 1000


@pytest.mark.slow
def test_a_million_wrong_numbers_are_not_all_told():
    with pytest.raises(ScenarioError) as caught:
        scenario.from_dict({**seeds.BASE, "model": {"kind": "mlp", "hidden": ["x"] * 100}})
    assert len(str(caught.value).splitlines()) <= 201
    positions = [["x", "y"]] * 10_000
    with pytest.raises(ScenarioError, match="has 20,000 problems; these are the first"):
        scenario.from_dict({**seeds.BASE, "nodes": {"count": 3, "positions_m": positions}})


@pytest.mark.thinned(2)
@pytest.mark.parametrize("slots", [1, 2])
def test_an_algorithm_that_cannot_play_a_scenario_says_so_as_bad_input(netsim, tmp_path, slots):
    star = f"exchange={{schedule='star',slots_per_exchange={slots}}}"
    code, lines = netsim("run", "quickstart", "-q", "--timing-only", "--set", star)
    assert code == 2
    assert (
        lines[0].startswith("quickstart: [exchange] slots_per_exchange =")
        or "slots_per_exchange" in lines[0]
    )
    assert not list(tmp_path.iterdir())


def finished_run(folder, **changed):
    (folder / "metrics").mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({**seeds.SUMMARY, **changed}))
    (folder / "metrics" / "part-00000.parquet").write_bytes(seeds.metrics())
    return folder


def test_a_summary_with_nan(netsim, tmp_path):
    run = finished_run(tmp_path / "run", wall_s=float("nan"))
    code, lines = netsim("compare", run)
    assert (code, lines) == (
        2,
        [f"{run / 'summary.json'}: not JSON: it holds NaN, which no file of a run does"],
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"wall_s": "x"},
        {"accuracy": {"mean": [1]}},
        {"messages": 3},
        {"wall_s": 10**400},
        {"messages": {"sent": "a", "delivered": 1}},
    ],
)
def test_a_summary_of_other_things_than_numbers(netsim, tmp_path, changed):
    run = finished_run(tmp_path / "run", **changed)
    code, lines = netsim("compare", run)
    assert code == 2
    assert f"summary.json: {next(iter(changed))}" in lines[0]
    assert "must be a" in lines[0]
    assert len(lines) == 1


@pytest.mark.slow
def test_flipped_bytes_in_a_runs_metrics(netsim, tmp_path):
    run = finished_run(tmp_path / "run")
    part = run / "metrics" / "part-00000.parquet"
    for at in range(4, part.stat().st_size, 97):
        raw = bytearray(seeds.metrics())
        raw[at] ^= 0xFF
        part.write_bytes(raw)
        code, lines = netsim("compare", run, "--target", "0.2")
        assert code in (0, 2), lines


def test_a_loop_of_links(netsim, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    code, lines = netsim("compare", "a")
    assert (code, lines) == (2, ["a: no finished run here or one folder below (no summary.json)"])
    assert netsim("validate", "a")[0] == 2
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x").symlink_to(tmp_path / "runs")
    assert netsim("compare", "runs")[0] == 2


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "", ".", ".."])
def test_names_that_no_file_has(netsim, name):
    if "\0" not in name:
        assert netsim("validate", name)[0] == 2
    with pytest.raises(ScenarioError):
        scenario.load(name)
    with pytest.raises(DataError):
        read_text(name, None, "topology")


@pytest.mark.parametrize("extends", ['""', '"."', '"\\u0000"', '"' + "x" * 3000 + '"', "3", "[]"])
def test_bases_that_no_file_is(netsim, tmp_path, extends):
    (tmp_path / "s.toml").write_text(f"extends = {extends}\n")
    code, lines = netsim("validate", "s.toml")
    assert code == 2
    assert lines[0].startswith("s.toml: ")


# -- what a terminal sees ------------------------------------------------------------------------

EVIL = "a\x1b[31m\x9b2J\u202e\nok file: fine"


def test_text_from_outside_is_shown_as_python_writes_it():
    assert one_line(EVIL) == "a\\x1b[31m\\x9b2J\\u202e\\nok file: fine"
    assert printable("a\tb\n\x07") == "a\tb\n\\x07"
    assert one_line("Knoten ä 東 €") == "Knoten ä 東 €"


def hostile_everywhere(folder):
    """Files in which every name and value is hostile; the command that reads each."""
    quoted = json.dumps(EVIL)
    (folder / "key.toml").write_text(f"{quoted} = 1\n")
    (folder / "value.toml").write_text(
        f"horizon_s = {quoted}\nextends = 'quickstart'\n[exchange]\nschedule = {quoted}\n"
        f"[nodes]\nplacement = {quoted}\n[algorithm]\nkind = {quoted}\nname = {quoted}\n"
    )
    (folder / "sweep.toml").write_text(
        f"extends = 'quickstart'\n[sweep.over]\n'run.device' = [{quoted}, {quoted}]\n"
    )
    (folder / "file.toml").write_text(
        f"extends = 'quickstart'\n[topology]\nkind = 'file'\npath = {quoted}\n"
    )
    (folder / "g.graphml").write_text(
        "<graphml><graph><node id='a&#10;ok file: fine'/><node id='a&#10;ok file: fine'/>"
        "</graph></graphml>"
    )
    (folder / "graph.toml").write_text(
        "extends = 'quickstart'\n[topology]\nkind = 'file'\npath = 'g.graphml'\n"
    )
    (folder / EVIL.replace("/", "")).write_text("x = ")
    run = finished_run(folder / "run", algorithm=EVIL, name=EVIL)
    finished_run(folder / "run2" / EVIL.replace("/", ""), algorithm=EVIL)
    return [
        *[["validate", str(p.name), "--no-world"] for p in sorted(folder.glob("*.toml"))],
        ["validate", "graph.toml", "file.toml"],
        ["validate", EVIL.replace("/", "")],
        ["compare", str(run)],
        ["compare", str(run), "run2"],
        ["export", EVIL, "--as", "gains"],
        ["validate", "quickstart", "--no-world", "--set", EVIL],
        ["validate", "quickstart", "--no-world", "--set", f"seed={EVIL}"],
        ["sweep", "quickstart", "--over", EVIL],
        ["sweep", "quickstart", "--draw", EVIL, "--seeds", EVIL, "--show", EVIL],
        ["list", EVIL],
        ["run", "quickstart", "--out", EVIL, "--set", "seed=x"],
    ]


@pytest.mark.slow
def test_nothing_from_a_file_controls_the_terminal_or_forges_a_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    for command in hostile_everywhere(tmp_path):
        result = CliRunner().invoke(app, command)
        said = result.stdout + result.stderr
        assert result.exit_code in (0, 2), (command, said)
        assert printable(said) == said, (command, said)
        assert not any(line.startswith("ok file: fine") for line in said.splitlines()), command


def test_markup_in_names_is_text(netsim, tmp_path):
    run = finished_run(tmp_path / "[bold]x[/nothing]", algorithm="[red]a[/]")
    code, lines = netsim("compare", run)
    assert code == 0
    assert "[red]a[/]" in "\n".join(lines)


def test_png_bytes_as_a_scenario_and_a_scenario_as_a_run(netsim, tmp_path):
    (tmp_path / "s.toml").write_bytes(seeds.image())
    assert netsim("validate", "s.toml")[0] == 2
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_bytes(io.BytesIO(seeds.image()).read())
    assert netsim("compare", "run")[0] == 2


@pytest.mark.parametrize("score", ["[" * 100_000, "1" * 400, "1" * 5000, "1e999", "NaN", "true"])
def test_scores_of_devices_that_are_no_numbers(tmp_path, score):
    (tmp_path / "a.json").write_text(f'{{"Pixel": {score}}}')
    compute = {"kind": "devices", "path": str(tmp_path / "a.json")}
    with pytest.raises(DataError, match=r"\[compute\] path = .*a.json"):
        runner.build(scenario.from_dict({**seeds.BASE, "compute": compute}), "s.toml")
