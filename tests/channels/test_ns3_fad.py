"""Fading traces of ns-3's LTE module."""

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.fading.ns3_fad import Ns3Trace
from netsim.errors import DataError
from netsim.rng import Streams


@pytest.fixture
def written(tmp_path):
    def write(rows):
        text = rows if isinstance(rows, str) else "\n".join(" ".join(map(repr, r)) for r in rows)
        (tmp_path / "trace.fad").write_text(text)
        return str(tmp_path / "trace.fad")

    return write


def clarke_db(samples=4000, blocks=3, doppler_hz=5.0, seed=0):
    """A generated trace: sums of 32 sinusoids a resource block, in dB, 1 ms apart."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) * 1e-3
    angle, phase = rng.uniform(0, 2 * np.pi, (2, blocks, 32))
    h = np.exp(1j * (2 * np.pi * doppler_hz * np.cos(angle)[:, :, None] * t + phase[:, :, None]))
    return (20 * np.log10(np.abs(h.sum(axis=1)) / np.sqrt(32))).tolist()


def test_a_band_has_the_mean_gain_of_its_resource_blocks(written):
    fading = Ns3Trace(path=written([[0.0, -10.0], [3.0, -np.inf]]))
    assert fading.gain == pytest.approx([(1 + 10**0.3) / 2, 0.05])
    assert Ns3Trace(path=fading.path, resource_blocks=1).gain == pytest.approx([1.0, 0.1])


def test_a_pair_follows_the_trace_from_a_random_sample_on_for_a_window(written):
    trace = clarke_db(blocks=1)
    fading = Ns3Trace(path=written(trace), window_s=0.5)
    u = np.array([[0.25, 0.1], [0.9, 0.77]])
    found = fading.gain_at(u, None, np.arange(2000) * 1e-3)
    gain = 10 ** (np.array(trace[0]) / 10)
    for pair in range(2):
        for window in range(4):
            start = int((u[pair, 0] + window * u[pair, 1]) % 1 * 3500)
            mine = found[pair, window * 500 : (window + 1) * 500]
            assert mine == pytest.approx(gain[start : start + 500])


def test_the_order_of_questions_changes_no_answer(written):
    fading, streams = Ns3Trace(path=written(clarke_db())), Streams(4)
    u = streams.uniform_table("tones", np.array([0]), np.array([1]), counters=np.arange(2))
    t = np.arange(1000) * 2.7e-3
    whole = fading.gain_at(u, None, t)[0]
    assert [fading.gain_at(u, None, t[k : k + 1])[0, 0] for k in (7, 3, 999)] == list(
        whole[[7, 3, 999]]
    )


def test_its_quantiles_are_those_of_the_trace(written):
    fading = Ns3Trace(path=written([[0.0, -10.0, 10.0, -20.0]]))
    assert fading.power_gain(np.array([0.0, 0.3, 0.6, 0.99])).tolist() == [0.01, 0.1, 1.0, 10.0]
    assert fading.power_gain(0.5) == 1.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 1 2\n0 1\n", "line 2: has 2 samples, the lines before 3"),
        ("0 1 x\n", "line 1: column 3 is not a fade in dB"),
        ("0 1\n0 nan\n", "line 2: column 2 is nan, not a fade in dB of at most 60"),
        ("0 99\n", "line 1: column 2 is 99, not"),
        ("\n", "holds no fading trace"),
    ],
)
def test_a_bad_trace_is_told_with_its_line(written, text, problem):
    with pytest.raises(DataError, match=problem):
        Ns3Trace(path=written(text)).open_file(None)
    with pytest.raises(DataError, match="holds 1 resource blocks, and 2 are asked for"):
        Ns3Trace(path=written("0 1\n"), resource_blocks=2).open_file(None)


@pytest.mark.parametrize("keys", [{"doppler_hz": 5.0}, {"hold": "exchange"}])
def test_keys_of_other_fading_models_are_refused(keys):
    with pytest.raises(ValidationError, match="not read"):
        Ns3Trace(path="x.fad", **keys)
