"""Consensus by energies in the air: means and variances in closed form, and who hears a frame."""

import numpy as np
import pytest
import torch

from algorithms.ncota import Params, consensus, in_ball, shares, step
from netsim import engine, scenario, world
from netsim.node.superposition import sum_of_energies

D = 50
RADIUS = 4.0


def models(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, D, generator=generator, dtype=torch.float64) * 0.3


def codewords():
    z = D**0.5 * RADIUS * torch.eye(D, dtype=torch.float64)
    return torch.cat([z, -z])


def heard(w, snrs, frame, gains=((1.0,),), reference=100.0):
    """Energies of a frame in which nodes of some models send."""
    rows = [[shares(one, RADIUS) for one in w]]
    how = [((0, frame), [(snr, 1, gains, 1.0 / reference) for snr in snrs])]
    return sum_of_energies(rows, how, 7)


def test_a_model_is_a_convex_combination_of_the_codewords():
    for w in models(5):
        p = shares(w, RADIUS)
        assert (p >= 0.0).all()
        assert float(p.sum()) == pytest.approx(1.0)
        assert torch.allclose(p @ codewords(), w)
    w = 100.0 * models(1)[0]
    assert torch.allclose(shares(w, RADIUS) @ codewords(), in_ball(w, RADIUS))
    assert float(in_ball(w, RADIUS).norm()) == pytest.approx(RADIUS)


def test_the_step_of_consensus_is_that_of_the_formula():
    w, other, trained = models(3)
    r = torch.rand(2 * D, dtype=torch.float64)
    by_hand = sum(r[m] * (codewords()[m] - w) for m in range(2 * D))
    assert torch.allclose(consensus(w, r, RADIUS), by_hand)
    # Without noise and fading the sum over senders of l_j (w_j - w), whatever else is sent.
    exact = 0.3 * shares(other, RADIUS) + 1.7 * shares(trained, RADIUS)
    wanted = 0.3 * (other - w) + 1.7 * (trained - w)
    assert torch.allclose(consensus(w, exact, RADIUS), wanted)
    assert torch.allclose(step(w, trained, (exact,), 0.01, RADIUS), trained + 0.01 * wanted)
    assert torch.allclose(step(w, trained, (), 0.01, RADIUS), trained)


@pytest.mark.slow
@pytest.mark.parametrize("fading", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_energies_add_up_on_average_and_vary_as_derived(fading):
    """Mean sum of l_j p_j; variance ((1 + a)^2 - sum of a_j^2) / (M S_ref)^2, a_j = M S_j p_j.

    Under Rayleigh fading, new for each symbol, y is complex normal: (1 + a)^2 without the squares.
    """
    w, snrs, n, size = models(3), (30.0, 100.0, 400.0), 1_500, 2 * D
    rng, found = np.random.default_rng(1), []
    for frame in range(n):
        if fading:
            rows = [[shares(one, RADIUS) for one in w]]
            how = [((0, frame), [
                (snr, 1, tuple((g,) for g in rng.exponential(size=size)), 0.01) for snr in snrs
            ])]  # fmt: skip
            found.append(sum_of_energies(rows, how, 7)[0])
        else:
            found.append(heard(w, snrs, frame)[0])
    r = torch.stack(found).numpy()
    a = size * np.array(snrs)[:, None] * np.array([shares(one, RADIUS).numpy() for one in w])
    mean, scale = a.sum(0) / (size * 100.0), size * 100.0
    variance = ((1.0 + a.sum(0)) ** 2 - (0.0 if fading else (a**2).sum(0))) / scale**2
    assert (np.abs(r.mean(0) - mean) < 5 * np.sqrt(variance / n)).all()
    # The variance of an exponential's sample variance is 8 v^2 / n, no other is larger here.
    assert np.abs(r.var(0) / variance - 1.0).max() < 5 * np.sqrt(8 / n)
    assert abs((r.var(0) / variance).mean() - 1.0) < 5 * np.sqrt(8 / n / size)


def test_noise_alone_has_no_mean():
    """Nobody near: r is (|n|^2 - 1) / (M S_ref), of mean 0 and variance 1 / (M S_ref)^2."""
    n = 400
    r = np.array([heard(models(1), (1e-12,), k)[0].numpy() for k in range(n)]) * 2 * D * 100.0
    assert abs(r.mean()) < 4 / np.sqrt(n * 2 * D)
    assert abs(r.var() - 1.0) < 4 * np.sqrt(8 / (n * 2 * D))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["line", "ring"])
def test_models_come_together_and_their_mean_stays(shape):
    """Six nodes, coins of 1/2: the spread falls; equal gains leave the mean where it is."""
    n, rounds = 6, 1_500
    w = models(n)
    apart = np.abs(np.subtract.outer(range(n), range(n)))
    near = (apart == 1) | ((apart == n - 1) & (shape == "ring"))
    rng = np.random.default_rng(2)
    before, mean = w.clone(), w.mean(0)
    spread = []
    for k in range(rounds):
        gamma = 0.2 * (1.0 + 0.05 * k) ** -0.75
        sends = rng.random(n) < 0.5
        after = w.clone()
        for i in np.flatnonzero(~sends):
            peers = np.flatnonzero(near[i] & sends)
            if len(peers):
                r, _ = heard(w[peers], [100.0] * len(peers), k * n + int(i))
                after[i] = step(w[i], w[i], (r,), gamma, RADIUS)
        w = after
        spread.append(float((w - w.mean(0)).norm()))
    first = float((before - mean).norm())
    assert np.mean(spread[-200:]) < 0.3 * first
    assert np.mean(spread[-200:]) < 0.6 * np.mean(spread[50:100])
    assert float((w.mean(0) - mean).norm()) < first


# -- played --------------------------------------------------------------------------------------


def played(**tables):
    base = {
        "horizon_s": 30.5, "seed": 3, "nodes": {"count": 6},
        "topology": {"kind": "ring"}, "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 10}},
        "model": {"kind": "mlp", "hidden": [8]}, "metrics": {"every_s": 10.0},
        "radio": {"bandwidth_hz": 1e6, "fading": {"kind": "rayleigh", "coherence_s": 1e-3}},
        "algorithm": [{"kind": "ncota", "local_steps": 2}],
    }  # fmt: skip
    loaded = scenario.from_dict(base | tables)
    return engine.play(world.build(loaded), loaded.algorithm[0], timing_only=True, check=True)


def test_a_frame_is_on_the_air_once_and_carries_no_bits():
    """About half of six nodes send a round; 2 D symbols at 1 MHz; whoever sends hears nothing."""
    summary = played()
    outcomes = summary["outcomes"]["Energies"]
    assert set(outcomes) <= {"delivered", "busy"}
    assert summary["messages"]["bits_transmitted"] == 0
    parameters = 64 * 8 + 8 + 8 * 10 + 10
    frames = summary["messages"]["airtime_s"] / (2 * parameters / 1e6)
    assert frames == pytest.approx(round(frames), rel=1e-9)
    assert 25 <= round(frames) <= 31  # in one of 64 rounds nobody sends, or nobody listens
    # Either neighbour of a sender sends, too, with probability 1/2.
    sent = sum(outcomes.values())
    assert abs(outcomes["busy"] / sent - 0.5) < 4 * np.sqrt(0.25 / (sent / 2))


@pytest.mark.slow
def test_it_is_played_with_churn_sleep_and_moving_nodes():
    on_off = {"kind": "exponential", "mean_on_s": 5.0, "mean_off_s": 2.0}
    summary = played(
        nodes={"count": 6, "placement": "disc", "radius_m": 60.0}, churn=on_off,
        mobility={"kind": "random_waypoint"},
        radio={"bandwidth_hz": 1e6, "sleep": {"kind": "duty_cycle", "period_s": 0.5,
                                              "awake_fraction": 0.6}},
    )  # fmt: skip
    found = summary["outcomes"]["Energies"]
    assert {"delivered", "busy", "off", "asleep"} <= {k for k, v in found.items() if v}


def test_params_are_checked():
    with pytest.raises(ValueError, match="transmit"):
        Params(transmit=1.5)
