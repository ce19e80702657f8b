"""The Transformer: its size, what each position sees, and its adapters."""

import pytest
import torch
import torch.nn.functional as F

from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.models.transformer import Transformer

V, T, D = 11, 6, 8


def built(**keys):
    torch.manual_seed(0)
    return Transformer(**{"width": D, "heads": 2, **keys}).build((T,), V).double().eval()


def tokens(n=3):
    return torch.randint(0, V, (n, T), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("rank", [0, 3])
def test_the_number_of_parameters_is_exact(layers, rank):
    """A block: two norms, four D x D layers, D to 4 D and back; its adapters 4 r D."""
    block = 2 * 2 * D + 4 * (D * D + D) + (4 * D * D + 4 * D) + (4 * D * D + D)
    expected = V * D + T * D + layers * (block + 4 * rank * D) + 2 * D + D * V + V
    assert sum(p.numel() for p in built(layers=layers, rank=rank).parameters()) == expected


def test_a_network_is_its_head_on_its_features():
    network, x = built(), tokens()
    assert network(x).shape == (3, T, V)
    assert torch.equal(network(x), network.head(network.features(x)))


def test_a_position_depends_on_itself_and_what_came_before():
    network, x = built(layers=2), tokens(1)
    other = x.clone()
    other[0, 3] = (x[0, 3] + 1) % V
    moved = (network(x) - network(other)).abs().amax(-1)[0] > 1e-9
    assert moved.tolist() == [False] * 3 + [True] * 3


@pytest.mark.slow
def test_attention_is_that_of_pytorch():
    block = built().features.blocks[0]
    x = torch.randn(2, T, D, generator=torch.Generator().manual_seed(2)).double()
    y = block.before_attention(x)
    q, k, v = (
        part(y).view(2, T, 2, D // 2).transpose(1, 2)
        for part in (block.query, block.key, block.value)
    )
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    z = x + block.joined(seen)
    expected = z + block.narrow(F.gelu(block.wide(block.before_layers(z)), approximate="tanh"))
    torch.testing.assert_close(block(x, None), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_adapters_add_nothing_at_first_and_a_low_rank_term_later():
    network, x = built(rank=2), tokens()
    before = network(x)
    adapter = network.features.adapters[0].of_query
    query = network.features.blocks[0].query
    with torch.no_grad():
        adapter[1].weight.fill_(0.1)
        after = network(x)
        query.weight += adapter[1].weight @ adapter[0].weight
        adapter[1].weight.zero_()
    assert not torch.allclose(before, after)
    torch.testing.assert_close(network(x), after, rtol=1e-12, atol=1e-13)


def test_adapters_are_one_part_of_the_row():
    layout = Architecture("t", built(rank=2, layers=2), torch.device("cpu"), torch.float64, V)
    ((start, stop),) = layout.columns("features.adapters")
    assert stop - start == 2 * 4 * 2 * D


@pytest.mark.parametrize(
    ("keys", "shape", "told"),
    [({"width": 9}, (T,), "multiple of heads"), ({}, (3, 8, 8), "sequences of tokens")],
)
def test_what_it_can_not_be_is_refused(keys, shape, told):
    with pytest.raises(ScenarioError, match=told):
        Transformer(**keys).build(shape, V)
