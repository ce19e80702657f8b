"""Python objects where a scenario names a kind."""

import itertools
import re
import sys
import types
from typing import Literal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset

import netsim
from netsim import api, world
from netsim.channels.packet_error import PacketError
from netsim.models.mlp import Mlp
from netsim.world.remarks import remarks


class Net(nn.Module):
    def __init__(self, input_shape, num_classes, width=6):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(input_shape[-1] ** 2, width))
        self.head = nn.Linear(width, num_classes)

    def forward(self, x):
        return self.head(self.features(x))


class Gossip:
    """Average what arrives."""

    class Params(api.Params):
        local_steps: api.Count = 2

    @staticmethod
    @api.algorithm(knows_servers=False)
    def processes(node, params):
        return [on_wakeup(node, params)]


def on_wakeup(node, params):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        received = yield node.exchange(api.Model(theta))
        thetas = [theta, *(r.msg.theta for r in received.values())]
        theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
        node.publish(theta, "mixed")


class Flat(PacketError):  # noqa: N818 - no exception
    """As many packets are lost everywhere."""

    share: float = 0.25

    def probability(self, snr, packet_bits, threshold):
        return self.share


class Squares(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, i):
        return torch.full((2,), float(i)), i % 3


def test_a_model_class_is_built_for_the_data(small):
    own = small.replace(model=Net)
    built = world.build(own.tables)
    assert own.model[0].kind == "Net"
    assert built.architectures[0].num_parameters == 64 * 6 + 6 + 6 * 10 + 10


def test_an_nn_sequential_has_its_last_layer_as_head(small):
    own = small.replace(
        model=lambda num_classes: nn.Sequential(nn.Flatten(), nn.Linear(64, num_classes))
    )
    architecture = world.build(own.tables).architectures[0]
    assert own.model[0].kind == "model"
    assert architecture.columns("head") == ((0, 650),)


def test_a_module_is_where_all_nodes_start(small):
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    built = world.build(small.replace(model=module, training__common_initial=False).tables)
    assert torch.equal(built.initial[3][:640], module[1].weight.detach().reshape(-1))


def starting_from(draw):
    """A factory of models with weights that are drawn so."""

    def make(num_classes):
        linear = nn.Linear(64, num_classes)
        nn.init.zeros_(linear.bias)
        linear.weight.data.copy_(torch.as_tensor(draw(num_classes, 64)))
        return nn.Sequential(nn.Flatten(), linear)

    return make


OWN, COUNT = torch.Generator().manual_seed(1), itertools.count()


@pytest.mark.parametrize(
    "draw",
    [
        lambda *size: torch.randn(size, generator=OWN),
        lambda *size: np.random.default_rng().random(size),
        lambda *size: np.full(size, next(COUNT)),
    ],
)
def test_starts_that_no_seed_sets_are_refused(small, draw):
    with pytest.raises(netsim.ScenarioError, match="weight has other values at each call"):
        world.build(small.replace(model=starting_from(draw)).tables)


@pytest.mark.parametrize("draw", [torch.zeros, np.eye])
def test_starts_of_their_own_that_are_all_alike_are_remarked(small, draw):
    make = starting_from(draw)
    built = world.build(small.replace(model=make, training__common_initial=False).tables)
    assert sum("common_initial = false has no effect" in text for text in remarks(built)) == 1
    drawn = world.build(small.replace(model=Net, training__common_initial=False).tables)
    assert not any("common_initial" in text for text in remarks(drawn))


def test_several_architectures_and_shipped_components_as_objects(small):
    own = small.replace(model=[Net, Mlp(hidden=(3,)), {"kind": Net}])
    assert [model.kind for model in own.model] == ["Net", "mlp", "Net"]
    assert own.model[1].hidden == (3,)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda width: None, r"asks for width; it is given input_shape and num_classes"),
        (lambda: 3, "no torch.nn.Module"),
        (
            {"kind": lambda: nn.Sequential(nn.Linear(64, 10)), "head": "1"},
            "no submodule of it; its submodules are 0",
        ),
        ({"kind": lambda: nn.Sequential(nn.Linear(64, 10)), "head": "0"}, "holds every parameter"),
        (3, "is no model"),
    ],
)
def test_what_is_no_model_is_told(small, model, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        world.build(small.replace(model=model).tables)


BODY = nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
WIDTHS = iter(range(3, 99))


def on_a_shared_body(num_classes):
    return nn.Sequential(BODY, nn.ReLU(), nn.Linear(5, num_classes))


def of_another_width(num_classes):
    width = next(WIDTHS)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Linear(width, num_classes))


def that_fails(num_classes):
    return {}[num_classes]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (on_a_shared_body, r"gives the parameter .*weight that it has given before.*deepcopy"),
        (of_another_width, "makes a model of another form at each call"),
        (that_fails, "can't be built: KeyError: 10"),
    ],
)
def test_a_function_that_makes_no_model_of_its_own_is_told(small, model, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        netsim.run(small.replace(model=model))


def test_arrays_are_a_data_set(small):
    x, y = np.arange(200.0).reshape(100, 2), np.arange(100) % 4
    own = small.replace(data={"kind": (x, y), "test_fraction": 0.2}, data__partition=None)
    samples = world.build(own.tables).samples
    assert (samples.num_classes, samples.input_shape) == (4, (2,))
    assert (len(samples.train), len(samples.test)) == (80, 20)
    assert np.bincount(samples.y[samples.test]).tolist() == [5] * 4
    assert own.data.kind == "arrays"


def test_training_and_test_samples_may_be_given_apart(small):
    train = torch.arange(80.0).reshape(40, 2), torch.arange(40) % 2
    test = TensorDataset(torch.zeros(10, 2), torch.zeros(10, dtype=torch.long))
    own = small.replace(data=(train, test), data__partition=None)
    samples = world.build(own.tables).samples
    assert samples.train.tolist() == list(range(40))
    assert samples.test.tolist() == list(range(40, 50))


def test_a_torch_dataset_is_read_item_by_item(small):
    own = small.replace(data=Squares(), data__partition=None)
    samples = world.build(own.tables).samples
    assert own.data.kind == "Squares"
    assert samples.x[7].tolist() == [7.0, 7.0]
    assert own.data.validation == 0.2  # keys of [data] outlive a change of kind


@pytest.mark.slow
def test_whole_numbers_stay_whole_and_other_targets_are_numbers(small):
    x, tokens = np.arange(60.0).reshape(20, 3), np.arange(60).reshape(20, 3) % 7
    own = small.replace(data=(x, x[:, 0]), data__partition=None, task={"kind": "regression"})
    samples = world.build(own.tables).samples
    assert samples.y.dtype == np.float64
    assert not samples.has_classes
    words = small.replace(data=(tokens, np.zeros(20, dtype=int)), data__partition=None)
    assert world.build(words.replace(model=Embedded).tables).shards.x.dtype == torch.int64
    assert words.tables.data.load(None).input_limit == 7
    with pytest.raises(netsim.ScenarioError, match=r'write \[task\] kind = "regression"'):
        world.build(own.replace(task={"kind": "classification"}).tables)


class Embedded(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Embedding(7, 2), nn.Flatten())
        self.head = nn.Linear(6, num_classes)

    def forward(self, x):
        return self.head(self.features(x))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"kind": "text_cnn", "vocabulary": 59, "kernels": [2]}, "vocabulary = 59.*; set .* = 60"),
        ({"kind": "matrix_factorization", "users": 57}, "users = 57, .* 0 to 57; set users = 58"),
        ({"kind": "matrix_factorization", "items": 9}, "items = 9, .* 1 to 58; set items = 59"),
        ({"kind": "transformer", "vocabulary": 40}, "vocabulary = 40, .* tokens .*; set .* = 60"),
        (Embedded, "its forward pass fails on 2 samples .* index out of range"),
    ],
)
def test_inputs_for_which_a_model_has_no_entry_are_refused(small, model, said):
    """The last of twenty samples has the greatest number."""
    tokens = (np.arange(60).reshape(20, 3), np.arange(20) % 2)
    with pytest.raises(netsim.ScenarioError, match=said):
        world.build(small.replace(data=tokens, data__partition=None, model=model).tables)


class Letters(Dataset):
    """Items of a user each: whose they are comes third."""

    def __init__(self, names):
        self.names = names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return torch.full((2,), float(i)), i % 2, self.names[i]


def test_items_may_say_whose_they_are(small):
    names = [f"user {i % 5}" for i in range(40)]
    by_user = {"kind": "by_user", "more_users": "largest"}
    own = small.replace(data=Letters(names), data__partition=by_user, data__validation=0.0)
    built = world.build(own.tables)
    for node, rows in enumerate(built.shards.rows[:3]):
        assert set(built.samples.groups[rows.train]) == {node}
    apart = small.replace(data=(Letters(names), Letters(names[3:9])), data__partition=by_user)
    assert apart.tables.data.load(None).groups[40:].tolist() == [3, 4, 0, 1, 2, 3]


class Ragged(Letters):
    def __getitem__(self, i):
        return torch.zeros(1 + i), 0


class Bare(Letters):
    def __getitem__(self, i):
        return torch.zeros(2)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (Ragged("ab"), r"x of its items have shapes \(1,\) and \(2,\); give all one shape"),
        (Bare("ab"), r"its items are Tensor; an item must be \(x, y\)"),
        (Letters([]), "is empty"),
        ((Letters("ab"), (np.zeros((2, 2)), [0, 1])), "say users of test samples, too"),
        ((np.zeros((4, 2)), [0] * 4, [0.5] * 4), r"users have shape \(4,\) and type float64"),
    ],
)
def test_what_is_wrong_with_items_is_told(small, data, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(data=data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((np.zeros((4, 2)), np.zeros(5)), r"inputs have shape \(4, 2\), targets \(5,\)"),
        (
            (np.zeros((4, 2)), np.array([0, 1, -1, 0])),
            "targets of whole numbers are classes, from 0",
        ),
        ((np.full((2, 2), np.nan), np.zeros(2)), "are not all finite numbers"),
        (5, r"is a int; give \(inputs, targets\)"),
    ],
)
def test_what_is_no_data_is_told(small, data, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(data=data)


def test_a_graph_says_who_the_neighbours_are(small):
    graph = nx.MultiGraph([("a", "b"), ("b", "c"), ("c", "c"), ("d", "e"), ("b", "a")])
    built = world.build(small.replace(topology=graph).tables)
    assert built.neighbours == [(1,), (0, 2), (1,), (4,), (3,)]
    numbered = nx.Graph([(4, 0), (0, 1), (1, 2), (2, 3)])
    assert world.build(small.replace(topology=numbered).tables).neighbours[4] == (0,)
    with pytest.raises(netsim.ScenarioError, match=r"the graph has 3 nodes, .* count to 3"):
        world.build(small.replace(topology=nx.path_graph(3)).tables)


STAR = [(5, 7), (7, 6), (8, 7), (9, 7)]
"""Node 7 is in the middle; in order of appearance the numbers are others."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", [int, str, "node-{}".format])
def test_numbers_of_a_graph_are_in_their_order_and_names_are_told(small, name, tmp_path):
    """As texts, too: networkx reads files that way unless it is told otherwise."""
    graph = nx.Graph([(name(a), name(b)) for a, b in STAR])
    played = netsim.run(small.replace(topology=graph, algorithm=["dpsgd"]), out=tmp_path / "run")
    order = [5, 7, 6, 8, 9] if name not in (int, str) else [5, 6, 7, 8, 9]
    assert played.nodes["topology_id"].tolist() == [str(name(n)) for n in order]
    middle = order.index(7)
    ends = played.messages[["src", "dst"]].to_numpy()
    assert (ends == middle).any(axis=1).all()
    assert not (ends == middle).all(axis=1).any()


def test_numbers_that_are_the_nodes_need_no_names(small, tmp_path):
    graph = nx.relabel_nodes(nx.star_graph(4), str)
    graph = nx.Graph(list(graph.edges)[::-1])
    played = netsim.run(small.replace(topology=graph, algorithm=["dpsgd"]), out=tmp_path / "run")
    assert "topology_id" not in played.nodes
    assert (played.messages[["src", "dst"]].to_numpy() == 0).any(axis=1).all()


def test_a_node_of_two_spellings_is_refused(small):
    graph = nx.Graph([("1", "01"), ("0", "2"), ("2", "1")])
    with pytest.raises(netsim.ScenarioError, match="'1' and '01' are one number"):
        small.replace(topology=graph)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"weight": 1}, []),
        ({"weight": 0.5}, ["weight"]),
        ({"rate_bps": 1e6}, []),
        ({"loss": 0.1, "weight": 2}, ["loss, weight"]),
    ],
)
def test_values_of_edges_that_nothing_reads_are_told_of(small, values, told):
    graph = nx.path_graph(5)
    nx.set_edge_attributes(graph, values=dict.fromkeys(graph.edges, values))
    made = small.replace(topology=graph)
    found = [r for r in remarks(world.build(made.tables)) if "values of edges" in r]
    assert [one.partition("are read, not ")[2] for one in found] == told


@pytest.mark.slow
def test_a_graph_s_rates_and_latencies_are_those_of_its_wires(small):
    graph = nx.DiGraph()
    graph.add_edge(0, 1, rate_bps=1e6, latency_s=0.5)
    graph.add_edge(1, 0, rate_bps=2e6)
    graph.add_edges_from([(1, 2), (2, 1)])
    nodes = {"count": 3}
    link = {"rate_bps": 4e6, "latency_s": 0.25}
    given = small.replace(topology=graph, nodes=nodes, link=link)
    wiring = world.build(given.tables).wiring
    for src, dst, rate_bps, latency_ns in (
        (0, 1, 1e6, 5 * 10**8),
        (1, 0, 2e6, 25 * 10**7),
        (1, 2, 4e6, 25 * 10**7),
    ):
        route = wiring.route(src, dst)
        [bottleneck] = route.bottlenecks
        assert wiring.capacity[bottleneck].at(0)[0] == rate_bps
        assert route.latency_ns == latency_ns
    # a message is on each wire for its bits over the wire's rate, and the latency
    run = netsim.run(given)
    rows = run.messages.query("outcome == 'delivered'")
    took_s = rows["t_done_s"] - rows["t_sent_s"]
    alone = rows["bits"] / 1e6 + 0.5
    there = (rows["src"] == 0) & (rows["dst"] == 1)
    assert there.any()
    assert took_s[there].to_numpy() == pytest.approx(alone[there].to_numpy(), abs=2e-9)


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (nx.DiGraph([(0, 1), (1, 2), (2, 1)]), r"edge \(0, 1\) leads one way.*to_undirected"),
        (nx.Graph([(0, 1, {"rate_bps": 0}), (1, 2)]), r"rate_bps = 0; .* more than 0"),
        (nx.Graph([(0, 1, {"rate_bps": "fast"}), (1, 2)]), r"rate_bps = 'fast'; it must be a num"),
        (nx.Graph([(0, 1, {"latency_s": -1.0}), (1, 2)]), r"latency_s = -1.0; .* at least 0"),
        (nx.Graph([(0, 1, {"latency_s": float("nan")}), (1, 2)]), r"latency_s = nan"),
        (nx.Graph([(0, 1, {"latency_ms": 5}), (1, 2)]), r"latency_ms, .* call it latency_s"),
        (nx.Graph([(0, 1, {"bandwidth": 5}), (1, 2)]), r"bandwidth, .* call it rate_bps"),
        (nx.Graph([(0, 1, {"delayMs": 5}), (1, 2)]), r"delayMs, .* call it latency_s"),
        (nx.Graph([(0, 1, {"rate": 5}), (1, 2)]), r"has rate, which is not read; call it rate_bps"),
        (
            nx.MultiGraph([(0, 1, {"rate_bps": 1e6}), (0, 1, {"rate_bps": 2e6}), (1, 2)]),
            r"has parallel ones of another rate_bps",
        ),
    ],
)
def test_what_a_graph_says_is_never_lost(small, graph, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(topology=graph, nodes={"count": 3}, link={"rate_bps": 1e6})


def test_rates_of_a_graph_are_none_of_radios(small):
    graph = nx.Graph([(0, 1, {"rate_bps": 1e6}), (1, 2)])
    over_the_air = small.replace(topology=graph, nodes={"count": 3}, radio={}, link=None)
    with pytest.raises(netsim.ScenarioError, match=r"rate_bps or latency_s, .* of wires"):
        world.build(over_the_air.tables)


@pytest.mark.slow
def test_an_algorithm_class_is_played_beside_shipped_ones(small, tmp_path):
    with pytest.warns(netsim.errors.RunWarning, match="long takes 2 times as many local steps"):
        run = netsim.run(
            small,
            algorithms=[Gossip, {"kind": Gossip, "name": "long", "local_steps": 4}, "local"],
            out=tmp_path / "run",
        )
    assert run.algorithms == ("Gossip", "long", "local")
    steps = run.metrics.query("t_s == 20").groupby("algorithm", observed=True)["steps"].max()
    assert steps["Gossip"] == 10
    assert steps["long"] == 20
    again = netsim.open(run.folder)
    assert again.algorithms == run.algorithms
    with pytest.raises(netsim.ScenarioError, match='kind = "Gossip": must be one of'):
        _ = again.scenario


def test_a_module_is_an_algorithm(small, tmp_path):
    module = types.ModuleType("my_methods.averaging", "Average.")
    module.__dict__.update(
        Params=type("Params", (api.Params,), {"__module__": module.__name__}),
        processes=Gossip.processes,
        on_wakeup=on_wakeup,
        local=2,
    )
    sys.modules[module.__name__] = module
    try:
        with pytest.raises(netsim.NetsimError, match="local_steps"):
            netsim.run(small, [module], out=tmp_path / "run")
    finally:
        del sys.modules[module.__name__]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        (type("Empty", (), {}), "algorithm Empty: has no class Params"),
        (3, "is no algorithm"),
        ({"kind": Gossip, "local_step": 3}, 'did you mean "local_steps"'),
        (type("fedavg", (Gossip,), {}), "there is an algorithm fedavg"),
    ],
)
def test_what_is_no_algorithm_is_told(small, algorithm, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(algorithm=[algorithm])


@pytest.mark.slow
def test_a_component_class_stands_wherever_its_family_does(small):
    radio = {"mean_snr_db": 10.0, "threshold_db": 0.0, "packet_error": {"kind": Flat, "share": 0.5}}
    own = small.replace(link=None, radio=radio)
    assert own.radio.packet_error.share == 0.5
    assert own.radio.packet_error.kind == "Flat"
    with pytest.raises(netsim.ScenarioError, match="must be a number"):
        own.replace(radio__packet_error__share="many")


def test_a_component_may_state_its_kind(small):
    class Named(Flat):
        kind: Literal["named"] = "named"

    radio = {"mean_snr_db": 10.0, "threshold_db": 0.0, "packet_error": Named(share=0.1)}
    own = small.replace(link=None, radio=radio)
    assert (own.radio.packet_error.kind, own.radio.packet_error.share) == ("named", 0.1)


def test_a_class_defined_again_takes_the_place_of_the_first(small):
    for width in (3, 7):
        small = small.replace(model=_factory(width))
        assert small.model[0].kind == "factory"
        weights = world.build(small.tables).architectures[0].num_parameters
        assert weights == 64 * width + width + 10 * width + 10


def _factory(width):
    def factory(input_shape, num_classes):
        return Net(input_shape, num_classes, width)

    return factory


@pytest.mark.slow
def test_objects_are_swept_in_this_process(small, tmp_path):
    swept = netsim.sweep(
        small,
        {"model": [Net, {"kind": "mlp", "hidden": [2]}]},
        algorithms=[Gossip],
        seeds=[0],
        out=tmp_path / "swept",
    )
    assert len(swept.summary) == 2
    with pytest.raises(netsim.ScenarioError, match="objects can't travel to other processes"):
        netsim.sweep(small, {"model": [Net]}, seeds=[0], jobs=2)


@pytest.mark.slow
def test_runs_with_objects_are_told_of_in_their_folder(small, tmp_path):
    own = small.replace(model=Net, topology=nx.cycle_graph(5))
    run = netsim.run(own, [Gossip], out=tmp_path / "run")
    text = (run.folder / "scenario.toml").read_text()
    assert 'kind = "Gossip"' in text
    assert 'kind = "Net"' in text
    assert 'kind = "graph"' in text
    assert run.summary["accuracy"].notna().all()


def _rows(n=600):
    draws = np.random.default_rng(0)
    y = np.arange(n) % 3
    return draws.normal(size=(n, 4)).astype("float32") + y[:, None].astype("float32"), y


def _sparse_rows():
    import scipy.sparse

    x, y = _rows()
    return scipy.sparse.csr_matrix(x), y


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x, y: (torch.from_numpy(x).to_sparse(), y), "inputs are sparse; .*to_dense"),
        (lambda x, y: _sparse_rows(), "inputs are sparse; .*toarray"),
        (
            lambda x, y: (np.ma.masked_where(np.arange(600)[:, None] + 0 * x == 7, x), y),
            "masked entries, the first in sample 7",
        ),
        (lambda x, y: (x, np.ma.masked_equal(y, 1)), "targets have masked .* in sample 1;"),
    ],
)
def test_entries_that_have_no_value_are_none(small, change, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(data=change(*_rows()))


def test_half_precision_of_a_brain_kind_is_exact(small):
    x, y = _rows()
    made = small.replace(data=(torch.from_numpy(x).bfloat16(), y))
    rows = world.build(made.tables).samples.x
    assert (rows == torch.from_numpy(x).bfloat16().float().numpy()).all()


@pytest.mark.parametrize("as_tensor", [False, True])
def test_what_becomes_of_arrays_and_modules_later_changes_no_scenario(small, as_tensor):
    """In a notebook, cells scale data and train modules between runs of one scenario."""
    x, y = _rows()
    given = (torch.from_numpy(x), torch.from_numpy(y)) if as_tensor else (x, y)
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    made = small.replace(data=given, model=module)
    before = world.build(made.tables)
    kept, initial = before.samples.x.copy(), before.initial[0].clone()
    labels = before.samples.y.copy()
    x *= 2.0
    y[:] = 0
    with torch.no_grad():
        module[1].weight.zero_()
    after = world.build(made.tables)
    assert (after.samples.x == kept).all()
    assert (after.samples.y == labels).all()
    assert torch.equal(after.initial[0], initial)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda y: y + 2, r"2 of 5 classes have no training sample \(0, 1\): are classes numbered"),
        (lambda y: 20 * y, r"38 of 41 .*\(1, 2, 3, 4, 5 and 33 more\)"),
        (lambda y: y, None),
        (lambda y: 0 * y, "every training sample is of class 0"),
    ],
)
def test_classes_that_no_training_sample_has_are_remarked_on(small, change, said):
    x, y = _rows()
    found = [
        r for r in remarks(world.build(small.replace(data=(x, change(y))).tables)) if "[data]" in r
    ]
    assert bool(found) == (said is not None)
    assert all(re.search(said, one) for one in found)


def test_test_samples_of_a_class_that_nobody_trains_are_counted(small):
    (x, y), (xt, yt) = _rows(), _rows(300)
    made = small.replace(data=((x, y), (xt, yt + 1)))
    [found] = [r for r in remarks(world.build(made.tables)) if r.startswith("[data]: ")]
    assert "1 of 4 classes" in found
    assert "and 100 test samples are of them" in found


class HalfOutputs(Net):
    def forward(self, x):
        return super().forward(x).half()


class WholeOutputs(Net):
    def forward(self, x):
        return super().forward(x).long()


@pytest.mark.parametrize("model", [HalfOutputs, WholeOutputs])
def test_outputs_that_no_loss_takes_are_refused(small, model):
    with pytest.raises(netsim.ScenarioError, match=r"gives outputs of torch\..*write \.float\(\)"):
        world.build(small.replace(model=model).tables)


class Squeezed(Net):
    def forward(self, x):
        return super().forward(x).squeeze()


class OverTheBatch(Net):
    """Takes no sample alone, which is no fault of a run whose minibatches are larger."""

    def __init__(self, input_shape, num_classes):
        super().__init__(input_shape, num_classes)
        self.norm = nn.BatchNorm1d(num_classes, track_running_stats=False)

    def forward(self, x):
        return self.norm(super().forward(x))


def test_a_model_whose_rows_depend_on_their_number_is_refused(small):
    said = r"gives \(10,\) for one sample alone, and \(2, 10\) for 2; .*squeeze\(-1\)"
    with pytest.raises(netsim.ScenarioError, match=said):
        world.build(small.replace(model=Squeezed).tables)
    world.build(small.replace(model=OverTheBatch).tables)


@pytest.mark.parametrize("graph", [np.ones((5, 5)), [[1], [0]], "ring graph"])
def test_what_is_no_graph_is_told(small, graph):
    with pytest.raises(netsim.ScenarioError, match=r"\[topology\]"):
        small.replace(topology=graph)


PIXELS = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.uint8)
CLASSES = np.arange(40) % 10


class Pictures(Dataset):
    """Bytes, or what `ToTensor` makes of them."""

    def __init__(self, scaled):
        self.scaled = scaled

    def __len__(self):
        return len(PIXELS)

    def __getitem__(self, i):
        return (torch.from_numpy(PIXELS[i]) / 255 if self.scaled else PIXELS[i]), CLASSES[i]


@pytest.mark.parametrize(
    ("train", "test", "is_fit"),
    [
        ((PIXELS, CLASSES), (PIXELS / 255, CLASSES), False),
        ((PIXELS / 255, CLASSES), (torch.from_numpy(PIXELS), CLASSES), False),
        (Pictures(True), Pictures(False), False),
        ((PIXELS, CLASSES), Pictures(True), False),
        ((PIXELS, CLASSES), Pictures(False), True),
        ((PIXELS.astype(np.float32), CLASSES), (PIXELS.astype(float), CLASSES), True),
    ],
)
def test_pixels_of_another_scale_in_one_part_are_refused(small, train, test, is_fit):
    if is_fit:
        small.replace(data=(train, test))
        return
    with pytest.raises(netsim.ScenarioError, match=r"uint8.*convert both alike"):
        small.replace(data=(train, test))


@pytest.mark.parametrize(("copied", "is_told"), [(40, True), (10, True), (9, False), (0, False)])
def test_test_samples_that_are_training_samples_are_remarked_on(small, copied, is_told):
    other = np.random.default_rng(1).normal(size=(40, 8, 8))
    other[:copied] = PIXELS[:copied]
    data = ((PIXELS.astype(float), CLASSES), (other, CLASSES))
    few = {"data__partition__train_samples": 4, "data__partition__test_samples": 4}
    built = world.build(small.replace(data=data, **few).tables)
    told = [text for text in remarks(built) if "twice" in text]
    assert told == (
        [
            f"[data]: {copied} of 40 test samples are among the training samples, with the same "
            "inputs and target: are files or rows there twice?"
        ]
        if is_told
        else []
    )


FRAME = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 4)), columns=list("abcd"))
OF_FRAME = pd.Series(np.arange(60) % 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((FRAME.sample(frac=1, random_state=0), OF_FRAME), r"targets\.loc\[inputs\.index\]"),
        ((FRAME, OF_FRAME.sample(frac=1, random_state=0)), r"targets\.loc\[inputs\.index\]"),
        ((FRAME, OF_FRAME, OF_FRAME[::-1]), r"users\.loc\[inputs\.index\]"),
        (((FRAME, OF_FRAME), (FRAME[["b", "a", "c", "d"]], OF_FRAME)), r"test\[train\.columns\]"),
        ((FRAME[::-1], OF_FRAME[::-1]), None),
        ((FRAME[10:].reset_index(), OF_FRAME[10:]), None),
        ((FRAME.to_numpy(), OF_FRAME[::-1]), None),
        (((FRAME, OF_FRAME), (FRAME[:20], OF_FRAME[:20])), None),
    ],
)
def test_frames_whose_rows_or_columns_go_by_another_order_are_refused(small, data, said):
    if said is None:
        small.replace(data=data)
        return
    with pytest.raises(netsim.ScenarioError, match=said):
        small.replace(data=data)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (np.arange(60), ["inputs[:, 4] number the rows"]),
        (np.random.default_rng(0).permutation(60) + 7.0, ["inputs[:, 4] number the rows"]),
        (OF_FRAME, ["inputs[:, 4] are the targets"]),
        (np.ones(60), []),
        (np.arange(60) // 2, []),
    ],
)
def test_columns_of_arrays_that_tell_the_target_are_remarked_on(small, column, said):
    data = (np.column_stack([FRAME, column]), OF_FRAME)
    kind = small.replace(data=data).data.__class__
    assert [text.partition(": an")[0] for text in kind.remarks] == said
