"""Limits and figures of docs/formats.md and docs/run_folder.md are those of the readers."""

import re
from pathlib import Path

import pytest

from netsim.data import files
from netsim.export.formats import ns3_fad, per_table
from netsim.recording import run_folder
from netsim.traces import bounded, bounded_tables, bounded_toml, geodesy, sumo_fcd

DOCS = Path(__file__).resolve().parents[1] / "docs"
MIB, GIB = 1 << 20, 1 << 30


@pytest.fixture(scope="module")
def limits():
    """The table of limits: numbers of each row, by its first words."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", (DOCS / "formats.md").read_text(), re.M)
    first = [cell for cell, _ in rows].index("file")
    numbers = {}
    for cell, text in rows[first + 1 :]:
        found = re.findall(r"(\d[\d,.]*)( [KMG]iB| million)?", text)
        if not found:
            break
        scale = {"": 1, " MiB": MIB, " GiB": GIB, " million": 1e6}
        numbers[cell] = [float(n.rstrip(",.").replace(",", "")) * scale[u] for n, u in found]
    return numbers


def test_the_limits_of_files_are_those_of_their_readers(limits):
    assert limits == {
        "a scenario": [
            bounded_toml.MOST_FILE_BYTES, bounded_toml.MOST_KEYS, bounded_toml.MOST_LEVELS,
        ],
        "a text, unpacked": [bounded.MOST_TEXT_BYTES, bounded.MOST_LINES, bounded.MOST_WORDS],
        "SUMO's, which is read piece by piece": [sumo_fcd._MOST_BYTES, bounded.MOST_RATIO],
        "arrays (`.npz`, `.mat`), CSV of a data set": [bounded.MOST_BYTES],
        "a table in memory (Parquet, CSV, JSON lines)": [
            bounded_tables.MOST_TABLE_BYTES, bounded_tables.MOST_COLUMNS,
        ],
        "an image that is scaled down": [pytest.approx(files._MOST_PIXELS, rel=0.005)],
    }  # fmt: skip


def test_figures_in_sentences_are_those_of_the_code():
    formats = " ".join((DOCS / "formats.md").read_text().split())
    folder = " ".join((DOCS / "run_folder.md").read_text().split())
    km = f"{geodesy.FARTHEST_M / 1e3:g} km"
    step_db = per_table._SNR_DB[1] - per_table._SNR_DB[0]
    first_s = ns3_fad._MOST * ns3_fad._SAMPLE_NS / 1e9
    for text in (
        f"a sphere of {geodesy.EARTH_M:,} m",
        f"within {km} of it",
        f"steps of {step_db:g} dB",
        f"in samples of {ns3_fad._SAMPLE_NS / 1e6:g} ms, of the first {first_s:g} s",
    ):
        assert text in formats
    assert run_folder.MOST_GROWTH == 100
    assert f"a table may take {run_folder.MOST_BYTES >> 20} MiB or a hundred times what" in folder
