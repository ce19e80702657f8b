"""The collaboration graph of a small network, its numbers computed by hand."""

import json

import pandas as pd
import pytest
from matplotlib.image import imread

from netsim.recording import graph_metrics, summary
from netsim.recording.recorder import Recorder
from netsim.views.render import pictures as figures

S = 1_000_000_000
# Classes 0 and 1 | 0 and 1 | 1 and 2 | 1 and 2 | 0 and 1, malicious | no data: a server
CLASS_COUNTS = [[5, 5, 0], [1, 9, 0], [0, 2, 2], [0, 7, 1], [3, 3, 0], [0, 0, 0]]
MALICIOUS = [False, False, False, False, True, False]
WEIGHTS = {
    0: {0: 0.4, 1: 0.3, 2: 0.1, 4: 0.2},
    1: {1: 0.5, 0: 0.5},
    2: {2: 0.2, 3: 0.8, 0: 0.0},
    4: {0: 0.5, 1: 0.5},
    5: {0: 1.0},
}


def write(folder, weights=WEIGHTS, counts=CLASS_COUNTS, malicious=MALICIOUS, before=()):
    recorder = Recorder(folder)
    table = {"node": list(range(len(MALICIOUS)))}
    table |= {"class_counts": counts} if counts else {}
    table |= {"malicious": malicious} if malicious else {}
    recorder.nodes(table)
    for row in before:
        recorder.graph(S, *row)
    for node, row in weights.items():
        for peer, weight in row.items():
            recorder.graph(2 * S, node, peer, weight)
    return summary.write(folder, {"name": "made", "nodes": len(MALICIOUS), **recorder.close()})


@pytest.fixture
def block(tmp_path):
    return write(tmp_path)["graph"]


def test_sparsity_is_the_share_of_pairs_without_a_weight(block):
    """Nodes 0, 1, 2, 4 listen to 3, 1, 1, 2 of the 4 others with data: 7 of 16 pairs are used."""
    assert block["nodes"] == 4
    assert block["collaborators"] == pytest.approx(7 / 4)
    assert block["sparsity"] == pytest.approx(9 / 16)


def test_own_weight_is_over_the_nodes_that_logged_it(block):
    assert block["own_weight"] == pytest.approx((0.4 + 0.5 + 0.2) / 3)


def test_asymmetry_compares_the_two_directions_of_a_pair(block):
    """Between nodes 0, 1, 2, 4, which all logged weights:

    0-1: 0.3 and 0.5; 0-2: 0.1 and 0; 0-4: 0.2 and 0.5; 1-4: 0 and 0.5.
    Differences 0.2 + 0.1 + 0.3 + 0.5 = 1.1, sums 0.8 + 0.1 + 0.7 + 0.5 = 2.1.
    Links 0>1 1>0 0>2 0>4 4>0 4>1: two of six (0>2 and 4>1) are one-way.
    """
    assert block["asymmetry"] == pytest.approx(1.1 / 2.1)
    assert block["one_way"] == pytest.approx(2 / 6)


def test_weight_on_same_task_peers_is_a_share_of_what_benign_nodes_give_to_others(block):
    """Same task: {0, 1, 4} and {2, 3}. Node 0 gives 0.3 + 0.2 of 0.6, node 1 all, node 2 all.

    Equal weights would give them 2/4, 2/4 and 1/4.
    """
    assert block["weight_on_same_task"] == pytest.approx((0.5 / 0.6 + 1 + 1) / 3)
    assert block["same_task_peers"] == pytest.approx((0.5 + 0.5 + 0.25) / 3)


def test_weight_on_malicious_peers_is_a_share_of_what_benign_nodes_give_to_others(block):
    """Node 0 gives 0.2 of 0.6 to node 4, nodes 1 and 2 nothing; one of four others is malicious."""
    assert block["weight_on_malicious"] == pytest.approx((0.2 / 0.6) / 3)
    assert block["malicious_peers"] == pytest.approx(1 / 4)


def test_weights_by_shared_classes_are_over_all_pairs_with_and_without_a_weight(block):
    """Rows of benign nodes 0, 1, 2. Two classes shared: 0-1 0.3, 0-4 0.2, 1-0 0.5, 1-4 0, 2-3 0.8.

    One class shared: 0-2 0.1, 0-3, 1-2, 1-3, 2-0, 2-1, 2-4 0: mean 0.1 / 7, of squares 0.01 / 7.
    """
    one, two = block["by_shared_classes"]
    assert (one["shared_classes"], one["pairs"]) == (1, 7)
    assert one["mean_weight"] == pytest.approx(0.1 / 7)
    assert one["std_weight"] == pytest.approx((0.01 / 7 - (0.1 / 7) ** 2) ** 0.5)
    assert one["used"] == pytest.approx(1 / 7)
    assert (two["shared_classes"], two["pairs"]) == (2, 5)
    assert two["mean_weight"] == pytest.approx(1.8 / 5)
    assert two["used"] == pytest.approx(4 / 5)
    assert list(pd.DataFrame(block["by_shared_classes"]).shared_classes) == [1, 2]


def test_equal_weights_have_no_deviation(tmp_path):
    """Sixths are no binary numbers: the mean of their squares is not the square of their mean."""
    peers = range(5)
    found = write(tmp_path, {node: dict.fromkeys(peers, 1 / 6) for node in peers})["graph"]
    for row in found["by_shared_classes"]:
        assert row["mean_weight"] == pytest.approx(1 / 6, rel=1e-15)
        assert row["std_weight"] < 1e-15


def test_a_pair_has_the_weight_logged_last(tmp_path, block):
    earlier = write(tmp_path / "b", before=[(0, 1, 0.9), (2, 0, 0.7), (1, 0, 0.1)])["graph"]
    assert earlier == block


def test_weights_below_rounding_count_as_none(tmp_path):
    tiny = {node: {**row, 3: 1e-8} for node, row in WEIGHTS.items() if node != 2}
    tiny[2] = WEIGHTS[2]
    assert write(tmp_path)["graph"]["sparsity"] == write(tmp_path / "b", tiny)["graph"]["sparsity"]


def test_a_node_that_listens_to_nobody_has_no_share(tmp_path):
    lonely = {0: {0: 1.0, 1: 0.0, 4: 0.0}}
    found = write(tmp_path, lonely)["graph"]
    assert found["sparsity"] == 1.0
    assert found["weight_on_same_task"] is found["asymmetry"] is found["one_way"] is None


@pytest.mark.parametrize("alone", [{3: 1.0}, {3: 1.0, 0: 0.0}])
def test_a_node_that_logged_its_own_weight_alone_counts(tmp_path, alone):
    """As one that logged zeros: 7 of 20 pairs are used, by five nodes."""
    found = write(tmp_path, {**WEIGHTS, 3: alone})["graph"]
    assert found["nodes"] == 5
    assert found["collaborators"] == pytest.approx(7 / 5)
    assert found["sparsity"] == pytest.approx(13 / 20)
    assert found["own_weight"] == pytest.approx((0.4 + 0.5 + 0.2 + 1.0) / 4)
    assert found["by_shared_classes"][0]["pairs"] == 7 + 3  # 3-0, 3-1, 3-4
    assert found["one_way"] == pytest.approx(3 / 7)  # 2>3, too, which node 3 does not return


def test_a_run_in_which_nobody_heard_anybody_has_a_graph_without_links(tmp_path):
    found = write(tmp_path, {node: {node: 1.0} for node in range(5)})["graph"]
    assert (found["nodes"], found["collaborators"], found["own_weight"]) == (5, 0.0, 1.0)
    assert found["sparsity"] == 1.0


def test_what_is_unknown_is_none(tmp_path):
    found = write(tmp_path, counts=None, malicious=None)["graph"]
    assert found["nodes"] == 5  # the server too: nobody says that it has no data
    assert found["weight_on_same_task"] is found["weight_on_malicious"] is None
    assert found["by_shared_classes"] == []


def test_a_run_without_weights_has_no_graph(tmp_path):
    assert "graph" not in write(tmp_path, {})
    assert graph_metrics.load(tmp_path) is None


def test_the_written_summary_is_json(tmp_path):
    written = write(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["graph"] == written["graph"]


def test_many_sets_of_classes_are_counted_in_pieces(tmp_path, monkeypatch, block):
    monkeypatch.setattr(graph_metrics, "_ROWS_AT_ONCE", 1)
    assert write(tmp_path / "b")["graph"] == block


@pytest.mark.slow
def test_weights_by_shared_classes_are_drawn(tmp_path):
    write(tmp_path)
    made = figures.draw(tmp_path)[-1]
    assert made.name == "weights_by_shared_classes.png"
    assert imread(made).std() > 0.05  # not a blank sheet


@pytest.mark.slow
def test_without_known_classes_nothing_is_drawn_against_them(tmp_path):
    write(tmp_path, counts=None)
    assert "weights_by_shared_classes.png" not in [path.name for path in figures.draw(tmp_path)]
