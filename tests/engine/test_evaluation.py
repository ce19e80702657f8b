"""The evaluator on invented models whose outputs are known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from netsim.engine.evaluation import Evaluator
from netsim.learning.shards import NodeRows, Shards
from netsim.node.publishing_verbs import Publication
from netsim.recording.recorder import Recorder

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

    def run(*nodes, malicious=(), common=COMMON):
        ref = SimpleNamespace(
            architecture=SimpleNamespace(bind=lambda row: torch.nn.Identity(), num_outputs=3),
            tensor=lambda: None,
        )
        common_rows = {"common_test": rows(*common), "common_validation": rows()}
        ctx = SimpleNamespace(
            timing_only=False,
            scheduler=SimpleNamespace(
                flush=lambda: None, backend=SimpleNamespace(predictions=lambda asked: [])
            ),
            recorder=Recorder(None),
            malicious=frozenset(malicious),
            shards=Shards(GUESSES[:, None].double(), LABELS, nodes, common_rows, 2, None),
            architectures=[ref.architecture] * len(nodes),
            link=SimpleNamespace(bits_sent_by=lambda node: 0),
            meter=SimpleNamespace(spent_j=lambda node, time_ns: 0.0),
            nodes=[
                SimpleNamespace(
                    id=i, local_steps=0, published={"mixed": Publication(ref, "mixed", predict, ())}
                )
                for i in range(len(nodes))
            ],
        )
        Evaluator(ctx, ()).run(0)
        found = ctx.recorder.metric_rows()
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


def test_malicious_nodes_have_metrics_of_their_own(measure):
    shard = NodeRows(rows(0, 1, 2), rows(), rows(4))
    found = measure(shard, shard, malicious=[1])
    assert found["malicious_accuracy_personal", 1] == found["accuracy_personal", 0]
    assert ("accuracy", 1) not in found
