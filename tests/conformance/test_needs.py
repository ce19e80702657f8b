"""Each shipped method against odd scenarios: it plays, or it is refused before anything happens."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from torch import nn

from netsim import world
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.models import ModelKind
from netsim.protocols.declaration import declaration_of
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of
from netsim.testing.algorithms import AlgorithmCase, shortest
from netsim.testing.small_world import SCHEDULES, tables


class Headless(ModelKind):
    """Layers in one row, none of which is called a head."""

    kind: Literal["headless"] = "headless"

    def build(self, input_shape, num_classes):
        """Make the layers."""
        layers = [nn.Linear(int(np.prod(input_shape)), 6), nn.ReLU(), nn.Linear(6, num_classes)]
        return nn.Sequential(nn.Flatten(), *layers)


KINDS = kinds_of(()).plus(Headless)
SPLIT = {"kind": "iid", "train_samples": 20, "test_samples": 5}
DIGITS = {"kind": "digits", "validation": 0.2, "partition": SPLIT}
SERVERS = [{"name": "servers", "count": 1, "role": "server"}]
ODD: dict[str, dict[str, Any]] = {
    "no validation": {"data": {**DIGITS, "validation": 0.0}},
    "no head": {"model": {"kind": "headless"}},
    "head alone": {"model": {"kind": "mlp", "hidden": []}},
    "models differ": {"model": [{"kind": "mlp", "hidden": [4]}, {"kind": "mlp", "hidden": [6]}]},
    "no images": {"data": {"kind": "diabetes", "validation": 0.2}, "task": {"kind": "regression"}},
    "two servers": {"nodes": {"count": 6, "groups": [{**SERVERS[0], "count": 2}]}},
    "servers aside": {"nodes": {"count": 5, "groups": SERVERS}, "topology": {"kind": "hub"}},
    "servers alone": {
        "nodes": {"count": 5, "groups": SERVERS},
        "topology": {"kind": "hub", "centre": 0},
    },
    "one node": {"nodes": {"count": 1}},
    "one sample": {"data": {**DIGITS, "partition": {**SPLIT, "train_samples": 2}}},
}
"""Small scenarios that are valid, and that not every method can play."""
PLAYED_BY_ALL = {"one node", "one sample", "servers aside"}


def cases(odd: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every method with its shortest Params, and with keys that need more of the data."""
    has_server = "groups" in ODD[odd].get("nodes", {})
    for kind, module in KINDS.items():
        lacks_server = declaration_of(module).needs_server and not has_server
        if not declaration_of(module).learns or lacks_server:
            continue  # it needs no data, or is refused in any of these
        params = {} if kind == "pens" else shortest(module.Params)
        if odd in ("no images", "no validation"):
            more = {"augment": odd == "no images", "fine_tune_after": 1, "fine_tune": True}
            params |= {
                key: value for key, value in more.items() if key in module.Params.model_fields
            }
        yield kind, AlgorithmCase(KINDS, kind).schedules[-1], params


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_a_scenario_that_a_method_cannot_play_is_refused_before_anything_happens(odd):
    refused, played = {}, set()
    for kind, schedule, params in cases(odd):
        changed = {"horizon_s": 11.0, "params": params, **ODD[odd]}
        timing_only = not declaration_of(KINDS[kind]).needs_values
        try:
            scenario = from_dict(tables(kind, SCHEDULES[schedule], **changed), "odd", kinds=KINDS)
            run = Simulation(world.build(scenario), scenario.algorithm[0], None, timing_only, None)
        except ScenarioError as error:
            refused[kind] = str(error)
            continue
        run.to_horizon()
        run.finish(None)
        played.add(kind)
    for told in refused.values():
        assert re.search(r"\[\w+[\].].*[;:.] ", told), told  # where in the file, and what to do
    assert ("local" in played) == (odd != "no images")  # `augment` is set there
    assert bool(refused) == (odd not in PLAYED_BY_ALL)
    if odd == "no validation":
        assert set(refused) == {"dpfl", "l2c", "meta_l2c", "fedfomo", "fedavg_ft", "fedprox"}


def test_methods_that_look_at_validation_samples_say_so():
    verbs = re.compile(
        r"\"validation\"|node\.(select|pool)\(|node\.(loss|gradient)\(\w+\)(?!, )",
    )
    for kind, module in KINDS.items():
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        declared = module.processes.__dict__.get("declaration")
        says = bool(declared and declared.needs_validation)
        looks = bool(verbs.search(source.partition('"""\n')[2]))
        assert says or not looks, kind


def test_a_node_without_validation_samples_is_named():
    """Shards that overlap lose rows to a pool of few: some may lose none."""
    scenario = from_dict(
        tables(
            "l2c",
            SCHEDULES["rounds"],
            data={
                **DIGITS,
                "validation": 0.01,
                "partition": {"kind": "iid", "train_samples": 5, "test_samples": 5},
            },
        )
    )
    built = world.build(scenario)
    rows = list(built.shards.rows)
    rows[3] = type(rows[3])(rows[3].train, rows[3].validation[:0], rows[3].test)
    built.shards.rows = type(built.shards.rows)(rows)
    with pytest.raises(ScenarioError, match=r"\[data\] validation = 0.01: .* node 3 has none"):
        Simulation(built, scenario.algorithm[0], None, True, None)


def test_needs_are_stated_as_names_or_functions():
    module = KINDS["mapl"]
    plain, mixed = module.Params(), module.Params(mix_backbones=True)
    assert declaration_of(module).common(plain) == ("head.weight",)
    assert "backbone" in declaration_of(module).parts(mixed)
    assert not declaration_of(KINDS["fedavg_ft"]).validates(KINDS["fedavg_ft"].Params())
