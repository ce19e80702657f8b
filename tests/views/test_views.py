"""All views alike: each is found by its file, and what it shows is drawn by every renderer."""

import json
import re

import numpy as np
import pytest
from rich.console import Console

from netsim import views
from netsim.recording.reader import RunFolder
from netsim.views import Ask, Cells, Columns, OnPage, Panel, Quantity, Shown
from netsim.views.render import terminal
from netsim.views.render.figure import panels as figure_panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import SCREEN, paper
from netsim.views.render.page import html
from netsim.views.render.page import marks as page_marks

KINDS = ("of_run", "of_runs", "of_sweep")
SCRIPTS = {path.stem for path in (html.ASSETS / "marks").glob("*.js")}


@pytest.mark.parametrize("name", views.names())
def test_a_view_says_what_it_shows_and_where(name):
    view = views.find(name)
    assert view.TITLE
    assert view.PLACE is None or view.PLACE > 0
    assert sum(hasattr(view, kind) for kind in KINDS) == 1
    assert set(getattr(view, "TAKES", ())) <= set(vars(Ask()))


def test_every_mark_of_a_page_has_a_script_and_every_script_a_mark():
    kinds = {kind.__name__.lower() for kind in views.Mark.__args__}
    made = {
        found
        for name in views.names()
        for found in re.findall(r'OnPage\(\s*"(\w+)"', open_text(views.find(name)))
    }
    assert (kinds - {"onpage", "places"}) | made == SCRIPTS


def open_text(module):
    with open(module.__file__, encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def shown(tmp_path, write_run):
    """Return by name the contents of each view for two small runs."""
    for name in ("dpsgd", "local"):
        write_run(tmp_path / name, algorithm=name)
    tables = RunFolder(tmp_path / "dpsgd")
    runs = [RunFolder.ended(tmp_path / name) for name in ("dpsgd", "local")]
    found = {name: view.of_run(tables) for name, view in all_views("of_run")}
    found |= {
        name: view.of_runs(runs, Ask()) for name, view in all_views("of_runs") if name != "graph"
    }
    return {name: one for name, one in found.items() if one is not None}


def all_views(kind):
    return [(n, v) for n in views.names() if hasattr(v := views.find(n), kind)]


def test_each_renderer_draws_each_view(shown):
    assert {"age_by_pair", "fates", "accuracy", "compare", "nodes", "map", "weights"} <= set(shown)
    console = Console(width=100, record=True)
    for name, one in shown.items():
        page = page_marks.section(one, "title")
        assert page is None or json.dumps(page, allow_nan=False)
        drawable = [p for p in one.panels if not isinstance(p.mark, OnPage | Columns)]
        with plot_style.style():
            if drawable and one.panels[0] in drawable:
                assert figure_panels.draw(one, name).figure.axes, name
            else:
                with pytest.raises(figure_panels.OnPageOnlyError):
                    figure_panels.draw(one, name)
        for panel in one.panels:
            assert len({len(cells) for cells in panel.table.values()}) <= 1, name
        for table in terminal.tables(one):
            console.print(table)
        assert isinstance(one.panels[0].mark, OnPage) or one.frame().shape[0]
    printed = console.export_text()
    assert "Mean age at use" in printed
    assert "of these delivered" in printed


def test_tables_for_a_terminal_are_in_the_units_of_their_titles():
    table = {"node": [0, 1], "share": [0.25, float("nan")]}
    columns = {name: np.asarray(cells) for name, cells in table.items()}
    mark = Columns([Quantity("node", "node"), Quantity("share", "used", "%")], "Caption.")
    console = Console(width=80, record=True)
    (made,) = terminal.tables(Shown([Panel(mark, columns)]))
    console.print(made)
    text = console.export_text()
    assert re.search(r"0 +25\b", text)
    assert re.search(r"1 +-", text)
    assert "Caption." in text


def test_cells_of_words_have_their_own_shape():
    sides = Quantity("row", "Row"), Quantity("column", "Column")
    mark = Cells(*sides, Quantity("mean", "Mean"), 0, "none", ticks=(("a", "b"), ("x", "y", "z")))
    table = {name: np.asarray(cells) for name, cells in
             {"row": [0, 1], "column": [2, 0], "mean": [0.5, 1.0]}.items()}  # fmt: skip
    page = page_marks.section(Shown([Panel(mark, table)]), "title")
    data = page["panels"][0]["data"]
    assert (data["rows"], data["columns"], data["at"]) == (2, 3, [2, 3])
    with plot_style.style():
        (axes, _) = figure_panels.draw(Shown([Panel(mark, table)])).figure.axes
        labels = [text.get_text() for text in axes.get_xticklabels()]
    assert labels == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("second", "bars"),
    [
        ((Quantity("a", "Mean"), 1.0), [("Mean", 1.0)]),
        ((Quantity("a", "Mean"), 3.0), [("Mean", 1.0), ("Mean", 3.0)]),
        ((Quantity("a", "Mean", "%"), 1.0), [("Mean", 1.0), ("Mean [%]", 1.0)]),
        ((Quantity("a", "Mean"), None), [("Mean", 1.0), ("Mean", 7.0)]),
    ],
)
def test_heat_maps_share_a_colour_bar_only_if_their_colours_mean_the_same(second, bars):
    """A bar of one would tell wrong numbers of another."""
    sides = Quantity("row", "Row"), Quantity("column", "Column")
    table = {name: np.asarray([value]) for name, value in (("row", 0), ("column", 0), ("a", 7.0))}
    panels = [
        Panel(Cells(*sides, value, 1, "", top=top), table)
        for value, top in ((Quantity("a", "Mean"), 1.0), second)
    ]
    with plot_style.style():
        axes = figure_panels.draw(Shown(panels)).figure.axes[2:]
    assert [(one.get_ylabel(), one.get_ylim()[1]) for one in axes] == bars


@pytest.mark.parametrize("sheet", [SCREEN, paper(3.5)])
@pytest.mark.parametrize(("rows", "note"), [([0, 0, 1, 1], "It."), ([0, 0], "It.; grey: none")])
def test_a_figure_says_the_meaning_of_grey_cells_where_there_are_any(rows, note, sheet):
    sides = Quantity("row", "Row"), Quantity("column", "Column")
    mark = Cells(*sides, Quantity("mean", "Mean"), 2, "none")
    table = {
        "row": np.asarray(rows),
        "column": np.asarray([0, 1, 0, 1][: len(rows)]),
        "mean": np.ones(len(rows)),
    }
    with plot_style.style(sheet):
        figure = figure_panels.draw(Shown([Panel(mark, table)], "It."), sheet=sheet).figure
    (legend,) = figure.legends
    assert legend.get_title().get_text() == note
