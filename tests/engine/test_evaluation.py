"""The evaluator on invented models whose outputs are known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from netsim.engine.evaluation import Evaluator
from netsim.errors import ProtocolError
from netsim.learning.architecture import Traits
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import NodeRows, Shards
from netsim.learning.tasks.classification import Classification
from netsim.node.checks import MixingCheck
from netsim.node.publishing_verbs import Publication, PublishingVerbs
from netsim.recording.recorder import Recorder
from netsim.recording.run_warnings import RunWarnings

# class of each sample, and the class that every model takes it for
LABELS = torch.tensor([0, 0, 1, 1, 0, 0, 0, 1, 2, 2])
GUESSES = torch.tensor([0, 0, 0, 0, 0, 1, 2, 1, 0, 2])
COMMON = [4, 5, 6, 7, 8]


def rows(*ids):
    return np.array(ids, dtype=np.int64)


def predict(model, x):
    return torch.nn.functional.one_hot(x[:, 0].long(), 3).float()


@pytest.fixture
def measure():
    """Metrics of one evaluation, {(metric, node): value}."""

    def run(*nodes, malicious=(), common=COMMON, task=None):
        module = torch.nn.Identity()
        architecture = SimpleNamespace(
            traits=Traits(), module=module, bind=lambda row: module, num_outputs=3
        )
        ref = Ref(0, Cell(None, (1,), architecture, torch.zeros(1)))
        common_rows = {"common_test": rows(*common), "common_validation": rows()}
        learning = SimpleNamespace(
            timing_only=False,
            scheduler=SimpleNamespace(
                fetch_cells=iter,
                flush=lambda: None,
                require_unchanged=lambda: None,
                computes=True,
                backend=SimpleNamespace(predictions=lambda asked: []),
            ),
            shards=Shards(GUESSES[:, None].double(), LABELS, nodes, common_rows, 2, None),
        )
        learning.shards.task = task or learning.shards.task
        parts = []
        for i in range(len(nodes)):
            publishing = PublishingVerbs(i, None, [], MixingCheck(RunWarnings()), RunWarnings())
            publishing.published["mixed"] = Publication(ref, "mixed", predict, ())
            processor = SimpleNamespace(local_steps=0)
            parts.append(SimpleNamespace(id=i, processor=processor, publishing=publishing))
        recorder = Recorder(None)
        bits_transmitted_by, spent_j = lambda node: 0, lambda node, time_ns: 0.0
        bad = frozenset(malicious)
        run.evaluator = Evaluator(
            parts, learning, recorder, bits_transmitted_by, spent_j, bad, [], 3, ()
        )
        run.evaluator.run(0)
        found = recorder.metric_rows()
        return {
            (metric, node): value
            for metric, node, value in zip(
                found["metric"], found["node"], found["value"], strict=True
            )
        }

    return run


def test_personal_accuracy_weighs_classes_as_the_node_has_them(measure):
    """Common samples: class 0 right in 1 of 3, class 1 in 1 of 1, class 2 in 0 of 1.

    Node 0 has classes 0, 0, 1 in training and 1 in validation, shares (1/2, 1/2, 0):
    (1/2 * 1 + 1/2 * 1) / (1/2 * 3 + 1/2 * 1) = 1/2. Node 1 has class 1 only: 1/1.
    """
    found = measure(
        NodeRows(rows(0, 1, 2), rows(3), rows(4)), NodeRows(rows(2, 3), rows(), rows(7))
    )
    assert found["accuracy_personal", 0] == pytest.approx(0.5)
    assert found["accuracy_personal", 1] == pytest.approx(1.0)
    assert found["accuracy_all_classes", 0] == found["accuracy_all_classes", 1] == 0.4


def test_personal_accuracy_of_a_balanced_node_is_that_on_all_classes(measure):
    found = measure(NodeRows(rows(0, 2, 8), rows(), rows(4)))
    assert found["accuracy_personal", 0] == pytest.approx(found["accuracy_all_classes", 0])


def test_without_common_samples_of_its_classes_a_node_has_no_personal_accuracy(measure):
    found = measure(NodeRows(rows(2, 3), rows(), rows(7)), common=[4, 5])
    assert ("accuracy_personal", 0) not in found
    assert ("accuracy_all_classes", 0) in found


def test_a_metric_of_some_nodes_alone_is_told_of(measure):
    """Both test samples of node 1 are of one class, of which no AUC tells."""
    first, second = (
        NodeRows(rows(0, 1), rows(), rows(5, 7)),
        NodeRows(rows(0, 1), rows(), rows(2, 3)),
    )
    task = Classification(also=("macro_f1", "auc"))
    for nodes, many in (((first, second), "auc (1)"), ((second, second), "auc (0)")):
        measure(*nodes, task=task)
        (told,) = measure.evaluator.partly_measured()
        assert many in told
        assert "of 2 nodes" in told
    measure(first, first, task=task)
    assert measure.evaluator.partly_measured() == []


def test_malicious_nodes_have_metrics_of_their_own(measure):
    shard = NodeRows(rows(0, 1, 2), rows(), rows(4))
    found = measure(shard, shard, malicious=[1])
    assert found["malicious_accuracy_personal", 1] == found["accuracy_personal", 0]
    assert ("accuracy", 1) not in found


@pytest.fixture
def series():
    """Evaluations of five nodes one after another, and what each asked of the backend."""

    def run(*evaluations, predict=None):
        architecture = SimpleNamespace(
            traits=Traits(), module=torch.nn.Identity(), bind=lambda row: row, num_outputs=3
        )
        asked, calls = [], []

        def predictions(wanted):
            asked.extend((ref.cell, rows) for ref, rows in wanted)
            calls.append(len(wanted))
            return [outputs(ref.tensor(), rows) for ref, rows in wanted]

        def outputs(model, rows):
            generator = torch.Generator().manual_seed(int(model))
            return torch.randn(len(LABELS), 3, generator=generator)[torch.from_numpy(rows)]

        test = [rows(4), rows(5, 6), rows(7, 8, 9), rows(4, 9), rows(8)]
        shards = [NodeRows(rows(0, 1, 2), rows(3), own) for own in test]
        common = {"common_test": rows(*COMMON), "common_validation": rows(3, 9)}
        learning = SimpleNamespace(
            timing_only=False,
            scheduler=SimpleNamespace(
                fetch_cells=iter,
                flush=lambda: None,
                require_unchanged=lambda: None,
                computes=True,
                backend=SimpleNamespace(predictions=predictions),
            ),
            shards=Shards(GUESSES[:, None].double(), LABELS, shards, common, 2, None),
        )
        parts = [
            SimpleNamespace(
                id=i,
                processor=SimpleNamespace(local_steps=0),
                publishing=PublishingVerbs(i, None, [], MixingCheck(RunWarnings()), RunWarnings()),
            )
            for i in range(len(test))
        ]
        recorder = Recorder(None)
        evaluator = Evaluator(
            parts, learning, recorder, lambda _: 0, lambda *_: 0.0, frozenset(), [], 3, ()
        )
        cells, passes = {}, []
        for time_s, published in enumerate(evaluations):
            for node, (model, *given) in published.items():
                if model not in cells:
                    cells[model] = Cell(None, (), architecture, torch.tensor(float(model)))
                ref = Ref(node, cells[model])
                parts[node].publishing.published["x"] = Publication(ref, "x", predict, tuple(given))
            asked.clear()
            evaluator.run(time_s * 10**9)
            passes.append(list(asked))
        found = recorder.metric_rows()
        values = {}
        for t, node, metric, value in zip(
            *(found[c] for c in ("t_s", "node", "metric", "value")), strict=True
        ):
            values.setdefault(int(t), {})[int(node), metric] = value
        return values, passes, calls

    return run


OWN = {0: (0,), 1: (1,), 2: (2,), 3: (3,), 4: (4,)}


def test_models_that_did_not_change_are_not_measured_again(series):
    values, passes, _ = series(OWN, {}, {1: (7,)}, {1: (7,)})
    assert [len(p) for p in passes] == [4 * 5, 0, 4, 0]  # a pass a split
    assert values[0] == values[1]
    assert values[2] == values[3]
    changed = {
        node for (node, metric), value in values[2].items() if value != values[1][node, metric]
    }
    assert changed == {1}
    assert values[2] == series({**OWN, 1: (7,)})[0][0]


def test_a_model_that_several_nodes_have_goes_through_common_samples_once(series):
    shared = {node: (3,) for node in range(4)} | {4: (4,)}
    values, (passes,), _ = series(shared)
    # test and validation samples are each node's own; two models, two common splits
    assert len(passes) == 2 * 5 + 2 * 2
    for node in range(5):
        alone, _, _ = series({node: shared[node]})
        assert alone[0] == {key: value for key, value in values[0].items() if key[0] == node}


def test_all_splits_of_a_model_go_in_one_call(series):
    assert series(OWN)[2] == [20]


def test_many_models_are_measured_in_parts(series, monkeypatch):
    whole, _, _ = series(OWN)
    monkeypatch.setattr("netsim.engine.evaluation.SAMPLES_AT_ONCE", 7)
    values, _, calls = series(OWN)
    assert len(calls) > 5
    assert values == whole


def shifted(model, x, by):
    shown.append(float(by))
    return torch.nn.functional.one_hot((x[:, 0].long() + int(by)) % 3, 3).float()


shown = []


@pytest.mark.parametrize(
    ("second", "again"),
    [(1, False), (2, True), (True, True), (torch.tensor(1.0), True)],
    ids=["same", "other", "other type", "may have changed"],
)
def test_what_an_algorithms_own_prediction_is_given_counts_as_change(series, second, again):
    shown.clear()
    series({0: (0, 1)}, {0: (0, second)}, predict=shifted)
    assert len(shown) == (8 if again else 4)


def test_a_given_value_counts_by_its_cell(series):
    values = [Ref(0, Cell(None, (), None, torch.tensor(float(k)))) for k in (1, 1)]
    for second, times in ((values[0], 4), (values[1], 8)):
        shown.clear()
        by = lambda model, x, ref: shifted(model, x, ref)  # noqa: E731
        series({0: (0, values[0])}, {0: (0, second)}, predict=by)
        assert len(shown) == times


def too_few(model, x):
    return torch.zeros(len(x), 2)


def classes_alone(model, x):
    return torch.zeros(len(x), dtype=torch.int64)


def turned(model, x):
    return torch.zeros(3, len(x))


@pytest.mark.parametrize("predict", [too_few, classes_alone, turned])
def test_predictions_of_another_shape_than_the_models_are_refused(series, predict):
    """Two numbers for three classes measured well where a node had no sample of the third."""
    with pytest.raises(ProtocolError, match=rf"{predict.__name__}.*it must give \(1, 3\)"):
        series({0: (0,)}, predict=predict)
