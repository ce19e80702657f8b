"""The bits of a message in the log are those of what is sent."""

import math

import pytest

START = """
@dataclass(frozen=True)
class Sent(Message):
    what: api.Encoded

@dataclass(frozen=True)
class Beside(Message):
    what: api.Encoded
    size: int
    more: tuple

class Params(Params):
    compression: api.Compression = api.NoCompression()

def processes(node, params):
    return [on_start(node, params)]

def on_start(node, params):
    theta = node.initial()
    saw(node, "sizes", (theta.num_values, theta.part("head").num_values))
    if node.id == 0:
        {body}
    yield node.sleep(0.5)
"""
MODEL = {"kind": "mlp", "hidden": [4]}  # 64 * 4 + 4 + 4 * 10 + 10 = 310 numbers, its head 50
D, HEAD = 310, 50


def sent(play_source, body, params=None, **tables):
    source = START.format(body=body)
    played = play_source(
        source, nodes={"count": 2}, model=MODEL, params=params or {}, timing_only=True, **tables
    )
    assert {s.value for s in played.saw("sizes")} == {(D, HEAD)}
    (bits,) = set(played.log.bits)
    return bits


COMPRESSED = "node.send(1, Sent(params.compression.compress(node, theta)))"


@pytest.mark.thinned(9)
@pytest.mark.parametrize(
    ("compression", "bits"),
    [
        ({"kind": "none"}, D * 32),
        ({"kind": "half"}, D * 16),
        ({"kind": "half", "format": "bfloat16"}, D * 16),
        ({"kind": "uniform"}, D * 8 + 2 * 32),
        ({"kind": "uniform", "bits": 3}, D * 3 + 2 * 32),
        ({"kind": "sign"}, D + 32),
        ({"kind": "top_k", "fraction": 0.1}, 31 * (32 + 9)),  # 2^9 = 512 indices
        ({"kind": "top_k", "fraction": 1e-6}, 32 + 9),
        ({"kind": "random_k", "fraction": 0.1}, 31 * 32 + 64),
        ({"kind": "qsgd", "levels": 1}, D * 2 + 32),
        ({"kind": "qsgd", "levels": 4}, D * 4 + 32),  # a sign, and 0 to 4 in three bits
        ({"kind": "qsgd", "levels": 7, "bucket": 100}, D * 4 + 4 * 32),
    ],
)
def test_a_compressed_model_takes_the_bits_of_what_is_sent(play_source, compression, bits):
    assert sent(play_source, COMPRESSED, {"compression": compression}) == bits


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("body", "bits"),
    [
        ("node.send(1, Model(theta.part('head')))", HEAD * 32),
        ("node.send(1, Sent(api.Encoded(theta.part('head'), packed_bits=50)))", 50),
        ("node.send(1, Beside(api.Encoded(theta, 7, 2), 3, (True, 0.5)))", 7 + 64 + 32 + 1 + 32),
        ("node.send(1, Beside(None, 2**32 - 1, (-(2**31), 2**99)))", 32 + 32 + 100),
    ],
)
def test_parts_and_packed_values(play_source, body, bits):
    assert sent(play_source, body) == bits


@pytest.mark.slow
def test_real_numbers_take_what_the_scenario_or_the_algorithm_says(play_source):
    top_k = {"compression": {"kind": "top_k", "fraction": 0.1}}
    assert sent(play_source, COMPRESSED, top_k, training={"parameter_bits": 16}) == 31 * (16 + 9)
    own = top_k | {"training": {"parameter_bits": 8}}
    assert sent(play_source, COMPRESSED, own, training={"parameter_bits": 16}) == 31 * (8 + 9)
    own = {"training": {"parameter_bits": 8}}
    assert sent(play_source, "node.send(1, Model(theta))", own) == D * 8


def test_a_partial_message_counts_all_of_its_bits(play_source):
    source = """
@dataclass(frozen=True)
class Sent(Message):
    what: api.Encoded
    accepts_partial: ClassVar[bool] = True

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    if node.id == 0:
        for _ in range(20):
            yield node.send(1, Sent(api.Encoded(node.initial(), packed_bits=5 * 310)))
    else:
        while True:
            received = yield node.receive(Sent, timeout_s=None)
            saw(node, "arrived", received.arrived)
"""
    radio = {
        "mean_snr_db": 10.0,
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "fading": {"kind": "none"},
        "packet_error": {"kind": "fixed", "loss": 0.3},
        "packet_payload_bytes": 50,
        "arq": {"kind": "none"},
    }
    played = play_source(source, nodes={"count": 2}, radio=radio, model=MODEL)
    assert set(played.log.bits) == {5 * D}
    packets = math.ceil(5 * D / 400)
    masks = [s.value for s in played.saw("arrived") if s.value is not None]
    assert {len(mask) for mask in masks} == {packets}
    assert set(played.log.outcome) >= {"partial"}


@pytest.mark.slow
def test_what_is_received_is_what_was_encoded(play_source):
    source = START.format(
        body="node.send(1, Sent(params.compression.compress(node, theta)))"
    ).replace(
        "    yield node.sleep(0.5)\n",
        "    received = yield node.receive(Sent, timeout_s=1.0)\n"
        "    if received:\n"
        "        mine, theirs = received.msg.what.value, theta\n"
        "        differ = node.compute(different, mine, theirs)\n"
        "        saw(node, 'kept', (mine.owner, (yield node.value(differ))))\n"
        "\ndef different(a, b):\n    return (a != 0).sum().to(a), (a != b).sum().to(a)\n",
    )
    params = {"compression": {"kind": "top_k", "fraction": 0.1}}
    played = play_source(source, nodes={"count": 2}, model=MODEL, params=params)
    ((owner, (nonzero, _)),) = [s.value for s in played.saw("kept")]
    assert (owner, nonzero) == (1, 31)
