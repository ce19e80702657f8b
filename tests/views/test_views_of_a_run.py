"""Views of one run against numbers worked out by hand."""

import numpy as np
import pytest

from netsim.recording.reader import RunFolder, Words
from netsim.views import (
    age_by_pair,
    curves,
    delays,
    deliveries,
    fates,
    links,
    network,
    nodes,
    on_page,
    time_use,
    weights,
)
from netsim.views.gathering import pairs
from netsim.views.gathering.numbers import evenly, rounded_list
from netsim.views.network import spring


def table(view, run):
    """The table of a view's first panel."""
    return {name: cells.tolist() for name, cells in view.of_run(run).panels[0].table.items()}


def data(view, run):
    """The data from which a browser draws a view's own mark."""
    return view.of_run(run).panels[0].mark.data


def heights(view, run, layer, value):
    """Values by layer, in the order of the table."""
    found = {}
    rows = table(view, run)
    for word, one in zip(rows[layer], rows[value], strict=True):
        found.setdefault(word, []).append(one)
    return found


@pytest.fixture
def run(tmp_path, write_run):
    return RunFolder(write_run(tmp_path / "run"))


def test_curves_are_per_node_with_their_mean_and_costs(run):
    found = data(curves, run)["metrics"]
    assert [one["name"] for one in found] == ["accuracy"]
    assert found[0]["t_s"] == [5, 10]
    assert found[0]["values"] == [[0.2, 0.5], [0.4, 0.6], [0.6, 0.7]]
    assert found[0]["mean"] == [0.4, 0.6]
    assert found[0]["std"] == pytest.approx([np.sqrt(0.08 / 3), np.sqrt(0.02 / 3)], rel=1e-3)
    assert found[0]["axes"] == {
        "megabytes": [[1, 2], [1, 2], [1, 2]],
        "steps": [[2, 4], [0, 0], [4, 8]],
    }  # no energy: nobody spent any


def test_links_count_both_ways_of_a_pair_by_the_moment_of_their_end(run):
    found = data(network, run)["links"]
    assert list(zip(found["a"], found["b"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    moments = np.array(found["moment"]) * found["moments_each"]
    rows = list(
        zip(moments.tolist(), found["link"], found["sent"], found["delivered"], strict=True)
    )
    # 60 moments of 1/6 s: what ends at 1.0 s is in the sixth, whose number is 5
    assert rows == [(5, 0, 1, 1), (8, 0, 1, 0), (23, 0, 1, 1), (41, 2, 1, 0), (59, 1, 1, 1)]


def test_weights_are_the_last_of_a_moment_and_only_where_they_change(run):
    found = data(network, run)["weights"]
    rows = list(zip(*(found[k] for k in ("moment", "node", "peer", "weight")), strict=True))
    assert rows == [(5, 0, 1, 0.25), (6, 0, 0, 0.5), (6, 0, 1, 0.5), (35, 1, 0, 0.75)]


def test_who_is_off_is_known_at_every_moment(run):
    off = data(network, run)["off"]
    assert off[11] == [1]  # from 2 s on
    assert off[10] == []
    assert off[28] == [1]
    assert off[29] == []  # on again at 5 s


def test_a_node_that_is_first_switched_on_was_off_before(tmp_path, write_run):
    run = RunFolder(write_run(tmp_path, wakes=((4.0, 2, "on", 0),)))
    off = data(network, run)["off"]
    assert off[0] == [2]
    assert off[-1] == []
    assert heights(time_use, run, "state", "time_s")["off"] == [0, 0, 4]


def test_fates_by_kind_outcome_and_time(run):
    found = fates.of_run(run).panels[0].table
    assert list(dict.fromkeys(found["outcome"])) == ["delivered", "outage", "deadline"]
    counts = {
        (kind, outcome): found["messages"][
            (found["kind"] == kind) & (found["outcome"] == outcome)
        ].tolist()
        for kind in ("Model", "Request")
        for outcome in ("delivered", "outage", "deadline")
    }
    assert [sum(row) for row in counts.values()] == [3, 1, 0, 0, 0, 1]
    assert counts["Model", "delivered"][5] == 1
    assert np.unique(found["t_s"])[5] == pytest.approx(5.5 / 6)  # the middle of its stretch


def test_a_model_that_arrived_in_vain_has_a_fate_of_its_own(run):
    first = run.uses["message"] == 0
    run.uses["fate"] = Words(("used", "late"), np.where(first, 1, 0))
    found = fates.of_run(run).panels[0].table
    of_models = [
        found["messages"][(found["kind"] == "Model") & (found["outcome"] == outcome)].sum()
        for outcome in ("delivered", "outage", "arrived, not used")
    ]
    assert of_models == [2, 1, 1]


def test_links_are_listed_from_the_worst_on(run):
    found = table(links, run)
    columns = ("src", "dst", "sent", "delivered", "outage", "deadline", "delivered_share")
    rows = list(zip(*(found[k] for k in columns), strict=True))
    assert rows[0] == (0, 1, 2, 1, 1, 0, 0.5)
    assert rows[1] == (1, 2, 1, 0, 0, 1, 0)
    assert len(rows) == 4


def test_delays_and_ages_of_what_arrived(run):
    shown = delays.of_run(run)
    of_delays, of_ages = (panel.table for panel in shown.panels)
    assert set(of_delays["kind"]) == {"Model"}
    assert set(of_delays["messages"]) == {3}
    assert shown.panels[0].mark.told == {"Model": "median 1 s, 95 % 1.9 s, most 2 s"}
    assert shown.panels[1].mark.told["Model"].startswith("median 2 s")
    at_s, share = of_delays["at_s"], of_delays["share_at_or_below"]
    assert np.interp([0.5, 1.5], at_s, share) == pytest.approx([0, 2 / 3], abs=1e-3)
    assert (at_s[-1], share[-1]) == (2, 1)
    assert of_ages["share_at_or_below"][-1] == 1


def test_ages_at_use_are_means_by_sender_and_receiver(run):
    uses = run.uses
    used = np.isfinite(uses["age_at_use_s"])
    expected = {}
    for src, dst, age in zip(
        uses["src"][used].tolist(), uses["dst"][used].tolist(), uses["age_at_use_s"][used].tolist(),
        strict=True,
    ):  # fmt: skip
        expected.setdefault((src, dst), []).append(age)
    found = table(age_by_pair, run)
    rows = zip(
        found["sender"], found["receiver"], found["age_at_use_s"], found["uses"], strict=True
    )
    assert {(src, dst): (age, uses) for src, dst, age, uses in rows} == {
        pair: (pytest.approx(np.mean(ages)), len(ages)) for pair, ages in expected.items()
    }
    assert expected


def test_time_use_adds_up_and_counts_each_second_once(run):
    by_state = heights(time_use, run, "state", "time_s")
    assert by_state["off"] == [0, 3, 0]
    # node 0: jobs asked for at 0 and 1 s, two seconds each, one after another; node 2: 4 of 0.5 s
    assert by_state["train"] == [4, 0, 2]
    # node 0 sends from 0 to 1.5 s, while it trains; node 1 from 2 to 4 s, while it is off
    assert by_state["transmit"] == [0, 1, 1]
    assert by_state["receive"] == [1, 1, 0]  # node 0 from 2 to 4 s in training, from 9 to 10 s not
    assert np.sum(list(by_state.values()), axis=0) == pytest.approx([10, 10, 10])
    assert time_use.of_run(run).about == time_use.WORKED_OUT


def test_recorded_times_are_taken_as_they_are(tmp_path, write_run):
    folder = write_run(tmp_path)
    run = RunFolder(folder)
    run.summary["time_s"] = {"train": [1.0, 2.0, 3.0], "off": [0.0, 0.0, 0.0]}
    assert time_use.of_run(run).about == time_use.RECORDED
    assert heights(time_use, run, "state", "time_s") == {"train": [1, 2, 3]}


def test_overlapping_stretches_are_united_node_by_node():
    node, begin, end = time_use.union(
        np.array([1, 0, 0, 0, 1]),
        np.array([0.0, 0.0, 0.5, 3.0, 8.0]),
        np.array([2.0, 1.0, 2.0, 4.0, 12.0]),
        10.0,
    )
    assert node.tolist() == [0, 0, 1, 1]
    assert begin == pytest.approx([0, 3, 0, 8])
    assert end == pytest.approx([2, 4, 2, 10])


def test_a_node_that_gets_next_to_nothing_is_starved(tmp_path, write_run):
    many = [(k / 20, k / 20 + 0.01, k % 2, 1 - k % 2, "Model", "delivered", 0.1) for k in range(40)]
    run = RunFolder(
        write_run(tmp_path, messages=[*many, (9.0, 9.1, 0, 2, "Model", "outage", None)])
    )
    shown = nodes.of_run(run)
    assert shown.panels[0].mark.marked == {2}
    assert shown.about.startswith("One node is starved: fewer than 25 % as many messages")
    columns = table(nodes, run)
    assert columns["received"] == [20, 20, 0]
    assert columns["received_share"] == [1, 1, 0]
    assert np.isnan(columns["last_received"][2])
    assert columns["metric"] == [0.5, 0.6, 0.7]


def test_what_a_run_has_not_got_is_left_out(tmp_path, write_run):
    bare = write_run(tmp_path, messages=(), weights=(), wakes=(), places=False)
    views = on_page("of_run")
    found = {name for name, view in views.items() if view.of_run(RunFolder(bare)) is not None}
    assert found == {"facts", "curves", "nodes"}


def test_without_places_linked_nodes_are_near_each_other():
    a, b = np.array([0, 1, 3, 4]), np.array([1, 2, 4, 5])
    at = spring(6, a, b)
    assert at.min() >= 0
    assert at.max() <= 1
    far = np.linalg.norm(at[:, None] - at[None], axis=2)
    assert far[a, b].max() < far[[0, 1, 2], [3, 4, 5]].min()
    assert np.array_equal(at, spring(6, a, b))


def test_places_of_moving_nodes_are_asked_for_at_the_moments(tmp_path, write_run):
    def places(times_s):
        return np.stack([np.full((3, 2), t) for t in times_s])

    found = data(network, RunFolder(write_run(tmp_path), places=places))
    assert found["moves"]
    assert found["x"][-1] == [10, 10, 10]
    assert len(found["x"]) == len(found["moments_s"]) == 60


def test_a_broken_table_is_named_and_the_others_are_shown(tmp_path, write_run):
    folder = write_run(tmp_path)
    (folder / "messages" / "part-00000.parquet").write_bytes(b"PAR1 no table PAR1")
    run = RunFolder(folder, faults=[])
    assert fates.of_run(run) is None
    assert curves.of_run(run) is not None
    assert "messages/part-00000.parquet: " in run.faults[0]


def test_numbers_are_short():
    assert rounded_list(np.array([0.123456, 1234.567, 3.0, np.nan, 1e-9])) == [
        0.1235,
        1235,
        3,
        None,
        1e-9,
    ]
    assert rounded_list(np.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]


def test_places_are_spread_evenly_with_both_ends():
    assert evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert evenly(101, 3).tolist() == [0, 50, 100]


def test_blocks_of_nodes_are_said_to_be_some(write_run, tmp_path, monkeypatch):
    """Else the messages within a block are read as those of its first node to itself."""
    run = RunFolder(write_run(tmp_path))
    views = [age_by_pair, deliveries, weights]
    assert not any("nodes" in view.of_run(run).about_printed for view in views)
    monkeypatch.setattr(pairs, "_CELLS", 2)
    for view in views:
        shown = view.of_run(run)
        assert "a cell is 2 × 2 nodes, and an id that of the first" in shown.about_printed


def test_links_are_not_said_to_have_lost_what_they_delivered(write_run, tmp_path, monkeypatch):
    fate = ("Model", "delivered", 2.0)
    sent = [(0.0, 1.0, 0, 1, *fate), (1.0, 2.0, 1, 0, *fate)]
    run = RunFolder(write_run(tmp_path, messages=sent))
    order = "those with the most messages not delivered first."
    assert links.of_run(run).panels[0].mark.caption.endswith(f"all 2 links, {order}")
    monkeypatch.setattr(links, "MOST_ROWS", 1)
    assert links.of_run(run).panels[0].mark.caption.endswith(f"1 of 2 links, {order}")
