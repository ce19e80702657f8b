"""A sweep says which of its keys change nothing, and to whom."""

import itertools

import pytest

import netsim
from netsim.recording.keys_without_effect import unmoved_in

pytestmark = pytest.mark.filterwarnings("ignore::netsim.RunWarning")

VALUES = {"training.x": [1, 2], "radio.y": [{"kind": "a"}, {"kind": "b"}], "algorithm.m.z": [3, 4]}
POINTS = {
    f"p{n}": dict(zip(VALUES, values, strict=True))
    for n, values in enumerate(itertools.product(*VALUES.values()))
}
SENT = {"m": 5, "n": 5, "alone": 0}

SMALL = netsim.Scenario(
    horizon_s=2.0,
    nodes={"count": 3},
    exchange={"schedule": "rounds", "interval_s": 1.0},
    data={"kind": "digits"},
    model={"kind": "mlp", "hidden": [4]},
    training={"learning_rate": 0.1},
    algorithm={"kind": "dpsgd"},
)


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Sentences on a sweep in which each method's accuracy depends on some keys."""

    def of(depends, seeds=(0, 1), points=POINTS):
        summaries = {}
        for (label, values), seed, method in itertools.product(points.items(), seeds, depends):
            accuracy = hash((seed, *(str(values[key]) for key in depends[method])))
            summaries[tmp_path / label / f"seed-{seed}" / method] = {
                "wall_s": len(summaries),
                "engine": {"cpu_s": len(summaries)},
                "warnings": [str(values)],
                "messages": {"sent": SENT[method]},
                "accuracy": {"mean": accuracy},
            }
        monkeypatch.setattr("netsim.recording.run_folder.summary", summaries.__getitem__)
        found = unmoved_in(points, list(summaries))
        return {line.removesuffix(", times of computing aside") for line in found}

    return of


def test_each_key_is_told_for_the_methods_that_it_does_not_reach(said):
    every = tuple(VALUES)
    assert said({"m": every, "n": every[:2]}) == set()  # algorithm.m.z is not for n
    for key in every[:2]:
        rest = tuple(other for other in every if other != key)
        assert said({"m": rest, "n": every}) == {f"no number of m changes with {key}"}
        assert said({"m": rest, "n": rest}) == {f"no number of m, n changes with {key}"}
    assert said({"m": every[:2], "n": every[:2]}) == {f"no number of m changes with {every[2]}"}


def test_a_method_that_sends_nothing_is_not_told_of_keys_of_the_network(said):
    assert said({"alone": ("training.x",)}) == set()
    assert said({"alone": ()}) == {"no number of alone changes with training.x"}


def test_a_key_that_matters_at_one_point_or_seed_is_not_told(said):
    assert said({"m": tuple(VALUES)}, seeds=(0,)) == set()
    one = dict(itertools.islice(POINTS.items(), 1))
    assert said({"m": ()}, points=one) == set()  # nothing to compare it with


def test_a_sweep_over_a_rate_that_every_method_has_of_its_own_says_so(tmp_path):
    own = {"training": {"learning_rate": 0.01}}
    algorithms = [{"kind": "dpsgd", **own}, {"kind": "dpsgd", "name": "usual"}]
    scenario = SMALL.replace(algorithm=algorithms)
    found = netsim.sweep(
        scenario, {"training.learning_rate": [0.1, 0.2]}, out=tmp_path / "s", jobs=1
    )
    (told,) = [line for line in found.warnings if "no number of" in line]
    assert told.startswith("no number of dpsgd changes with training.learning_rate,")


def test_nothing_is_said_of_a_key_before_each_of_its_values_has_been_compared(
    tmp_path, monkeypatch
):
    """The third value, whose runs failed or are still to come, may make the difference."""
    points = {f"x={x}": {"training.x": x} for x in range(3)}
    runs = [tmp_path / label / "seed-0" / "m" for label in points]
    same = {"messages": {"sent": 1}}
    monkeypatch.setattr("netsim.recording.run_folder.summary", lambda _: same)
    assert unmoved_in(points, runs) != []
    assert unmoved_in(points, runs[:2]) == unmoved_in(points, runs[1:]) == []


@pytest.mark.parametrize(
    ("over", "because"),
    [
        ({"metrics.every_s": [0.5, 1.0]}, "rows of tables change"),
        ({"training.learning_rate": [0.1, 0.2]}, "nothing learns"),
        ({"algorithm.dpsgd.training.learning_rate": [0.1, 0.2]}, "nothing learns"),
        ({"run.threads": [1, 2]}, "it is not there to change results"),
    ],
)
def test_keys_that_change_tables_alone_or_can_change_nothing_are_not_told(tmp_path, over, because):
    found = netsim.sweep(SMALL, over, out=tmp_path / "s", jobs=1, timing_only=True)
    assert [line for line in found.warnings if "no number of" in line] == [], because


def test_a_key_without_effect_on_the_times_of_a_run_without_learning_is_told(tmp_path):
    over = {"algorithm.dpsgd.set.ideal_network": [True], "link.loss": [0.0, 0.5]}
    found = netsim.sweep(SMALL, over, out=tmp_path / "s", jobs=1, timing_only=True)
    (told,) = [line for line in found.warnings if "no number of" in line]
    assert told.startswith("no number of dpsgd changes with link.loss,")
