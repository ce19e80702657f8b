"""Parts of models that people bring: a head that is named, layers that normalise, frozen ones."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import netsim
from netsim.errors import NetsimError, ProtocolError, ScenarioError
from netsim.learning.architecture import build_architecture
from netsim.learning.columns import number_of
from netsim.models import Network


class Unnamed(nn.Module):
    """No part of it is called `features` or `head`."""

    def __init__(self, num_classes):
        super().__init__()
        self.enc, self.norm, self.fc = (
            nn.Linear(64, 9),
            nn.BatchNorm1d(9),
            nn.Linear(9, num_classes),
        )

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.enc(x.flatten(1)))))


def named(num_classes):
    """The same layers in the two parts that methods know."""
    layers = [nn.Flatten(), nn.Linear(64, 9), nn.BatchNorm1d(9), nn.ReLU()]
    return Network(nn.Sequential(*layers), nn.Linear(9, num_classes))


def played(small, here, model, kind, backend, **more):
    scenario = small.replace(
        model=model,
        algorithm=[{"kind": kind, **more}],
        run={"backend": backend},
        training={"batch_size": 5, "learning_rate": 0.1},
        metrics={"keep": ["theta"]},
    )
    return netsim.run(scenario)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sequential", "stacked", "auto"])
@pytest.mark.parametrize("kind", ["fedrep", "fedproto", "fedrod", "fedsim", "pfedsim"])
def test_a_head_that_is_named_is_the_head(small, here, kind, backend):
    more = {"general_rounds": 2} if kind == "pfedsim" else {}
    by_key = played(small, here, {"kind": Unnamed, "head": "fc"}, kind, backend, **more)
    in_parts = played(small, here, named, kind, backend, **more)
    if backend == "auto":  # the kernel may compute one form, and PyTorch the other
        models = [np.load(r.folder / "kept" / "theta.npz") for r in (by_key, in_parts)]
        for node, theta in models[0].items():
            np.testing.assert_allclose(theta, models[1][node], rtol=0, atol=1e-4)
    else:
        hashes = [r.summaries[kind]["parameters_sha256"] for r in (by_key, in_parts)]
        assert hashes[0] == hashes[1]
    by_key, in_parts = (r.summaries[kind]["messages"]["bits_offered"] for r in (by_key, in_parts))
    assert by_key == in_parts


@pytest.mark.slow
def test_a_method_without_parts_needs_no_head(small, here):
    run = played(small, here, Unnamed, "dpsgd", "auto")
    assert run.summaries["dpsgd"]["accuracy"]["mean"] > 0


@pytest.mark.parametrize("kind", ["fedrep", "fedproto"])
def test_a_method_that_needs_a_head_says_which_key_names_it(small, here, kind):
    with pytest.raises(NetsimError, match=r"\[model\] head ="):
        played(small, here, Unnamed, kind, "auto")


@pytest.mark.slow
def test_what_is_kept_of_a_model(small, here):
    keep = {"metrics": {"keep": ["theta", "head", "features"]}}
    scenario = small.replace(model={"kind": Unnamed, "head": "fc"}, **keep)
    run = netsim.run(scenario, algorithms=["local"])
    kept = {path.stem: np.load(path) for path in (run.folder / "kept").glob("*.npz")}
    assert set(kept) == {"theta", "head.weight", "head.bias", "features", "labels"}
    layers = 64 * 9 + 9 + 2 * 9
    for node, theta in kept["theta"].items():
        assert theta.shape == (layers + 10 * 9 + 10 + 2 * 9,)
        assert (theta[layers : layers + 90] == kept["head.weight"][node].ravel()).all()
    assert len(kept["theta"]) == 5
    with pytest.raises(ScenarioError, match=r"\[metrics\] keep: \"head\".* head ="):
        netsim.run(small.replace(model=Unnamed, **keep), algorithms=["local"])


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
        self.m, self.c = nn.LayerNorm(4), nn.Linear(4, 2)
        self.b.requires_grad_(False)


SIZES = {
    "parameters": 16 + 8 + 20 + 8 + 10,
    "buffers": 8,
    "normalisation": 16,
    "not normalisation": 46,
    "trained": 42,
    "frozen": 20,
    "not frozen": 42,
    "fully_connected": 46,
    "b": 20,
    "not b": 42,
    "not b.bias": 58,
    "head": 10,
    "backbone": 52,
    "head.bias": 2,
}


@pytest.fixture
def parts():
    cpu = torch.device("cpu")
    return build_architecture("parts", Parts(), cpu, torch.float64, 2, head="c")


@pytest.mark.parametrize("name", SIZES)
def test_parts_and_what_is_not_in_them(parts, name):
    columns = parts.columns(name)
    assert number_of(columns) == SIZES[name]
    assert all(a < b < c for (_, a), (b, c) in pairwise(columns))
    if name not in ("parameters", "buffers") and not name.startswith("not "):
        rest = parts.columns(f"not {name}")
        inside = {i for a, b in (*columns, *rest) for i in range(a, b)}
        assert inside == set(range(SIZES["parameters"]))


@pytest.mark.parametrize("name", ["nothing", "not parameters", "head.nothing"])
def test_what_is_no_part_names_those_there_are(parts, name):
    with pytest.raises(ProtocolError, match="it has parameters, buffers, trained, frozen"):
        parts.columns(name)


def test_a_model_that_draws_is_told_where_results_are_read(small, here):
    class Noisy(Unnamed):
        def forward(self, x):
            return super().forward(x + torch.randn_like(x))

    with pytest.warns(netsim.RunWarning, match="draws random numbers"):
        run = played(small, here, Noisy, "local", "auto")
    (route,) = json.loads((run.folder / "environment.json").read_text())["routes"].values()
    assert route["train"] == route["infer"] == "sequential"
    assert any("draws random numbers" in warning for warning in run.warnings)
