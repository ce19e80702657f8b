"""Distributions over nodes and messages, and graphs in an order that shows who is alike."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.errors import ScenarioError
from netsim.recording.reader import RunFolder
from netsim.views import Ask, cdf, graph
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import paper

COLUMN = paper(3.5)


def of(folders):
    return [RunFolder.ended(folder) for folder in folders]


def drawn(runs, metrics, paired_to=None):
    with plot_style.style(COLUMN):
        shown = cdf.of_runs(runs, Ask(tuple(metrics), paired_to=paired_to, on_paper=True))
        return panels.draw(shown, sheet=COLUMN)


def test_the_distribution_over_nodes_is_that_of_the_last_evaluation(tmp_path, written):
    for name in ("kd_pdfl", "local"):
        for seed in (0, 1):
            written(tmp_path / f"seed-{seed}/{name}", name, seed=seed, nodes=6, evaluations=3)
    folders = [tmp_path / f"seed-{s}/{n}" for n in ("kd_pdfl", "local") for s in (0, 1)]
    found = drawn(of(folders), ["accuracy"], "local")
    rows = pd.DataFrame(found.rows)
    mine = rows[(rows.curve == "KD-PDFL") & (rows.metric == "accuracy")]
    tables = [pd.read_parquet(folder / "metrics") for folder in folders]
    last = [t[(t.metric == "accuracy") & (t.t_s == t.t_s.max())].set_index("node") for t in tables]
    values = np.sort(np.concatenate([one["value"] for one in last[:2]]))
    assert mine.x.to_numpy() == pytest.approx(values)
    assert mine.share_at_or_below.to_numpy() == pytest.approx(np.arange(1, 13) / 12)
    differences = rows[rows.metric == "accuracy minus Local"].x.to_numpy()
    expected = [last[k]["value"] - last[k + 2]["value"] for k in (0, 1)]
    assert differences == pytest.approx(np.sort(np.concatenate(expected)))
    assert "6 nodes of each of 2 seeds" in found.about


def test_delays_are_those_of_messages_that_arrived(tmp_path, written):
    summary = written(tmp_path / "a", "kd_pdfl", nodes=6, evaluations=4)
    runs = of([tmp_path / "a"])
    assert cdf.default_quantities(runs) == ["accuracy", "delay"]
    found = drawn(runs, ["delay"])
    rows = pd.DataFrame(found.rows)
    log = pd.read_parquet(tmp_path / "a" / "messages")
    arrived = log[log.outcome.isin(["delivered", "partial"])]
    delays = np.unique(arrived.t_done_s - arrived.t_sent_s)
    assert rows.x.iloc[-1] == pytest.approx(delays.max())
    assert rows.samples.iloc[0] == len(arrived) == summary["delay"]["arrived"]
    assert found.figure.axes[0].get_xlabel() == "Message delay [ms]"


def test_a_run_without_a_log_of_messages_has_no_delays(tmp_path, written):
    written(tmp_path / "a", nodes=4, evaluations=3, log_messages=False)
    runs = of([tmp_path / "a"])
    assert cdf.default_quantities(runs) == ["accuracy"]
    with pytest.raises(ScenarioError, match=r"a: has no table messages: \[run\] log_messages"):
        drawn(runs, ["delay"])
    with pytest.raises(
        ScenarioError, match=r'metrics: metric = acuracy: .* did you mean "accuracy'
    ):
        drawn(runs, ["acuracy"])


def two_tasks(folder, count=6):
    """Nodes of even ids have classes 0 and 1, the others 2 and 3; the last one is malicious."""
    counts = [[5, 5, 0, 0] if i % 2 == 0 else [0, 0, 5, 5] for i in range(count)]
    table = {
        "node": list(range(count)),
        "malicious": [i == count - 1 for i in range(count)],
        "train_samples": [10] * count,
        "class_counts": counts,
    }
    pq.write_table(pa.table(table), folder / "nodes.parquet")


def test_a_graph_has_alike_nodes_side_by_side(tmp_path, written):
    written(tmp_path / "a", "kd_pdfl", nodes=6, evaluations=6)
    two_tasks(tmp_path / "a")
    (run,) = of([tmp_path / "a"])
    order = graph.order_of(run)
    assert order.ids.tolist() == [0, 2, 4, 1, 3, 5]
    assert order.cuts == [3, 5]
    with plot_style.style(COLUMN):
        found = panels.draw(graph.of_runs([run], Ask()), sheet=COLUMN)
    rows = pd.DataFrame(found.rows)
    log = pd.read_parquet(tmp_path / "a" / "graph").drop_duplicates(["node", "peer"], keep="last")
    both = rows.merge(log, on=["node", "peer"])
    assert len(rows) == 30
    assert both.weight_x.to_numpy() == pytest.approx(both.weight_y.to_numpy())
    cells = found.figure.axes[0].images[0].get_array()
    assert cells[0, 1] == pytest.approx(log[(log.node == 0) & (log.peer == 2)].weight.item())
    assert "attackers, classes held" in found.about


def test_groups_of_a_scenario_lie_together(tmp_path, written):
    written(tmp_path / "a", "kd_pdfl", nodes=6, evaluations=6)
    (tmp_path / "a" / "scenario.toml").write_text(
        "[nodes]\ncount = 6\n[[nodes.groups]]\nname = 'slow'\ncount = 2\n"
    )
    order = graph.order_of(*of([tmp_path / "a"]))
    assert order.ids.tolist() == [0, 1, 2, 3, 4, 5]
    assert (order.cuts, order.by) == ([2], "group")


def test_nodes_with_classes_of_their_own_lie_by_likeness(tmp_path, written):
    written(tmp_path / "a", "kd_pdfl", nodes=4, evaluations=6)
    counts = [[9, 1, 0, 0], [0, 0, 9, 1], [9, 0, 1, 0], [0, 1, 8, 1]]
    table = {"node": [0, 1, 2, 3], "train_samples": [10] * 4, "class_counts": counts}
    pq.write_table(pa.table(table), tmp_path / "a" / "nodes.parquet")
    ids = graph.order_of(*of([tmp_path / "a"])).ids.tolist()
    assert {frozenset(ids[:2]), frozenset(ids[2:])} == {frozenset({0, 2}), frozenset({1, 3})}


def test_a_run_without_weights_has_no_graph(tmp_path, written):
    written(tmp_path / "a", "local", nodes=4, evaluations=6, weights=False)
    with pytest.raises(ScenarioError, match="graph: has no weights"):
        graph.of_runs(of([tmp_path / "a"]), Ask())
