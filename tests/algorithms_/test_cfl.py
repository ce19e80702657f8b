"""CFL: whole runs against Algorithms 1 to 3, written down in plain PyTorch."""

import pytest
import torch

from algorithms.cfl import bipartition, gap, split

from .transcription import (
    LOSSY,
    NODES,
    ROUNDS,
    SERVER,
    WORLD,
    Given,
    sgd,
    shown,
)
from .weights import logged

EXACT = {"rtol": 0, "atol": 1e-12}
BASE = {"kind": "cfl", "eps_1": 2.0, "eps_2": 0.1}


def halves(members, u, linkage):
    """Merge the two nearest groups until two are left."""
    groups = [[i] for i in members]

    def distance(a, b):
        every = [-float(u[i] @ u[j] / u[i].norm() / u[j].norm()) for i in a for j in b]
        return max(every) if linkage == "complete" else min(every)

    while len(groups) > 2:
        pairs = [(a, b) for a in range(len(groups)) for b in range(a)]
        a, b = min(pairs, key=lambda pair: distance(groups[pair[0]], groups[pair[1]]))
        groups[b] = groups[b] + groups.pop(a)
    return groups


def transcription(given, eps_1, eps_2, linkage):
    theta = [given.initial for _ in range(NODES)]
    clusters, history = [list(range(NODES))], []
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        u = [trained[i] - theta[i] for i in range(NODES)]
        after = []
        for c in clusters:
            small = (sum(u[i] for i in c) / len(c)).norm() < eps_1
            if len(c) > 2 and small and max(u[i].norm() for i in c) > eps_2:
                after += halves(c, u, linkage)
            else:
                after.append(c)
        clusters = after
        for c in clusters:
            change = sum(u[i] for i in c) / len(c)
            for i in c:
                theta[i] = theta[i] + change
        history.append([sorted(c) for c in clusters])
    return trained, theta, history


@pytest.mark.thinned(2)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize("linkage", ["complete", "single"])
@pytest.mark.parametrize("eps_1", [0.0, 2.0], ids=["one cluster", "several"])
def test_cfl(play, world, linkage, eps_1):
    run = play(BASE | {"eps_1": eps_1, "linkage": linkage}, **world)
    trained, theta, history = transcription(Given(run), eps_1, 0.1, linkage)
    for stage, expected in (("trained", trained), ("mixed", theta)):
        for mine, theirs in zip(shown(run, stage), expected, strict=True):
            torch.testing.assert_close(mine, theirs, **EXACT)
    last = {i: ref.tensor().tolist() for _, i, _, ref in logged(run)}
    for c in history[-1]:
        for i in c:
            assert last[i] == [float(j in c) / len(c) for j in range(NODES)]
    assert (len(history[-1]) > 1) == (eps_1 > 0)


def test_parts_are_those_that_point_alike():
    angles = torch.tensor([0.0, 0.5, 1.0, 2.2, 2.6])
    updates = torch.stack([angles.cos(), angles.sin()], dim=1)
    assert bipartition(updates, "complete") == [0, 0, 0, 1, 1]
    assert bipartition(updates, "single") == [0, 0, 0, 1, 1]
    chain = torch.tensor([0.0, 0.45, 1.0, 1.48, 2.1])
    updates = torch.stack([chain.cos(), chain.sin()], dim=1)
    assert bipartition(updates, "complete") == [0, 0, 1, 1, 1]
    assert bipartition(updates, "single") == [0, 0, 0, 0, 1]
    assert len(set(bipartition(torch.ones(4, 3), "complete"))) == 2


def test_an_absent_member_goes_with_the_larger_part():
    u = [torch.tensor(row) for row in ([3.0, 0.0], [-3.0, 0.1], [-3.0, -0.1])]
    together, graph = split(
        torch.ones(4, 4), u, (0, 1, 3), (1,), (1, 1, 1), 2.0, 2.5, None, "complete"
    )
    assert together.tolist() == [[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]
    assert graph.tolist() == [[0, 0.5, 0.5]]
    for eps_1, eps_2 in ((0.9, 2.5), (2.0, 3.1)):
        same, _ = split(
            torch.ones(4, 4), u, (0, 1, 3), (1,), (1, 1, 1), eps_1, eps_2, None, "complete"
        )
        assert same.equal(torch.ones(4, 4))
    two, _ = split(torch.ones(4, 4), u[:2], (0, 1), (1,), (1, 1), 2.0, 2.5, None, "complete")
    assert two.equal(torch.ones(4, 4))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("change", [{"absent": "self"}, {"absent": "last"}, {"max_age_s": 0.001}])
def test_absence_counts_where_messages_are_lost(play, change):
    plain, changed = (play({**BASE, "eps_1": 0.0, **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "mixed"), shown(changed, "mixed"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)


def test_a_split_needs_a_gap_above_gamma_max():
    """Updates at 0, 90 and 180 degrees: across {0, 90} and {180} the largest cosine is 0."""
    u = [torch.tensor(v, dtype=torch.float64) for v in ([3.0, 0.0], [0.0, 3.0], [-3.0, 0.0])]
    assert gap(torch.stack(u), [0, 0, 1]) == pytest.approx(0.5**0.5)
    args = (torch.ones(3, 3).double(), u, (0, 1, 2), (0,), (1, 1, 1), 2.0, 2.5)
    assert split(*args, 0.70, "complete")[0][0].sum() < 3
    assert split(*args, 0.71, "complete")[0][0].sum() == 3


def test_sizes_weigh_the_mean_of_the_test_and_of_the_models():
    """(3 - 3) / 2 = 0 has arrived, (2 * 3 - 3) / 3 = 1 has not; a third member is level."""
    u = [torch.tensor([v], dtype=torch.float64) for v in (3.0, -3.0, 0.001)]
    args = (torch.ones(3, 3).double(), u, (0, 1, 2), (0,))
    assert split(*args, (1, 1, 1), 0.5, 2.5, None, "complete")[0][0].sum() < 3
    together, graph = split(*args, (2, 1, 1), 0.5, 2.5, None, "complete")
    assert together[0].sum() == 3
    assert graph[0].tolist() == pytest.approx([0.5, 0.25, 0.25])
