"""Inputs of the panels of a run's page, against numbers worked out by hand."""

import numpy as np
import pytest

from netsim.results.report.layout import spring
from netsim.results.report.numbers import evenly, short
from netsim.results.report.panels import (
    PANELS,
    curves,
    delays,
    fates,
    links,
    network,
    nodes,
    time_use,
)
from netsim.results.report.run_tables import RunTables


@pytest.fixture
def run(tmp_path, write_run):
    return RunTables(write_run(tmp_path / "run"))


def test_curves_are_per_node_with_their_mean_and_costs(run):
    found = curves.gather(run)["metrics"]
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
    found = network.gather(run)["links"]
    assert list(zip(found["a"], found["b"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    moments = np.array(found["moment"]) * found["moments_each"]
    rows = list(
        zip(moments.tolist(), found["link"], found["sent"], found["delivered"], strict=True)
    )
    # 60 moments of 1/6 s: what ends at 1.0 s is in the sixth, whose number is 5
    assert rows == [(5, 0, 1, 1), (8, 0, 1, 0), (23, 0, 1, 1), (41, 2, 1, 0), (59, 1, 1, 1)]


def test_weights_are_the_last_of_a_moment_and_only_where_they_change(run):
    found = network.gather(run)["weights"]
    rows = list(zip(*(found[k] for k in ("moment", "node", "peer", "weight")), strict=True))
    assert rows == [(5, 0, 1, 0.25), (6, 0, 0, 0.5), (6, 0, 1, 0.5), (35, 1, 0, 0.75)]


def test_who_is_off_is_known_at_every_moment(run):
    off = network.gather(run)["off"]
    assert off[11] == [1]  # from 2 s on
    assert off[10] == []
    assert off[28] == [1]
    assert off[29] == []  # on again at 5 s


def test_a_node_that_is_first_switched_on_was_off_before(tmp_path, write_run):
    run = RunTables(write_run(tmp_path, wakes=((4.0, 2, "on", 0),)))
    off = network.gather(run)["off"]
    assert off[0] == [2]
    assert off[-1] == []
    assert time_use.gather(run)["seconds"][0] == [0, 0, 4]


def test_fates_by_kind_outcome_and_time(run):
    found = fates.gather(run)
    assert found["outcomes"] == ["delivered", "outage", "deadline"]
    assert found["kinds"] == ["Model", "Request"]
    assert [[sum(row) for row in kind] for kind in found["counts"]] == [[3, 1, 0], [0, 0, 1]]
    assert found["counts"][0][0][5] == 1


def test_links_are_listed_from_the_worst_on(run):
    found = links.gather(run)
    rows = list(zip(*(found[k] for k in ("src", "dst", "sent", "counts")), strict=True))
    assert rows[0] == (0, 1, 2, [1, 1, 0])
    assert rows[1] == (1, 2, 1, [0, 0, 1])
    assert found["links"] == 4


def test_delays_and_ages_of_what_arrived(run):
    found = delays.gather(run)
    assert [line["kind"] for line in found["delay"]["lines"]] == ["Model"]
    assert found["delay"]["lines"][0]["messages"] == 3
    assert found["delay"]["lines"][0]["median_s"] == 1
    assert found["delay"]["lines"][0]["max_s"] == 2
    assert found["staleness"]["lines"][0]["median_s"] == 2
    at_s, share = found["delay"]["at_s"], found["delay"]["lines"][0]["share"]
    assert np.interp([0.5, 1.5], at_s, share) == pytest.approx([0, 2 / 3], abs=1e-3)
    assert (at_s[-1], share[-1]) == (2, 1)


def test_time_use_adds_up_and_counts_each_second_once(run):
    found = time_use.gather(run)
    by_state = dict(zip(found["states"], found["seconds"], strict=True))
    assert by_state["off"] == [0, 3, 0]
    # node 0: jobs asked for at 0 and 1 s, two seconds each, one after another; node 2: 4 of 0.5 s
    assert by_state["train"] == [4, 0, 2]
    # node 0 sends from 0 to 1.5 s, while it trains; node 1 from 2 to 4 s, while it is off
    assert by_state["transmit"] == [0, 1, 1]
    assert by_state["receive"] == [1, 1, 0]  # node 0 from 2 to 4 s in training, from 9 to 10 s not
    assert np.sum(found["seconds"], axis=0).tolist() == [10, 10, 10]
    assert not found["is_recorded"]


def test_recorded_times_are_taken_as_they_are(tmp_path, write_run):
    folder = write_run(tmp_path)
    run = RunTables(folder)
    run.summary["time_s"] = {"train": [1.0, 2.0, 3.0], "off": [0.0, 0.0, 0.0]}
    found = time_use.gather(run)
    assert found["is_recorded"]
    assert (found["states"], found["seconds"]) == (["train"], [[1, 2, 3]])


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
    run = RunTables(
        write_run(tmp_path, messages=[*many, (9.0, 9.1, 0, 2, "Model", "outage", None)])
    )
    found = nodes.gather(run)
    assert found["starved"] == [2]
    columns = {column["key"]: column["values"] for column in found["columns"]}
    assert columns["received"] == [20, 20, 0]
    assert columns["received_share"] == [100, 100, 0]
    assert columns["last_received"][2] is None
    assert columns["metric"] == [50, 60, 70]


def test_what_a_run_has_not_got_is_left_out(tmp_path, write_run):
    bare = write_run(tmp_path, messages=(), weights=(), wakes=(), places=False)
    found = {name for name, make in PANELS.items() if make(RunTables(bare)) is not None}
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

    found = network.gather(RunTables(write_run(tmp_path), places))
    assert found["moves"]
    assert found["x"][-1] == [10, 10, 10]
    assert len(found["x"]) == len(found["moments_s"]) == 60


def test_a_broken_table_is_named_and_the_others_are_shown(tmp_path, write_run):
    folder = write_run(tmp_path)
    (folder / "messages" / "part-00000.parquet").write_bytes(b"PAR1 no table PAR1")
    run = RunTables(folder)
    assert fates.gather(run) is None
    assert curves.gather(run) is not None
    assert "messages/part-00000.parquet: " in run.faults[0]


def test_numbers_are_short():
    assert short(np.array([0.123456, 1234.567, 3.0, np.nan, 1e-9])) == [0.1235, 1235, 3, None, 1e-9]
    assert short(np.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]


def test_places_are_spread_evenly_with_both_ends():
    assert evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert evenly(101, 3).tolist() == [0, 50, 100]
