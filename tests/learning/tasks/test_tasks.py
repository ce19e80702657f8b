"""Losses and metrics of the tasks against closed forms and PyTorch's own."""

import math
from typing import ClassVar, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Task
from netsim.learning.tasks.classification import Classification
from netsim.learning.tasks.labelling import Labelling
from netsim.learning.tasks.next_token import NextToken
from netsim.learning.tasks.regression import Regression
from netsim.registry import family

TOLERANCE = {"rtol": 1e-12, "atol": 1e-14}


def samples(x, y, num_classes=1, **more):
    n = len(x)
    half = n // 2
    return Samples(
        x, y, np.arange(half), np.arange(half, n), num_classes, (), "made_up", "", **more
    )


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def labels(high, *shape, seed=1):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


CASES = {
    "classification": (Classification(), drawn(5, 3), labels(3, 5)),
    "regression": (Regression(), drawn(5, 2), drawn(5, 2, seed=1)),
    "next_token": (NextToken(), drawn(5, 4, 7), labels(7, 5, 4)),
    "labelling": (Labelling(), drawn(5, 2, 3, 4), labels(4, 5, 2, 3)),
    "scores_first": (Labelling(scores="first"), drawn(5, 4, 2, 3), labels(4, 5, 2, 3)),
}


def test_every_task_is_tried_here():
    assert set(family("netsim.learning.tasks")) <= set(CASES)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_that_of_the_weighted_losses(case):
    task, outputs, targets = CASES[case]
    weight = torch.rand(len(outputs), 1, generator=torch.Generator().manual_seed(2)).double()
    here = outputs.clone().requires_grad_()
    (expected,) = torch.autograd.grad((task.losses(here, targets) * weight[:, 0]).sum(), here)
    found = task.gradient(outputs.clone(), targets, weight)
    torch.testing.assert_close(found, expected, **TOLERANCE)
    general = Task.gradient(task, outputs, targets, weight)
    torch.testing.assert_close(general, expected, **TOLERANCE)


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_the_mean_of_the_losses_and_that_of_flat_outputs_the_same(case):
    task, outputs, targets = CASES[case]
    losses = task.losses(outputs, targets)
    assert losses.shape == (len(outputs),)
    torch.testing.assert_close(task.loss(outputs, targets), losses.mean(), **TOLERANCE)
    flat = task.losses(outputs.flatten(1), targets)
    torch.testing.assert_close(flat, losses, **TOLERANCE)


def test_losses_are_those_of_pytorch():
    task, outputs, targets = CASES["next_token"]
    expected = F.cross_entropy(outputs.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(task.loss(outputs, targets), expected, **TOLERANCE)
    task, outputs, targets = CASES["scores_first"]
    expected = F.cross_entropy(outputs, targets)
    torch.testing.assert_close(task.loss(outputs, targets), expected, **TOLERANCE)
    task, outputs, targets = CASES["regression"]
    expected = F.mse_loss(outputs, targets)
    torch.testing.assert_close(task.loss(outputs, targets), expected, **TOLERANCE)


def test_errors_of_three_and_four_have_a_root_mean_square_of_the_square_root_of_twelve_and_a_half():
    targets = torch.tensor([[1.0], [2.0]])
    found = Regression().metrics(targets + torch.tensor([[3.0], [-4.0]]), targets)
    assert found == {"rmse": pytest.approx(math.sqrt(12.5)), "mae": pytest.approx(3.5)}


def test_a_model_that_knows_nothing_hesitates_between_all_tokens():
    found = NextToken().metrics(torch.zeros(3, 5, 11), labels(11, 3, 5))
    assert found["perplexity"] == pytest.approx(11, rel=1e-12)


def test_perplexity_is_one_over_the_geometric_mean_of_the_probabilities():
    """p = 1/2, 1/4, 1/8, 1: the mean of -log2 is 6/4, perplexity 2^1.5; the first is a draw."""
    p = torch.tensor([[1 / 2, 1 / 2], [1 / 4, 3 / 4], [1 / 8, 7 / 8], [1.0, 0.0]]).double()
    found = NextToken().metrics(p.log()[None], torch.zeros(1, 4, dtype=torch.int64))
    assert found["perplexity"] == pytest.approx(2**1.5, rel=1e-12)
    assert found["token_accuracy"] == 0.5


def test_positions_that_do_not_count_change_nothing():
    tokens = np.array([[1, 2, 0, 3, 4], [2, 0, 0, 0, 0]])
    _, y, known, shape = NextToken(ignore=0).examples(samples(tokens, np.zeros(2, dtype=np.int64)))
    assert (known, shape) == (5, (4, 5))
    scores, targets = drawn(2, 4, 5), torch.from_numpy(y)
    found = NextToken(ignore=0)
    expected = F.cross_entropy(scores[0], targets[0], ignore_index=-100)
    losses = found.losses(scores, targets)
    torch.testing.assert_close(losses[0], expected, **TOLERANCE)
    assert losses[1] == 0.0  # none of its positions counts
    assert not found.gradient(scores.clone(), targets, torch.ones(2, 1))[1].any()
    assert found.metrics(scores, targets)["perplexity"] == pytest.approx(float(expected.exp()))


def test_intersection_over_union_by_hand():
    """Taken 0 0 1 1, true 0 1 1 1: class 0 1 of 2, class 1 2 of 3; class 2 is neither."""
    taken = torch.eye(3)[torch.tensor([[0, 0, 1, 1]])]
    found = Labelling().metrics(taken, torch.tensor([[0, 1, 1, 1]]))
    assert found["label_accuracy"] == 0.75
    assert found["mean_iou"] == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_next_token_learns_all_but_the_first_from_all_but_the_last():
    tokens = np.arange(12).reshape(2, 6)
    x, y, known, shape = NextToken().examples(samples(tokens, np.zeros(2, dtype=np.int64)))
    assert x.tolist() == tokens[:, :-1].tolist()
    assert y.tolist() == tokens[:, 1:].tolist()
    assert (known, shape) == (12, (5, 12))
    limited = samples(tokens, np.zeros(2, dtype=np.int64), input_limit=20)
    assert NextToken().examples(limited).num_outputs == 20


@pytest.mark.parametrize(
    ("task", "x", "y", "told"),
    [
        (Classification(), np.zeros((4, 2)), np.zeros(4), 'write [task] kind = "regression"'),
        (Classification(), np.zeros((4, 2)), np.zeros((4, 3), dtype=int), '"labelling"'),
        (NextToken(), np.zeros((4, 2, 2)), np.zeros(4, dtype=int), "sequences of token numbers"),
        (NextToken(), np.full((4, 3), 0.5), np.zeros(4, dtype=int), "sequences of token numbers"),
        (Labelling(), np.zeros((4, 2)), np.zeros(4, dtype=int), "a class for each position"),
        (Regression(), np.zeros((4, 2)), np.zeros((4, 2, 2)), "one or several numbers"),
    ],
)
def test_a_data_set_without_what_a_task_needs_is_refused(task, x, y, told):
    with pytest.raises(ScenarioError) as refused:
        task.examples(samples(x, y))
    assert told in str(refused.value)
    assert "made_up" in str(refused.value)


class Huber(Regression):
    kind: Literal["huber"] = "huber"
    main: ClassVar[str] = "mae"

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.huber_loss(outputs, targets, reduction="none").mean(1)


def test_a_task_with_losses_of_its_own_takes_no_closed_form_of_its_base():
    outputs, targets = 3 * drawn(5, 2), drawn(5, 2, seed=1)
    task = Huber()
    assert task.kernel_loss is None
    assert Regression().kernel_loss == "mean_squared"
    torch.testing.assert_close(
        task.loss(outputs, targets), F.huber_loss(outputs, targets), **TOLERANCE
    )
    here = outputs.clone().requires_grad_()
    (expected,) = torch.autograd.grad(F.huber_loss(here, targets), here)
    weight = torch.full((5, 1), 0.2, dtype=torch.float64)
    torch.testing.assert_close(task.gradient(outputs, targets, weight), expected, **TOLERANCE)


@pytest.mark.parametrize("seed", range(6))
def test_macro_f1_and_auc_are_scikit_learns(seed):
    """Of seven classes some are in no target; ties are made by rounding."""
    from sklearn.metrics import f1_score, roc_auc_score

    outputs = (2 * drawn(40, 7, seed=seed)).round() / 2
    targets = labels(5, 40, seed=seed) + seed % 3
    task = Classification(also=("macro_f1", "auc"))
    found = task.metrics(outputs, targets)
    assert list(found) == ["macro_f1", "auc"]
    expected = f1_score(targets, outputs.argmax(1), average="macro")
    assert found["macro_f1"] == pytest.approx(expected, abs=1e-12)
    p = torch.softmax(outputs, 1)
    areas = [roc_auc_score(targets == c, p[:, c]) for c in targets.unique()]
    assert found["auc"] == pytest.approx(sum(areas) / len(areas), abs=1e-12)


def test_f1_and_auc_by_hand_and_where_there_is_one_class_alone():
    """Predicted 0, 0, 1 of 0, 1, 1: F1 is 2/3 and 2/3; of class 0, 3 of 4 half pairs are right."""
    outputs = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    task = Classification(also=("macro_f1", "auc"))
    found = task.metrics(outputs, torch.tensor([0, 1, 1]))
    assert found == {"macro_f1": pytest.approx(2 / 3), "auc": pytest.approx(1.0)}
    tied = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert task.metrics(tied, torch.tensor([0, 1, 1]))["auc"] == pytest.approx(0.75)
    assert list(task.metrics(outputs, torch.tensor([1, 1, 1]))) == ["macro_f1"]
    assert Classification().metrics(outputs, torch.tensor([0, 1, 1])) == {}
