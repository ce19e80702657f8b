"""The script behind README's collaboration graphs, on invented runs."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from netsim.recording import summary
from netsim.recording.recorder import Recorder

SCRIPT = Path(__file__).parents[2] / "papers/collaboration_graphs.py"


def write(folder, to_pair, accuracy):
    """Nodes 0 and 2 have one class, 1 and 3 another; 3 is malicious, 4 a server without data."""
    recorder = Recorder(folder)
    counts = [[4, 0], [0, 4], [4, 0], [0, 4], [0, 0]]
    recorder.nodes(
        {
            "node": list(range(5)),
            "class_counts": counts,
            "malicious": [False, False, False, True, False],
        }
    )
    for node in range(4):
        recorder.metric(10, node, "accuracy", "mixed", accuracy, 1, 0, 0.0)
        for peer in range(4):
            weight = 0.4 if peer == node else to_pair if (node - peer) % 2 == 0 else 0.1
            recorder.graph(10, node, peer, weight)
    extra = {"name": "made", "algorithm": folder.name, "nodes": 5, **recorder.close()}
    summary.write(folder, extra)
    return folder


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_the_table_is_over_seeds_and_shows_what_equal_weights_give(tmp_path, monkeypatch, capsys):
    first = write(tmp_path / "seed-0/gossip", 0.2, 0.5)
    write(tmp_path / "seed-1/gossip", 0.4, 0.7)
    write(tmp_path / "seed-1/other", 0.4, 0.9)
    run(monkeypatch, tmp_path / "out.png", first)
    head, _, row = capsys.readouterr().out.strip().split("\n")
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    # benign nodes 0, 1, 2: 0.2 of 0.4 to the own kind, then 0.4 of 0.6; equal weights: one of three
    std = np.std([0.5, 2 / 3], ddof=1)
    assert cells["weight_on_same_task"] == f"{(0.5 + 2 / 3) / 2:.3f} ± {std:.3f} (0.333)"
    # node 3 gets 0.1 of 0.4 from 0 and 2, 0.2 of 0.4 from 1; then 0.1 and 0.4 of 0.6
    on_bad = [(0.25 + 0.5 + 0.25) / 3, (1 / 6 + 2 / 3 + 1 / 6) / 3]
    spread = f"{np.mean(on_bad):.3f} ± {np.std(on_bad, ddof=1):.3f}"
    assert cells["weight_on_malicious"] == f"{spread} (0.333)"
    assert cells["accuracy % |"] == f"60.0 ± {np.std([50, 70], ddof=1):.1f} |"
    assert cells["seeds"] == "2"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("panels", [1, 5])
def test_the_figure_has_a_panel_a_run(tmp_path, monkeypatch, panels):
    runs = [write(tmp_path / f"seed-0/a{k}", 0.2, 0.5) for k in range(panels)]
    run(monkeypatch, tmp_path / "out.png", *runs)
    height, width, _ = imread(tmp_path / "out.png").shape
    rows, columns = -(-panels // 4), min(panels, 4)
    assert width / height == pytest.approx(2.7 * columns / (2.75 * rows), rel=0.02)
