"""Slabs of rows: slots come and go with the values that lie in them."""

import pytest
import torch

from netsim.backends.parameter_store import ParameterStore, Slab, padded_length
from netsim.backends.stacked import mixing
from netsim.learning.refs import Cell, Ref

CPU = torch.device("cpu")
LENGTH = 50


@pytest.fixture
def store():
    return ParameterStore(CPU, torch.float64)


def cell(value):
    found = Cell(None, (LENGTH,))
    found.fill(torch.full((LENGTH,), float(value), dtype=torch.float64))
    return found


def rows(*values):
    numbers = torch.tensor(values, dtype=torch.float64).unsqueeze(1)
    return torch.nn.functional.pad(numbers.expand(-1, LENGTH), (0, padded_length(LENGTH) - LENGTH))


def test_a_slot_is_used_again_once_its_value_is_dead(store):
    slab = store.slab(LENGTH)
    cells = [cell(i) for i in range(5)]
    for one in cells:
        store.adopt(one)
    taken = {one.row for one in cells}
    assert Slab.ZERO not in taken
    assert (slab.live, slab.peak) == (5, 5)
    freed = cells.pop(2).row
    assert slab.live == 4
    later = cell(7)
    store.adopt(later)
    assert later.row == freed
    assert slab.peak == 5
    assert [float(c.materialise()[0]) for c in [*cells, later]] == [0, 1, 3, 4, 7]


def test_growing_keeps_every_value_and_the_row_of_zeros(store):
    slab = store.slab(LENGTH)
    cells = []
    for i in range(100):
        cells.append(cell(i + 1))
        store.adopt(cells[-1])
    assert len({c.row for c in cells}) == 100
    assert len(slab.storage) < 250
    assert all(bool((c.materialise() == i + 1).all()) for i, c in enumerate(cells))
    assert not slab.storage[Slab.ZERO].any()


def test_results_that_nobody_holds_take_no_slot(store):
    slab = store.slab(LENGTH)
    a, b = Cell(None, (LENGTH,)), Cell(None, (LENGTH,))
    slab.write([a, None, b], rows(1, 2, 3))
    slab.write([None, None], rows(4, 5))
    assert slab.live == 2
    assert (float(a.materialise()[0]), float(b.materialise()[0])) == (1.0, 3.0)


@pytest.mark.parametrize("again", ["in the slab", "by itself"])
def test_a_cell_that_is_filled_twice_gives_its_first_slot_back(again, store):
    """As after a call that ran out of store half way."""
    slab = store.slab(LENGTH)
    one = Cell(None, (LENGTH,))
    slab.write([one], rows(1))
    if again == "in the slab":
        slab.write([one], rows(2))
        assert slab.live == 1
    else:
        one.fill(torch.full((LENGTH,), 2.0, dtype=torch.float64))
        assert slab.live == 0
    assert float(one.materialise()[0]) == 2.0
    del one
    assert slab.live == 0


def mixture(store, *others):
    """A cell that is the sum of others', as `Mix` leaves it."""
    refs = tuple(Ref(0, c) for c in others)
    out = Cell(None, (LENGTH,))
    mixing.mix(store, [mixing.Mixture(store, refs, (1.0,) * len(refs))], [out])
    return out


def test_a_mixture_takes_no_slot_until_somebody_asks_for_it(store):
    a, b = cell(1), cell(2)
    both = mixture(store, a, b)
    slab = store.slab(LENGTH)
    assert both.is_computed
    assert (both.slab, slab.live) == (None, 2)
    assert "computed" in repr(Ref(0, both))
    assert slab.live == 2
    assert float(both.materialise()[0]) == 3.0
    assert slab.live == 3


def test_what_is_trained_from_mixtures_takes_them_without_a_slot(store):
    mixtures = [mixture(store, cell(i), cell(1)) for i in range(3)]
    slab = store.slab(LENGTH)
    out = torch.zeros(3, padded_length(LENGTH), dtype=torch.float64)
    mixing.gather(store, [Ref(0, m) for m in mixtures], out)
    assert out[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert all(m.slab is None for m in mixtures)
    mixing.gather(store, [Ref(0, mixtures[0]), Ref(0, cell(9)), Ref(0, mixtures[2])], out)
    assert out[:, 0].tolist() == [1.0, 9.0, 3.0]
    assert slab.live == 4  # two mixtures, and the rows of the one that nobody asked for


def test_a_mixture_holds_on_to_its_rows_but_not_to_theirs(store):
    """Averages of averages must not keep every model that there ever was."""
    slab, last = store.slab(LENGTH), cell(1)
    for _ in range(10):
        last = mixture(store, last, last)
    assert slab.live == 1
    assert float(last.materialise()[0]) == 2.0**10


def test_a_mixture_of_many_is_made_at_once(store):
    rows = [cell(1) for _ in range(mixing.FEW + 1)]
    total = mixture(store, *rows)
    assert total.slab is not None
    del rows
    assert store.slab(LENGTH).live == 1


def test_values_of_other_lengths_lie_in_other_slabs(store):
    a, b = cell(1), Cell(None, (LENGTH + 1,))
    b.fill(torch.zeros(LENGTH + 1, dtype=torch.float64))
    store.adopt(a)
    store.adopt(b)
    assert a.slab is not b.slab
    assert store.peak_bytes == 8 * 2 * padded_length(LENGTH)


def test_nodes_that_start_alike_share_one_slot(build, play):
    def program(node, keep):
        keep("mix", node.mix([node.initial(), node.initial()], [0.5, 0.5]))
        yield node.sleep(0.0)

    for common, slots in ((True, 1), (False, 6)):
        built = build(training={"common_initial": common})
        run = play(built, program)
        length = built.architectures[0].num_values
        assert run.backend.store.slab(length).live == slots
        assert len({c.row for c in run.simulation.learning.initial}) == slots


def test_a_model_on_its_way_stays_when_its_sender_has_another(build, play):
    """The receiver gets what was sent, though the sender let go of it long before."""
    sent = {}

    def program(node, keep):
        theta = (yield node.train(node.initial(), steps=1)).theta
        if node.id == 0:
            keep("copy", node.mix([theta], [1.0]))
            sent[0] = theta.owned_by(1)
            theta = (yield node.train(theta, steps=3)).theta
            yield node.value(node.loss(theta))
            keep("later", theta)
        if node.id == 1:
            yield node.sleep(20.0)
            keep("received", node.mix([sent.pop(0)], [1.0]))

    run = play(build(), program)
    assert torch.equal(run.values[0, "copy"], run.values[1, "received"])
    assert not torch.equal(run.values[0, "later"], run.values[1, "received"])


def test_asynchronous_gossip_keeps_about_as_many_models_as_are_alive(build, play):
    """Of N nodes that push to all neighbours 1.3 N to 2.2 N models are alive at a time.

    Figures of a study of such runs without any tensors; here an inbox holds what came last from
    each of five neighbours, and optimiser states nobody wants take no room at all.
    """
    nodes = 60
    inbox = [{} for _ in range(nodes)]

    def program(node, keep):
        theta = node.initial()
        for _ in range(6):
            yield node.sleep(-torch.log(torch.rand((), generator=draws)).item())
            others = [r.owned_by(node.id) for r in inbox[node.id].values()]
            theta = node.mix([theta, *others], [1 / (1 + len(others))] * (1 + len(others)))
            theta = (yield node.train(theta, steps=1)).theta
            for d in range(1, 6):
                inbox[(node.id + d) % nodes][node.id] = theta
        keep("theta", theta)

    draws = torch.Generator().manual_seed(2)
    built = build(
        nodes={"count": nodes},
        compute={"kind": "fixed", "step_s": 0.2},
        training={"common_initial": True},
        data={"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
    )
    run = play(built, program)
    store = run.backend.store
    length = built.architectures[0].num_values
    assert 1.0 * nodes <= store.slab(length).peak <= 2.2 * nodes
    state = built.architectures[0].num_parameters
    assert state == length  # one slab: states, had they been kept, would lie in it, too
    assert run.width > nodes / 8


def test_refs_to_ranges_of_columns_read_the_slab(store):
    whole = cell(0)
    whole.fill(torch.arange(LENGTH, dtype=torch.float64))
    store.adopt(whole)
    out = torch.zeros(1, padded_length(3), dtype=torch.float64)
    store.gather([Ref(0, whole, ((4, 7),))], out)
    assert out[0, :3].tolist() == [4, 5, 6]
