"""Arrays from npz and MATLAB files: sizes are checked before anything is allocated."""

import io
import struct
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io

from netsim.errors import DataError
from netsim.traces.arrays import Arrays
from netsim.traces.matlab import BrokenError, read_matlab


def opened(path):
    return Arrays("radio.path_loss", str(path), None)


def header(shape, descr="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


def packed(path, name, content):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, content)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
def test_members_of_an_npz_are_read(tmp_path, order):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4, order=order)
    np.savez_compressed(tmp_path / "a.npz", a=a, n=np.array(3), c=1j * np.ones(2))
    arrays = opened(tmp_path / "a.npz")
    assert (arrays.get("a", ndims=(3,)) == a).all()
    assert arrays.get("n") == 3
    assert "c" in arrays
    assert (arrays.get("c", kinds="c") == 1j).all()


def test_a_header_that_asks_for_more_than_there_is_allocates_nothing(tmp_path):
    for shape in ((1 << 20, 1 << 20), (1 << 40, 1 << 40, 1 << 40), (5,)):
        path = packed(tmp_path / "a.npz", "a.npy", header(shape) + b"\0" * 16)
        with pytest.raises(DataError, match=r"member a: says shape .* and holds 16; write the"):
            opened(path).get("a")


def test_a_member_that_unpacks_to_too_much_is_refused_before(tmp_path, monkeypatch):
    monkeypatch.setattr("netsim.traces.bounded.MOST_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 18))
    with pytest.raises(DataError, match="member a: holds more than 1 MiB; cut it down"):
        opened(tmp_path / "a.npz").get("a")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (header((1,), "|O") + b"\0" * 8, "member a: holds Python objects"),
        (b"hello", "member a: is no array of NumPy"),
        (header((2,), "<U2") + b"\0" * 16, "member a: holds <U2, not numbers"),
        (header((2,)) + b"\0" * 16, r"member a: has 1 axes, shape \(2,\); it must have 2 or 3"),
    ],
)
def test_what_is_no_array_of_numbers_is_told(tmp_path, content, problem):
    path = packed(tmp_path / "a.npz", "a.npy", content)
    with pytest.raises(DataError, match=problem) as caught:
        opened(path).get("a", ndims=(2, 3))
    assert str(caught.value).startswith(f'[radio.path_loss] path = "{path}": ')


def test_what_is_missing_is_told(tmp_path):
    np.savez(tmp_path / "a.npz", gains=np.ones(2))
    with pytest.raises(DataError, match='has no member gain; it has gains; did you mean "gains"'):
        opened(tmp_path / "a.npz").get("gain")
    (tmp_path / "b.npz").write_bytes(b"PK nonsense")
    with pytest.raises(DataError, match="is no npz file"):
        opened(tmp_path / "b.npz")
    with pytest.raises(DataError, match="no such file"):
        opened(tmp_path / "c.npz")


@pytest.mark.parametrize("compressed", [False, True])
def test_members_of_a_matlab_file_are_read(tmp_path, compressed):
    cells = np.empty((2, 2), dtype=object)
    cells[:] = [[np.eye(2), {"iq": np.ones(3)}], [np.zeros((0, 0)), np.ones((1, 4)) * 1j]]
    scipy.io.savemat(
        tmp_path / "a.mat", {"m": np.eye(3), "cells": cells}, do_compression=compressed
    )
    arrays = opened(tmp_path / "a.mat")
    assert arrays.names == {"m", "cells"}
    assert (arrays.get("m") == np.eye(3)).all()
    assert arrays.get("cells", kinds="O").shape == (2, 2)


def mat(*elements):
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def element(kind, body, size=None):
    return struct.pack("<II", kind, len(body) if size is None else size) + body


def test_sizes_of_a_matlab_file_that_it_does_not_have_are_told():
    flags = element(6, struct.pack("<II", 1, 0))  # a cell matrix
    many = element(5, struct.pack("<ii", 1 << 15, 1 << 15))
    named = element(1, b"abc" + b"\0" * 5)
    inside = element(14, element(9, b"\0" * 8, 1 << 31))
    bomb = zlib.compress(element(14, b"\0" * (1 << 21)))
    for content, problem in (
        (mat(element(14, b"", 0xFFFFFFFF)), "an element says 4294967295 bytes"),
        (mat(inside), "an element says 2147483648"),
        (mat(element(15, zlib.compress(inside))), "an element says 2147483648"),
        (mat(element(14, flags + many + named)), "a matrix says 1073741824 entries"),
        (mat(element(14, flags)), "a matrix lacks a part"),
        (mat(element(15, bomb)), "it unpacks to too much"),
        (b"nonsense", "it lacks the header"),
    ):
        with pytest.raises(BrokenError, match=problem):
            read_matlab(content, 1 << 20)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_matlab_file_is_read_as_scipy_reads_it(tmp_path, compressed):
    rng = np.random.default_rng(0)
    members = {
        "doubles": rng.normal(size=(3, 4, 2)),
        "singles": rng.normal(size=(2, 5)).astype(np.float32),
        "complexes": rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)),
        "bytes": rng.integers(0, 255, (3, 1), dtype=np.uint8),
        "big": rng.integers(-(2**60), 2**60, (2, 3)),
        "wholes": np.arange(6.0).reshape(2, 3),
        "empty": np.zeros((0, 3)),
    }
    scipy.io.savemat(tmp_path / "a.mat", members, do_compression=compressed)
    found = read_matlab((tmp_path / "a.mat").read_bytes(), 1 << 20)
    theirs = scipy.io.loadmat(tmp_path / "a.mat")
    for name in members:
        assert found[name].dtype == theirs[name].dtype
        assert (found[name] == theirs[name]).all()
    many = np.array([(1.0, "x"), (2.0, "y")], dtype=[("a", "f8"), ("b", "O")])
    scipy.io.savemat(tmp_path / "b.mat", {"one": {"a": np.eye(2)}, "many": many, "text": "hello"})
    found = read_matlab((tmp_path / "b.mat").read_bytes(), 1 << 20)
    assert (found["one"]["a"] == np.eye(2)).all()
    assert [entry["a"].item() for entry in found["many"].ravel()] == [1.0, 2.0]
    assert found["text"] is None


def test_a_matlab_file_of_version_7_3_is_told_how_to_save(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(512))
    with pytest.raises(DataError, match=r"version 7.3; save it with the option '-v7'"):
        opened(tmp_path / "a.mat")
