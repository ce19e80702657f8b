"""Activity of nodes over time: shares of stretches, from recorded intervals."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.recording import node_states
from netsim.recording.reader import RunFolder
from netsim.views import activity
from netsim.views.render.figure import marks
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
        figure = marks.draw(shown).figure
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["train", "transmit", "off"]
    assert len(figure.axes) == 4  # and one colour bar
    panels = section(shown, activity.TITLE)["panels"]
    assert [panel["mark"] for panel in panels] == ["cells"] * 3
    assert len(tables(shown)) == 3


def test_a_run_that_recorded_none_has_no_such_figure(tmp_path):
    (tmp_path / "status.json").write_text('{"state": "done", "virtual_s": 60.0}')
    assert activity.of_run(RunFolder(tmp_path)) is None
