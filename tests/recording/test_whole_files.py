"""Files are whole or not there, under which names they are filled, and what is known of them."""

import hashlib
import os
import shutil
from types import SimpleNamespace

import pytest

from netsim.engine.checkpoints.journal import Journal
from netsim.errors import AlteredError, FolderError, ScenarioError
from netsim.recording import checksums, folder_lock
from netsim.recording.whole_files import collect_digests, write_text, write_whole, written_into


def names_while_written(path):
    found = []

    def write(file):
        found.extend(p.name for p in path.parent.iterdir() if p.name.endswith(".partial"))
        file.write(b"text")

    write_whole(path, write)
    assert path.read_bytes() == b"text"
    return found


def test_who_holds_a_folder_leaves_one_name_and_others_one_each(tmp_path):
    path = tmp_path / "file"
    (one,), (other,) = names_while_written(path), names_while_written(path)
    assert one != other
    with folder_lock.held(tmp_path):
        (tmp_path / ".file.partial").write_text("half, of a process that was killed")
        assert names_while_written(path) == [".file.partial"]
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failure_leaves_the_file_that_was_there(tmp_path):
    def write(file):
        file.write(b"half")
        raise ZeroDivisionError

    (tmp_path / "file").write_text("before")
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "file", write)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"]


def test_what_was_written_is_known_from_memory(tmp_path):
    with collect_digests(tmp_path):
        (tmp_path / "table").mkdir()
        write_text(tmp_path / "table" / "part", "rows")
        (tmp_path / "table" / "part").write_text("others")
        written = dict(written_into(tmp_path))
    assert written == {"table/part": hashlib.sha256(b"rows").hexdigest()}
    assert written_into(tmp_path) == {}


@pytest.mark.parametrize("harm", ["others", "link", "more", "a pipe's place", "all gone"])
def test_what_is_not_as_written_is_named(tmp_path, harm):
    part = tmp_path / "table" / "part"
    part.parent.mkdir()
    with collect_digests(tmp_path):
        write_text(part, "rows")
        written = dict(written_into(tmp_path))
    checksums.require_as_written(tmp_path, written)
    if harm == "others":
        part.write_text("others")
    elif harm == "link":
        shutil.move(part, tmp_path / "elsewhere")
        part.symlink_to(tmp_path / "elsewhere")
    elif harm == "more":
        part = part.with_name("part-2")
        part.symlink_to("part")
    elif harm == "all gone":
        shutil.rmtree(part.parent)
    else:
        part.unlink()
        part.mkdir()
    with pytest.raises(AlteredError) as refused:
        checksums.require_as_written(tmp_path, written)
    assert str(refused.value).startswith(f"{part}: ")


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_what_has_the_name_of_a_beginning_leads_nowhere(tmp_path, what):
    """A folder of somebody's own may have a link there, or a pipe that nobody reads."""
    kept, folder = tmp_path / "kept", tmp_path / "run"
    kept.write_text("precious")
    folder.mkdir()
    partial = folder / ".file.partial"
    with folder_lock.held(folder):
        if what == "link":
            partial.symlink_to(kept)
        else:
            os.mkfifo(partial)
        write_text(folder / "file", "new")
    assert [p.name for p in folder.iterdir()] == ["file"]
    assert (kept.read_text(), (folder / "file").read_text()) == ("precious", "new")
    assert not (folder / "file").is_symlink()


def test_no_file_takes_the_place_of_a_pipe_or_a_device(tmp_path):
    """Renamed over `/dev/null` by its owner, a file would be all that the machine has there."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(FolderError, match="is no plain file"):
        write_text(path, "text")
    assert path.is_fifo()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["figures", "messages", "point/seed-0"])
def test_a_folder_that_is_a_link_is_not_written_into(tmp_path, name):
    outside, folder = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    link = folder / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    refused = pytest.raises(ScenarioError, match="is a link to another folder")
    with refused, folder_lock.held(folder):
        pass
    assert [p.name for p in folder.iterdir()] == [name.partition("/")[0]]  # the lock is gone
    link.unlink()
    tracker = folder / "wandb"
    tracker.mkdir()
    (tracker / "latest-run").symlink_to(outside)  # as that program makes it
    with folder_lock.held(folder):
        pass


@pytest.mark.parametrize("name", ["part-00000-x.parquet", "part-00000b.parquet"])
def test_what_a_run_goes_on_from_is_known_by_name(tmp_path, name):
    """A file of somebody else's, put between the parts of a table, takes the place of none."""
    table = tmp_path / "messages"
    table.mkdir()
    for part in ("part-00000.parquet", name):
        (table / part).write_text(part)
    written = {"messages/part-00000.parquet": "0" * 64}
    checkpoint = SimpleNamespace(
        values=[], number=0, written=written, extents={"messages": SimpleNamespace(parts=1)}
    )
    aside = Journal(tmp_path).go_on(checkpoint)
    assert [p.name for p in table.iterdir()] == ["part-00000.parquet"]
    assert [p.name for p in (aside / "messages").iterdir()] == [name]
