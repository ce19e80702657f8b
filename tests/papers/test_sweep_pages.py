"""Pages that are written from sweeps: the gallery of what-ifs, all methods on Fashion-MNIST."""

import importlib
import math

import pytest

import netsim

pytest.importorskip("papers.sweep_pages.__main__", reason="an installed package has none")
PARTS = "age_study asynchrony fashion figures gallery kept sentences sources whatifs"
age_study, asynchrony, fashion, figures, gallery, kept, sentences, sources, whatifs = (
    importlib.import_module(f"papers.sweep_pages.{name}") for name in PARTS.split()
)
measures = importlib.import_module("tools.measures")

ALONE_MAKES_MORE = {"whatif_battery", "whatif_exchange_interval"}
"""Scenarios where training alone makes more steps, as the others' batteries or exchanges stop."""


def swept(accuracies, leads=None):
    """A sweep of points a, b, ... with those accuracies by seed."""
    names = "abcdef"[: len(accuracies)]
    leads = leads or [[0.0] * len(values) for values in accuracies]
    rows = {
        name: {
            "gossip": {
                seed: {"accuracy": value, "lead": lead}
                for seed, (value, lead) in enumerate(zip(values, ahead, strict=True))
            }
        }
        for name, values, ahead in zip(names, accuracies, leads, strict=True)
    }
    design = kept.Design(tuple(names), tuple(range(len(accuracies[0]))))
    played = kept.Played(("abc",), 1.0)
    sweep = kept.Sweep("x", design, rows, played)
    return sentences.Told(sweep, "gossip", {n: n.upper() for n in names})


def test_a_change_has_a_direction_only_where_its_interval_leaves_out_zero():
    """Differences of 10, 11 and 10 points are clear; 0, 4 and 2 points (2.0 ± 5.0) are not."""
    told = swept([[0.5, 0.6, 0.7], [0.6, 0.71, 0.8], [0.5, 0.64, 0.72]])
    assert told.change("More", "a", "b").startswith("More gains 10.3 ± 1.4 points of accuracy")
    assert told.change("Less", "b", "a").startswith("Less costs 10.3 ± 1.4 points of accuracy")
    unclear = told.change("Other", "a", "c")
    assert "changes accuracy by +2.0 ± 5.0 points (60.0 to 62.0 %)" in unclear
    assert "not clear from three seeds" in unclear


def test_what_changes_nothing_is_said_to_leave_it():
    told = swept([[0.5, 0.6, 0.7], [0.5, 0.6, 0.7]])
    assert told.change("This", "a", "b") == "This leaves accuracy as it is (60.0 to 60.0 %)."


def test_a_lead_is_sorted_by_what_its_interval_says():
    even = [0.5, 0.5, 0.5]
    told = swept([even] * 3, [[0.1, 0.11, 0.12], [-0.1, -0.11, -0.12], [0.0, 0.04, 0.02]])
    assert told.leads() == (
        "Against local training of as many steps [pp]: ahead at A (+11.0 ± 2.5); "
        "behind at B (-11.0 ± 2.5); not clear from three seeds at C (+2.0 ± 5.0)."
    )


def test_one_seed_judges_nothing():
    told = swept([[0.5], [0.6]])
    assert "not clear from one seed" in told.change("More", "a", "b")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("what_if", gallery.WHAT_IFS, ids=lambda w: w.name)
def test_every_point_of_a_what_if_has_a_name(what_if):
    design = kept.design_of(f"whatif_{what_if.name}")
    assert len(what_if.points) == len(design.points)
    assert netsim.load(f"whatif_{what_if.name}").sweep.against == "local"
    assert {"accuracy", "lead", "local_steps", "transmitted_megabytes"} <= set(design.show)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("what_if", gallery.WHAT_IFS, ids=lambda w: w.name)
def test_training_alone_makes_as_many_steps(what_if):
    sweep = kept.kept(f"whatif_{what_if.name}")
    for algorithms in sweep.rows.values():
        for name, runs in algorithms.items():
            for seed, row in runs.items():
                alone = algorithms["local"][seed]["local_steps"]
                steps = row["local_steps"]
                is_more_right = sweep.name in ALONE_MAKES_MORE
                assert alone == steps or (is_more_right and alone > steps), (name, seed)


def test_the_table_of_measures_is_that_of_the_program():
    text = measures.PAGE.read_text(encoding="utf-8")
    assert measures.written(text) == text


@pytest.mark.slow
def test_the_gallery_is_what_the_numbers_say():
    assert whatifs.PAGE.read_text(encoding="utf-8") == whatifs.text()
    for what_if in gallery.WHAT_IFS:
        assert (whatifs.FIGURES / f"{what_if.name}.png").is_file()


@pytest.fixture(scope="module")
def study():
    sweeps = {name: kept.kept(name) for name in age_study.SWEEPS}
    if None in sweeps.values():
        pytest.skip("a part of the study has not been played yet")
    return age_study.Study(sweeps)


@pytest.mark.slow
def test_the_study_is_what_its_numbers_say(study):
    assert asynchrony.PAGE.read_text(encoding="utf-8") == asynchrony.text(study)
    for name in ("leads", "foretold"):
        assert (asynchrony.FOLDER / f"{name}.png").is_file()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", [name for name in age_study.SWEEPS if not name.endswith("rates")])
def test_every_method_of_the_study_trains_at_the_rate_that_was_best(name):
    study = age_study.Study({age_study.RATES: kept.kept(age_study.RATES)})
    scenario = netsim.load(sources.scenario_of(name))
    for entry in scenario.stated["algorithm"]:
        scores = age_study.best_rates(study)[entry["kind"]]
        best = float(max(scores, key=lambda rate: scores[rate]))
        training = {**scenario.stated["training"], **entry.get("training", {})}
        assert training["learning_rate"] == best, entry["kind"]


@pytest.mark.parametrize(
    ("place", "found"),
    [(0.0, 5.0), (1.0, 5.0), (1.5, 4.5), (2.0, 4.0), (3.0, 2.0), (9.0, 0.0), (math.nan, math.nan)],
)
def test_what_a_dial_foretells_lies_on_the_lines_between_its_points(place, found):
    """Beyond the ends it is what it is there; a point without an age has no say."""
    told = age_study.between(place, [4.0, 1.0, math.nan, 2.0], [0.0, 5.0, 99.0, 4.0])
    assert told == pytest.approx(found, nan_ok=True)
