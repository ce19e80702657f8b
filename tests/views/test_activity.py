"""Activity of nodes over time: shares of stretches, from recorded intervals."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import netsim
from netsim.recording import node_states
from netsim.recording.reader import RunFolder
from netsim.views import activity, time_use
from netsim.views.gathering.moments import off_spans
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.page.marks import section
from netsim.views.render.terminal import tables

# begin and end [s], node, state, busy [s]: node 1 works for 6 s of the 30 s that a message takes
SPANS = (
    (0.0, 45.0, 0, "train", 45.0),
    (15.0, 45.0, 1, "transmit", 6.0),
    (50.0, 60.0, 1, "off", 10.0),
)


@pytest.fixture
def run(tmp_path):
    (tmp_path / "status.json").write_text('{"state": "interrupted", "virtual_s": 60.0}')
    pq.write_table(pa.table({"node": [0, 1]}), tmp_path / "nodes.parquet")
    (tmp_path / "intervals").mkdir()
    begins, ends, nodes, states, busy = zip(*SPANS, strict=True)
    table = pa.table(
        {
            "t_begin_s": pa.array(begins),
            "t_end_s": pa.array(ends),
            "node": pa.array(nodes, pa.int32()),
            "what": pa.array(states).dictionary_encode(),
            "busy_s": pa.array(busy),
        }
    )
    pq.write_table(table, tmp_path / "intervals" / "part-00000.parquet")
    return RunFolder(tmp_path)


def test_shares_of_stretches_add_up_to_the_seconds_of_each_state(run):
    shown = activity.of_run(run)
    totals = node_states.totals(run.folder, run.end_ns)
    assert [panel.title for panel in shown.panels] == ["train", "transmit", "off"]
    for panel in shown.panels:
        rows = panel.table
        lasts_s = rows["t_end_s"] - rows["t_begin_s"]
        for node in set(rows["node"].tolist()):
            mine = rows["node"] == node
            seconds = (rows["share"] * lasts_s)[mine].sum()
            assert seconds == pytest.approx(totals[panel.title][node])
    sending = shown.panels[1].table
    inside = (sending["t_begin_s"] >= 15) & (sending["t_end_s"] <= 45)
    assert sending["share"][inside] == pytest.approx(0.2)  # 6 of 30 s
    assert np.all(sending["share"][~inside] == 0)


@pytest.mark.slow
def test_it_stands_on_paper_on_the_page_and_in_the_terminal(run):
    shown = activity.of_run(run)
    with plot_style.style():
        figure = panels.draw(shown).figure
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["train", "transmit", "off"]
    assert len(figure.axes) == 4  # and one colour bar
    on_page = section(shown, activity.TITLE)["panels"]
    assert [panel["mark"] for panel in on_page] == ["cells"] * 3
    assert len(tables(shown)) == 3


def test_a_run_that_recorded_none_has_no_such_figure(tmp_path):
    (tmp_path / "status.json").write_text('{"state": "done", "virtual_s": 60.0}')
    assert activity.of_run(RunFolder(tmp_path)) is None


@pytest.mark.filterwarnings("ignore::netsim.RunWarning")
def test_a_node_that_is_off_from_the_beginning_is_off_to_every_reader(tmp_path):
    """Node 3 for all 20 s, node 2 from 10 to 15 s, node 1 up to 4 s: 29 of 80 s."""
    (tmp_path / "churn.csv").write_text("node,on_s,off_s\n3,100,200\n2,0,10\n2,15,30\n1,4,30\n")
    small = netsim.Scenario(
        horizon_s=20.0,
        nodes={"count": 4},
        churn={"kind": "trace", "path": str(tmp_path / "churn.csv"), "start_s": 0},
        exchange={"schedule": "rounds", "interval_s": 5.0},
        data="digits",
        model={"kind": "mlp", "hidden": [4]},
        algorithm="dpsgd",
    )
    run = netsim.run(small, out=tmp_path / "run", timing_only=True)
    off_s = {1: 4.0, 2: 5.0, 3: 20.0}
    (told,) = run.summaries.values()
    assert told["power"]["mean_availability"] == pytest.approx(1 - 29 / 80)
    nodes, begins_s, ends_s = off_spans(RunFolder(run.folder))
    spans_s = zip(nodes.tolist(), (ends_s - begins_s).tolist(), strict=True)
    assert dict(spans_s) == pytest.approx(off_s)
    (found,) = [line for line in run.explain()["finding"] if line.startswith("Off: ")]
    assert "for 36 % of their time (3 of them)" in found
    shown = time_use.of_run(RunFolder(run.folder)).panels[0].table
    is_off = shown["state"] == "off"
    seconds = dict(zip(shown["node"][is_off], shown["time_s"][is_off], strict=True))
    assert {node: seconds[node] for node in off_s} == pytest.approx(off_s)
