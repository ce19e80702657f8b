"""Files that a world was made of are noted once they have been found, and hashed as they are."""

import gzip
import hashlib
import os

import pytest

from netsim.traces.files import read_text
from netsim.traces.input_files import InputFile, collect_files, note_files, note_read


def test_a_file_that_is_read_is_noted_packed_as_it_is(tmp_path):
    path = tmp_path / "graph.txt.gz"
    path.write_bytes(gzip.compress(b"0 1\n"))
    with collect_files() as notes:
        read_text("graph.txt.gz", tmp_path, "topology")
        read_text("graph.txt.gz", tmp_path, "topology")
    [found] = notes.hashed()
    content = path.read_bytes()
    assert found == InputFile(str(path), len(content), hashlib.sha256(content).hexdigest())


def test_nothing_is_noted_outside(tmp_path):
    (tmp_path / "x").write_text("1")
    note_files([tmp_path / "x"])
    with collect_files() as notes:
        pass
    assert notes.hashed() == ()


def test_what_was_read_before_keeps_the_checksum_of_then(tmp_path):
    path = tmp_path / "x"
    path.write_text("1")
    before = InputFile.of(path)
    path.write_text("2")
    with collect_files() as notes:
        note_read([before])
        note_files([path])
    assert notes.hashed() == (before,)


def test_a_pipe_is_not_hashed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a plain file"):
        InputFile.of(tmp_path / "pipe")
