"""Values that are written and read again are the same, to the bit and to their order in memory."""

import pytest
import torch

from netsim.engine.checkpoints import checkpoint
from netsim.engine.checkpoints.checkpoint import DamagedError, Group
from netsim.learning.refs import Cell

VALUES = [
    torch.tensor(1.5),
    torch.tensor([float("nan"), -0.0, float("inf")]),
    torch.arange(6, dtype=torch.float64).view(2, 3),
    torch.arange(6.0).view(2, 3).T,
    torch.tensor([True, False]),
    torch.tensor([1, -(2**60)]),
    torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
    torch.tensor([1 + 2j]),
    torch.empty(0),
    torch.ones(1).expand(4),
    torch.arange(10.0)[::2],
]


def cells_of(values):
    cells = []
    for number, value in enumerate(values):
        cell = Cell(None, tuple(value.shape), None, value)
        cell.number = number
        cells.append(cell)
    return cells


def test_every_value_comes_back(tmp_path):
    groups, file = checkpoint.write_cells(tmp_path / "v.cells", cells_of(VALUES))
    checkpoint.require_whole(tmp_path, file)
    checkpoint.require_sizes(file, groups)
    found = dict(checkpoint.read_cells(tmp_path, file, groups))
    assert sorted(found) == list(range(len(VALUES)))
    for number, value in enumerate(VALUES):
        assert found[number].dtype == value.dtype
        assert found[number].shape == value.shape
        assert torch.equal(found[number].nan_to_num(), value.nan_to_num())
    assert found[3].stride() == VALUES[3].stride()


def test_many_values_are_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "AT_ONCE_BYTES", 24)
    rows = [torch.full((3,), float(k)) for k in range(7)]
    groups, file = checkpoint.write_cells(tmp_path / "v.cells", cells_of(rows))
    assert [v[0].item() for _, v in checkpoint.read_cells(tmp_path, file, groups)] == list(range(7))


@pytest.mark.parametrize("harm", ["cut", "flip", "remove", "link", "longer"])
def test_a_file_that_is_not_as_it_was_is_refused(tmp_path, harm):
    _, file = checkpoint.write_cells(tmp_path / "v.cells", cells_of(VALUES))
    path = tmp_path / "v.cells"
    content = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(content[:-1])
    elif harm == "longer":
        path.write_bytes(content + b"0")
    elif harm == "flip":
        content[3] ^= 1
        path.write_bytes(content)
    else:
        path.unlink()
        if harm == "link":
            (tmp_path / "other").write_bytes(content)
            path.symlink_to(tmp_path / "other")
    with pytest.raises(DamagedError, match=r"v\.cells"):
        checkpoint.require_whole(tmp_path, file)


@pytest.mark.parametrize(
    "group",
    [
        {"dtype": "object", "shape": (1,), "strides": None},
        {"dtype": "float32", "shape": (10**15,), "strides": None},
        {"dtype": "float32", "shape": (0, 10**12, 10**12), "strides": None},
        {"dtype": "float32", "shape": (2, 2), "strides": (10**12, 1)},
        {"dtype": "float32", "shape": (2,), "strides": (1, 1)},
    ],
)
def test_sizes_that_the_file_does_not_have_are_refused_before_anything_is_read(tmp_path, group):
    rows = 0 if 0 in group["shape"] else 4
    _, file = checkpoint.write_cells(tmp_path / "v.cells", cells_of([torch.zeros(rows)]))
    with pytest.raises(DamagedError):
        checkpoint.require_sizes(file, [Group(cells=(0,), **group)])
