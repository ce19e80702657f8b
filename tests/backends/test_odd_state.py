"""Frozen parameters and whole numbers: in optimisers, in sums, in messages."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim import api
from netsim.errors import ProtocolError
from netsim.learning.architecture import Traits, build_architecture
from netsim.learning.optimizers import state_size


class Frozen(nn.Module):
    """Three layers, of which the one in the middle is frozen."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh()
        )
        self.head = nn.Linear(6, 10)
        self.features[3].requires_grad_(False)

    def forward(self, x):
        return self.head(self.features(x))


SGD = {"momentum": 0.5, "weight_decay": 0.1}
ADAM = {"optimizer": "adam", "weight_decay": 0.1, "learning_rate": 0.01}


def own_loss(model, batch, learned):
    return batch.loss(model(batch.x) + learned["shift"])


@pytest.mark.thinned(15)
@pytest.mark.parametrize("backend", ["sequential", "stacked"])
@pytest.mark.parametrize("training", [SGD, ADAM, SGD | {"clip_norm": 0.5}])
@pytest.mark.parametrize("part", [None, "features", "not head", "trained"])
def test_frozen_parameters_stay_in_every_way_to_train(build, play, backend, training, part):
    built = build(Frozen(), training=training)
    layout = built.architectures[0]
    (start, stop), *_ = layout.columns("features.3")

    def program(node, keep):
        theta, zero = node.initial(), node.compute(zeros, like=(10,))
        first = yield node.train(theta, steps=2, part=part)
        again = yield node.train(first.theta, steps=2, part=part, optimizer=first.optimizer)
        pulled = yield node.train(again.theta, steps=2, part=part, anchor=(theta, 0.5))
        own = yield node.train(
            pulled.theta, steps=2, part=part, loss=own_loss, learn={"shift": zero}
        )
        keep("start", theta)
        keep("end", own.theta)
        keep("state", again.optimizer)

    played = play(built, program, backend)
    size = state_size(training.get("optimizer", "sgd"), layout.num_trained(part))
    for node in range(6):
        before, after = (played.values[node, name] for name in ("start", "end"))
        changed = before[: layout.num_parameters] != after[: layout.num_parameters]
        assert not changed[start:stop].any()
        assert changed[: 64 * 6].any()
        assert played.values[node, "state"].shape == (size,)


def zeros():
    return torch.zeros(10, dtype=torch.float64)


class Counted(nn.Module):
    """A cumulative mean: what it is depends on how many batches there were."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 6), nn.BatchNorm1d(6, momentum=None)
        )
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        return self.head(self.features(x))


COUNTER = "features.2.num_batches_tracked"


def count_in(layout, row):
    return int(dict(layout.bind(row.clone()).named_buffers())[COUNTER])


@api.batched
def half(theta):
    return theta / 2


@pytest.mark.parametrize("backend", ["sequential", "stacked"])
def test_sums_have_the_whole_numbers_of_their_first_model(build, play, backend):
    built = build()
    layout = build_architecture(
        *("counted", Counted(), torch.device("cpu"), torch.float64, 10),
        traits=Traits(whole=(COUNTER,)),
    )
    for name in ("architectures", "initial"):
        value = layout if name == "architectures" else layout.row()
        object.__setattr__(built, name, tuple(value for _ in range(6)))

    def program(node, keep):
        theta = node.initial()
        one = (yield node.train(theta, steps=3)).theta
        two = (yield node.train(one, steps=2)).theta
        keep("one", one)
        keep("two", two)
        keep("mixed", node.mix([one, two], [0.25, 0.75]))
        keep("left out", node.mix([one, two], [0.0, 1.0]))
        keep("arithmetic", 0.5 * two - one)
        keep("computed", node.compute(half, two, like=two))
        keep("statistics", one.with_part("buffers", two.part("buffers")))
        keep("parts", node.mix([one.part("buffers"), two.part("buffers")], [0.5, 0.5]))

    played = play(built, program, backend)
    wanted = {"one": 3, "two": 5, "mixed": 3, "left out": 5, "arithmetic": 5, "computed": 5}
    for node in range(6):
        of = {name: value for (who, name), value in played.values.items() if who == node}
        found = {name: count_in(layout, of[name]) for name in (*wanted, "statistics")}
        assert found == wanted | {"statistics": 5}
        real = slice(0, layout.whole_columns[0][0])
        mean = 0.25 * of["one"] + 0.75 * of["two"]
        torch.testing.assert_close(of["mixed"][real], mean[real], rtol=0, atol=1e-12)
        assert torch.equal(of["parts"][-3:], of["one"][-3:])


def test_a_cumulative_mean_is_that_of_pytorch(build, play):
    built = build()
    layout = build_architecture(
        *("counted", Counted(), torch.device("cpu"), torch.float64, 10),
        traits=Traits(whole=(COUNTER,)),
    )
    object.__setattr__(built, "architectures", tuple(layout for _ in range(6)))
    object.__setattr__(built, "initial", tuple(layout.row() for _ in range(6)))

    def program(node, keep):
        keep("end", (yield node.train(node.initial(), steps=4)).theta)

    played = play(built, program, "sequential")
    shards = built.shards
    for node in range(6):
        plain = Counted().double()
        keys = [api_key(node, k) for k in range(4)]
        for batch in shards.in_batches_of(7).batches(keys):
            for p in plain.parameters():
                p.grad = None
            F.cross_entropy(plain(batch.x), batch.y).backward()
            with torch.no_grad():
                for p in plain.parameters():
                    p -= 0.1 * p.grad
        model = layout.bind(played.values[node, "end"].clone())
        theirs = {**plain.state_dict()}
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, theirs[name], rtol=0, atol=1e-12)


def api_key(node, k):
    from netsim.learning.jobs import BatchKey

    return BatchKey(node, "train", k)


@pytest.mark.parametrize("backend", ["native", "stacked"])
def test_a_state_that_is_made_late_leaves_the_model_in_place(build, play, backend):
    """A model that is read while the state behind it is computed stays what it was."""
    built, seen = build(training={"momentum": 0.9}), {}

    def program(node, keep):
        trained = yield node.train(node.initial(), steps=2)
        seen[node.id] = trained.theta, trained.optimizer

    play(built, program, backend)
    for model, state in seen.values():
        read = model.tensor()
        before = read.clone()
        assert state.tensor().any()
        assert torch.equal(read, before)
        assert model.tensor().data_ptr() == read.data_ptr()


def test_a_frozen_part_is_refused_each_time():
    layout = build_architecture("frozen", Frozen(), torch.device("cpu"), torch.float64, 10)
    for _ in range(2):
        with pytest.raises(ProtocolError, match=r"'features.3' of model frozen is frozen"):
            layout.trained_parameters("features.3")
