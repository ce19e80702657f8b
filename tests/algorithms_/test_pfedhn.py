"""pFedHN: whole runs against Algorithm 1, the hypernetwork as a torch.nn.Module."""

import pandas as pd
import pytest
import torch
from torch import nn

from algorithms.pfedhn import Params, drawn, form
from netsim.errors import NetsimError

from .transcription import (
    HIDDEN,
    LOSSY,
    NODES,
    ROUNDS,
    SERVER,
    WORLD,
    Given,
    sgd,
    shown,
)

EXACT = {"rtol": 0, "atol": 1e-12}
SMALL = {"kind": "pfedhn", "embedding": 4, "hidden": 8, "hidden_layers": 2, "rate": 0.05}
OUTPUTS = 65 * HIDDEN + 10 * (HIDDEN + 1)


class Hypernetwork(nn.Module):
    def __init__(self, nodes, embedding, hidden, layers, outputs):
        super().__init__()
        self.embeddings = nn.Embedding(nodes, embedding)
        inside = [nn.Linear(embedding, hidden)]
        for _ in range(layers):
            inside += [nn.ReLU(), nn.Linear(hidden, hidden)]
        self.network = nn.Sequential(*inside, nn.Linear(hidden, outputs))

    def forward(self, i):
        return self.network(self.embeddings.weight[i])


def transcription(run, visits, clip):
    given, streams = Given(run), run.world.streams
    h = Hypernetwork(NODES, 4, 8, 2, OUTPUTS).double()
    (u,) = streams.uniforms("common/hypernetwork", counters=range(1))
    row = drawn(given.initial, form(NODES, Params(**tuned(SMALL)), OUTPUTS), int(u * 2**31))
    nn.utils.vector_to_parameters(row, h.parameters())
    optimizer = torch.optim.SGD(h.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    taken, trained = [0] * NODES, [None] * NODES
    for t in range(ROUNDS):
        who = range(NODES)
        if visits:
            draws = streams.uniforms("common/visits", counters=range(NODES * t, NODES * (t + 1)))
            who = sorted(sorted(range(NODES), key=lambda i: draws[i])[:visits])
        made = {i: h(i).detach() for i in who}
        for i in who:
            trained[i] = sgd(made[i], given.epoch(i, taken[i]))
            taken[i] += 1
        for i in who:
            optimizer.zero_grad()
            h(i).backward(made[i] - trained[i])
            nn.utils.clip_grad_norm_(h.parameters(), clip)
            optimizer.step()
    return trained, [h(i).detach() for i in range(NODES)]


def tuned(algorithm):
    return {key: value for key, value in algorithm.items() if key != "kind"}


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize(("visits", "clip"), [(None, 50.0), (None, 0.2), (2, 50.0)])
def test_pfedhn(play, world, visits, clip):
    run = play(SMALL | {"clip": clip} | ({"visits": visits} if visits else {}), **world)
    trained, made = transcription(run, visits, clip)
    for i in range(NODES):
        published = run.parts[i].publishing.published
        if trained[i] is None:
            assert "trained" not in published
        else:
            torch.testing.assert_close(published["trained"].ref.tensor(), trained[i], **EXACT)
    if world is WORLD or visits is None:
        for mine, theirs in zip(shown(run, "mixed"), made, strict=True):
            torch.testing.assert_close(mine, theirs, **EXACT)


def test_a_hypernetwork_is_as_large_as_that_of_pfedgraph():
    assert sum(rows * columns for rows, columns in form(10, Params(), 62_006)) == 6_295_206


def test_a_model_goes_down_and_a_change_up_for_each_visit(play, tmp_path):
    play(SMALL | {"visits": 2}, tmp_path / "run", **SERVER)
    log = pd.read_parquet(tmp_path / "run" / "messages")
    assert set(log.bits) == {32 * OUTPUTS}
    assert dict(log.kind.value_counts()) == {"Change": 2 * ROUNDS, "Generated": 2 * ROUNDS}


@pytest.mark.slow
def test_changes_that_are_too_old_are_not_applied(play):
    plain, changed = (play({**SMALL, **more}, **LOSSY) for more in ({}, {"max_age_s": 0.001}))
    assert not torch.equal(shown(plain, "mixed")[0], shown(changed, "mixed")[0])


@pytest.mark.parametrize("absent", ["self", "last"])
def test_a_change_is_applied_once(play, absent):
    with pytest.raises(NetsimError, match="absent"):
        play({**SMALL, "absent": absent}, **WORLD)
