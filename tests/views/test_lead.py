"""The lead of a run over another one at equal local steps."""

import pandas as pd
import pytest

from netsim.recording import summary
from netsim.views.gathering import comparison
from netsim.views.gathering.comparison import lead
from netsim.views.gathering.sweep_tables import SweepTables


def put(folder, rows, metric="accuracy", **numbers):
    """A run folder with evaluations `(t_s, node, steps, value)`."""
    (folder / "metrics").mkdir(parents=True)
    columns = ["t_s", "node", "steps", "value"]
    frame = pd.DataFrame(rows, columns=columns).assign(metric=metric, stage="trained")
    frame.to_parquet(folder / "metrics" / "part-000000.parquet")
    summary.write_json(folder / "summary.json", numbers)
    return folder


def test_each_node_is_compared_where_its_namesake_had_made_as_many_steps(tmp_path):
    """Node 0 after 15 steps: 0.9 - 0.6 between 10 and 20 steps; node 1 after 10: 0.5 - 0.4."""
    own = put(tmp_path / "a", [(9.0, 0, 15, 0.9), (9.0, 1, 10, 0.5)])
    other = [(0.0, 0, 0, 0.1), (0.0, 1, 0, 0.1), (5.0, 0, 10, 0.5), (5.0, 1, 10, 0.4)]
    other += [(9.0, 0, 20, 0.7), (9.0, 1, 30, 0.8)]
    assert lead(own, put(tmp_path / "b", other)) == {"lead": pytest.approx((0.3 + 0.1) / 2)}


def test_steps_that_it_has_not_made_leave_its_last_value(tmp_path):
    own = put(tmp_path / "a", [(9.0, 0, 50, 0.9)])
    other = put(tmp_path / "b", [(0.0, 0, 0, 0.1), (9.0, 0, 20, 0.7)])
    assert lead(own, other) == {"lead": pytest.approx(0.2)}


def test_of_equal_steps_the_last_evaluation_counts(tmp_path):
    """Steps count when training begins, its model is measured when it has ended."""
    own = put(tmp_path / "a", [(9.0, 0, 8, 0.9)])
    other = [(0.0, 0, 0, 0.1), (1.0, 0, 8, 0.1), (5.0, 0, 8, 0.6), (9.0, 0, 16, 0.8)]
    assert lead(own, put(tmp_path / "b", other)) == {"lead": pytest.approx(0.3)}


def test_a_lower_loss_is_ahead_and_other_nodes_are_not_compared(tmp_path):
    task = {"metric": "rmse", "lower": ["rmse"]}
    own = put(tmp_path / "a", [(9.0, 0, 8, 0.4)], "rmse", task=task)
    other = put(tmp_path / "b", [(9.0, 0, 8, 1.0)], "rmse", task=task)
    assert lead(own, other) == {"main_metric_lead": pytest.approx(0.6)}
    two = put(tmp_path / "c", [(9.0, 0, 8, 1.0), (9.0, 1, 8, 1.0)], "rmse", task=task)
    assert lead(own, two) == {}


def test_a_sweep_tells_it_paired_by_seed_and_of_none_over_itself(tmp_path):
    for seed, value in enumerate((0.8, 0.9)):
        at = tmp_path / "p" / f"seed-{seed}"
        put(at / "gossip", [(9.0, 0, 8, value)], algorithm="gossip")
        put(at / "local", [(9.0, 0, 8, 0.5)], algorithm="local")
    asked = comparison.SweepDesign({"p": {}}, (0, 1), against="local")
    gossip, local = SweepTables(tmp_path, asked).lines
    assert gossip.estimates["lead"].mean == pytest.approx(0.35)
    assert gossip.estimates["lead"].half_width is not None
    assert "lead" not in local.estimates
    assert "lead" in comparison.measures_to_show([gossip, local], ())
