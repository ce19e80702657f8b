"""Closed forms that the channel models must meet, as functions of the model: they raise
AssertionError if it does not.

Every check simulates: draws come from keyed streams and go through the model as in a run. Its
tolerance is four standard errors of what it averages.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.mean_snr import IidMeanSnr, PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, db_to_linear, linear_to_db

STILL = {"kind": "none"}
MANY = 40_000
SEED = 11


class Drift:
    """Nodes on straight lines."""

    def __init__(self, start_m: Any, velocity_m_per_s: Any) -> None:
        self.start_m = np.asarray(start_m, dtype=float)
        self.velocity_m_per_s = np.asarray(velocity_m_per_s, dtype=float)
        self.fastest_m_per_s = float(np.hypot(*self.velocity_m_per_s.T).max())

    def at(self, nodes: Any, time_ns: int) -> np.ndarray:
        ids = np.asarray(nodes)
        return self.start_m[ids] + self.velocity_m_per_s[ids] * (time_ns / NS_PER_S)


def radio_of(swap: dict[str, Any] | None = None, **tables: Any) -> Radio:
    """A radio; `swap` puts models in place that no scenario could name."""
    return Radio(**tables).model_copy(update=swap or {})


def alike(
    radio: Radio,
    nodes: int,
    mean_snr_db: float = 10.0,
    seed: int = SEED,
    propagation: type[RadioChannel] = RadioChannel,
) -> RadioChannel:
    """Links of one mean SNR."""
    streams = Streams(seed)
    means = IidMeanSnr(radio, (mean_snr_db,) * nodes, streams)
    budget = LinkBudget(means, db_to_linear(radio.threshold_db), (0.1,) * nodes)
    return propagation(radio, budget, never_woke, streams)


def placed(
    radio: Radio,
    positions_m: Any,
    track: Drift | None = None,
    seed: int = SEED,
    propagation: type[RadioChannel] = RadioChannel,
) -> RadioChannel:
    """Links between places."""
    streams, at = Streams(seed), np.asarray(positions_m, dtype=float)
    powers = (radio.tx_power_dbm,) * len(at)
    means = PlacedMeanSnr(radio, powers, at, streams, math.inf, track)
    budget = LinkBudget(means, db_to_linear(radio.threshold_db), (0.1,) * len(at), math.inf)
    return propagation(radio, budget, never_woke, streams)


def never_woke(node: int, time_ns: int) -> tuple[int, int]:
    return 0, 0


def gains(fading: Any, mean_snr_db: float = 10.0) -> np.ndarray:
    """SNRs of many pairs of node 0 as a run meets them."""
    channel = alike(radio_of({"fading": fading}), MANY + 1, mean_snr_db)
    others = range(1, MANY + 1)
    return channel._mean_snr.snr(0, others, 0) * channel._fading.gains_to(0, others, 0)


def near(got: float, want: float, tolerance: float, what: str) -> None:
    assert abs(got - want) <= tolerance, f"{what}: {got:.6g}, not {want:.6g} +- {tolerance:.2g}"


def is_share(found: np.ndarray, want: float, what: str) -> None:
    near(float(found.mean()), want, 4.0 * math.sqrt(want * (1 - want) / found.size), what)


def is_mean(found: np.ndarray, want: float, what: str) -> None:
    near(float(found.mean()), want, 4.0 * float(found.std()) / math.sqrt(found.size), what)


# -- small scale ---------------------------------------------------------------------------------


def check_outage(fading: Any, want: float) -> None:
    """Share of SNRs below a threshold of 5 dB where the mean is 10 dB."""
    is_share(gains(fading) < db_to_linear(5.0), want, "outage")


def check_deep_fades(fading: Any) -> None:
    """Rayleigh: a fade below a tenth of the mean has probability .0951626."""
    is_share(gains(fading, 0.0) < 0.1, 0.0951626, "fades below -10 dB")


def check_mean_gain(fading: Any) -> None:
    is_mean(gains(fading, 0.0), 1.0, "mean power gain")


def check_ergodic_capacity(fading: Any, rate: Any) -> None:
    """Rayleigh at 10 dB: 2.906515 bit/s/Hz."""
    is_mean(np.array([rate.bits_per_s(s, 1.0) for s in gains(fading)]), 2.906515, "capacity")


def check_outage_rate(fading: Any, rate: Any) -> None:
    """Rayleigh at 10 dB: a tenth of the rates are below 1.038159 bit/s/Hz."""
    rates = np.array([rate.bits_per_s(s, 1.0) for s in gains(fading)])
    is_share(rates < 1.038159, 0.1, "rates below the 10 % outage rate")


def check_bpsk_over_rayleigh(fading: Any, rule: Any) -> None:
    """Bit errors at 10 dB: .0232687."""
    is_mean(np.array([rule.probability(s, 1, 1.0) for s in gains(fading)]), 0.0232687, "bit errors")


def check_waterfall(fading: Any, rule: Any, bits: int, mean_snr_db: float, slack: float) -> None:
    """E[PER] = 1 - exp(-w0 / mean), w0 the area under PER, but for a relative error `slack`."""
    snr = np.linspace(0.0, 60.0, 6001)
    w0 = np.trapezoid([rule.probability(s, bits, 1.0) for s in snr], snr)
    want = -math.expm1(-w0 / db_to_linear(mean_snr_db))
    found = np.array([rule.probability(s, bits, 1.0) for s in gains(fading, mean_snr_db)])
    error = 4.0 * float(found.std()) / math.sqrt(found.size)
    near(float(found.mean()), want, error + slack * want, "packet loss over Rayleigh")


# -- in time -------------------------------------------------------------------------------------

DOPPLER_HZ = 12.0


def histories(propagation: Any, fading: Any, steps: int, pairs: int = 4000) -> np.ndarray:
    """Gains of many pairs at the starts of the first steps; (pairs, steps), mean SNR 0 dB."""
    channel = alike(radio_of({"fading": fading}), pairs + 1, 0.0, propagation=propagation)
    step_ns = channel._fading._coherence_ns
    return np.array(
        [[channel.snr(0, j, k * step_ns) for k in range(steps)] for j in range(1, pairs + 1)]
    )


def check_clarke(fading: Any) -> None:
    """Amplitudes correlate as J0(2 pi fD tau): .97548, .90371, .64251 at fD tau = .05, .1, .2."""
    pairs = 4000
    u = Streams(SEED).uniform_table(
        "tones", np.arange(pairs), counters=np.arange(fading.tone_draws)
    )
    apart = np.array([0.0, 0.05, 0.1, 0.2, 0.5])
    h = fading.amplitude_at(u, DOPPLER_HZ, 3.0 + apart / DOPPLER_HZ)
    for tau, want in zip(apart[1:], (0.97548, 0.90371, 0.64251, special.j0(math.pi)), strict=True):
        products = (h[:, 0].conj() * h[:, list(apart).index(tau)]).real
        is_mean(products, want, f"correlation of amplitudes at fD tau = {tau}")


def check_clarke_of_power(propagation: Any, fading: Any) -> None:
    """Power gains correlate as J0^2, which 64 tones lower by up to 1/64 of it."""
    found = histories(propagation, fading, 5)
    assert abs(found.mean() - 1.0) < 0.05, f"mean gain {found.mean():.3f}"
    for lag in (1, 2, 4):
        want = special.j0(2.0 * math.pi * 0.05 * lag) ** 2
        got = np.corrcoef(found[:, 0], found[:, lag])[0, 1]
        # of the correlation of exponential variables: below 2 (1 - r^2) / sqrt(n) for these r
        near(got, want, 8.0 * (1 - want) / math.sqrt(len(found)) + 1 / 64, f"power at lag {lag}")


def check_level_crossings(fading: Any) -> None:
    """12 Hz, -10 dB: 8.6068 fades a second, of 11.057 ms on average."""
    pairs, seconds, step_s = 36, 10.0, 0.8e-3
    u = Streams(SEED).uniform_table(
        "tones", np.arange(pairs), counters=np.arange(fading.tone_draws)
    )
    times = np.arange(0.0, seconds, step_s)
    below = np.concatenate(
        [fading.gain_at(u[k : k + 4], DOPPLER_HZ, times) < 0.1 for k in range(0, pairs, 4)]
    )
    fades = int((below[:, 1:] & ~below[:, :-1]).sum())
    want = 8.6068 * pairs * seconds
    near(fades, want, 4.0 * math.sqrt(want), "fades")
    near(below.sum() * step_s / fades, 11.057e-3, 4.0 * 11.057e-3 / math.sqrt(want), "mean fade")


def check_blocks_are_independent(propagation: Any, fading: Any) -> None:
    found = histories(propagation, fading, 2)
    got = np.corrcoef(found.T)[0, 1]
    near(got, 0.0, 4.0 / math.sqrt(len(found)), "correlation of neighbouring blocks")


def check_order_free(propagation: Any, fading: Any) -> None:
    """A gain is the same whichever other links exist, whoever asks, however often, in any order."""
    radio = radio_of({"fading": fading})
    times = [int(t * NS_PER_S) for t in np.linspace(0.0, 2.0, 9)]
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    channel = alike(radio, 4, propagation=propagation)
    there = {(i, j, t): channel.snr(i, j, t) for t in times for i, j in pairs}
    channel = alike(radio, 4, propagation=propagation)
    back = {
        (i, j, t): channel.snr(i, j, t) for i, j in reversed(pairs) for t in reversed(times * 2)
    }
    assert there == back, "SNRs depend on the order of questions"
    alone = alike(radio, 2, propagation=propagation)
    assert all(alone.snr(0, 1, t) == there[0, 1, t] for t in times), "SNRs depend on other links"
    assert all(there[i, j, t] == there[j, i, t] for i, j, t in there), "gains are not reciprocal"
    assert len({there[0, 1, t] for t in times}) > 1, "the channel never changes"
    assert len({there[0, j, times[-1]] for j in (1, 2, 3)}) == 3, "links share their fading"


# -- in space ------------------------------------------------------------------------------------


def check_free_space(model: Any) -> None:
    """2.4 GHz, 100 m: 80.0520 dB."""
    near(model.loss_db(100.0, 2.4e9), 80.0520, 5e-5, "free space")


def check_noise(radio: Any) -> None:
    """290 K, 20 MHz, 7 dB: -93.96 dBm."""
    near(radio.noise_dbm, -93.96, 0.005, "noise")


def shadow_samples(
    shadowing: Any, at_m: Any, velocity: Any = None, times: Any = (0,)
) -> np.ndarray:
    """Shadowing [dB] of the pairs (0, 1), (0, 2), ... at some times; (times, pairs)."""
    radio = radio_of({"shadowing": shadowing}, fading=STILL, path_loss={"kind": "free_space"})
    track = None if velocity is None else Drift(at_m, velocity)
    channel = placed(radio, at_m, track)
    bare = placed(radio_of(fading=STILL, path_loss={"kind": "free_space"}), at_m, track)
    others = range(1, len(at_m))
    return np.array(
        [
            -10.0 * np.log10(channel._mean_snr.snr(0, others, t) / bare._mean_snr.snr(0, others, t))
            for t in times
        ]
    )


def spread(nodes: int) -> np.ndarray:
    """Nodes on a line, far from node 0 at the origin."""
    at = np.zeros((nodes + 1, 2))
    at[1:, 0] = 100.0 + np.arange(nodes)
    return at


def check_shadowing_size(shadowing: Any, sigma_db: float) -> None:
    """Mean 0 dB, standard deviation `sigma_db`: over still pairs, and over pairs that move."""
    at, n = spread(MANY // 10), MANY // 10
    for velocity in (None, np.full(at.shape, 1.0)):
        found = shadow_samples(shadowing, at, velocity).ravel()
        near(float(found.mean()), 0.0, 4.0 * sigma_db / math.sqrt(n), "mean shadowing")
        near(float(found.std()), sigma_db, 4.0 * sigma_db / math.sqrt(2 * n), "sigma of shadowing")


def check_shadowing_of_pairs_is_independent(shadowing: Any) -> None:
    """Neighbours on a line share nothing."""
    at = spread(MANY // 10)
    for velocity in (None, np.full(at.shape, 1.0)):
        found = shadow_samples(shadowing, at, velocity).ravel()
        assert found.std() > 0, "all pairs have the same shadowing"
        got = np.corrcoef(found[1:], found[:-1])[0, 1]
        near(got, 0.0, 4.0 / math.sqrt(found.size), "correlation of neighbouring pairs")


def check_shadowing_along_motion(shadowing: Any, decorrelation_m: float) -> None:
    """exp(-D / d) if one end moves by D, exp(-(D0 + D1) / d) if both do."""
    at, n = spread(MANY // 10), MANY // 10
    speed = 1.0
    seconds = [0.0, 0.2 * decorrelation_m, decorrelation_m, 2 * decorrelation_m]
    times = [int(t * NS_PER_S) for t in seconds]
    for movers in (1, 2):
        velocity = np.zeros_like(at)
        velocity[1:] = (0.0, speed)
        if movers == 2:
            velocity[0] = (-speed, 0.0)
        found = shadow_samples(shadowing, at, velocity, times)
        for k in (1, 2, 3):
            want = math.exp(-movers * seconds[k] / decorrelation_m)
            got = np.corrcoef(found[0], found[k])[0, 1]
            tolerance = 4.0 * (1 - want**2) / math.sqrt(n) + 0.01 * want  # and a step of the grid
            near(got, want, tolerance, f"shadowing {seconds[k]:g} s later, {movers} moving")


def check_shadowing_is_a_function_of_place(shadowing: Any) -> None:
    """Reciprocal, whoever asks when; a node that is back meets what it met."""
    at = np.array([[0.0, 0.0], [50.0, 0.0], [90.0, 30.0]])

    class There(Drift):
        def at(self, nodes: Any, time_ns: int) -> np.ndarray:
            away_s = 10.0 - abs(10.0 - time_ns / NS_PER_S)
            return super().at(nodes, round(away_s * NS_PER_S))

    radio = radio_of({"shadowing": shadowing}, fading=STILL)
    track = There(at, [[0.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    times = [0, 5, 20, 3, 10]

    def ask(order: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], float]:
        channel = placed(radio, at, track)
        return {key: channel.snr(key[0], key[1], key[2] * NS_PER_S) for key in order}

    order = [(i, j, t) for t in times for i in range(3) for j in range(3) if i != j]
    there, back = ask(order), ask(order[::-1])
    assert there == back, "shadowing depends on the order of questions"
    assert all(there[i, j, t] == there[j, i, t] for i, j, t in there), "not reciprocal"
    assert there[0, 1, 0] == there[0, 1, 20], "a node that returns meets other shadowing"
    assert len({there[0, 1, t] for t in (0, 5, 10)}) == 3, "shadowing does not change"


def check_jakes_coverage(shadowing: Any) -> None:
    """Exponent 4, sigma 8 dB, half covered at the edge: .772825 of the area is covered."""
    u = np.random.Generator(np.random.Philox(3)).random((2, MANY))
    place = 100.0 * np.sqrt(u[0]) * np.exp(2j * np.pi * u[1])
    at = np.concatenate([[0.0], place])
    radio = radio_of(
        {"shadowing": shadowing}, fading=STILL, path_loss={"kind": "log_distance", "exponent": 4}
    )
    edge_db = radio.path_loss.loss_db(100.0, radio.carrier_hz)
    radio = radio.model_copy(
        update={"threshold_db": radio.tx_power_dbm - radio.noise_dbm - edge_db}
    )
    channel = placed(radio, np.stack([at.real, at.imag], axis=1))
    covered = np.zeros(MANY, dtype=bool)
    covered[np.array(channel.in_reach(0, range(1, MANY + 1), 0)) - 1] = True
    # places under 1 m count as 1 m: a share of 1e-4, covered all the same
    is_share(covered, 0.772825, "area covered")


# -- rates ---------------------------------------------------------------------------------------


def check_old_news(propagation: Any) -> None:
    """With a CSI delay the rate is that of the SNR of then, and packets fail by that of now."""
    radio = radio_of(
        fading={"kind": "rayleigh", "coherence_s": 0.1},
        rate={"kind": "shannon_gap", "min_rate_bps": 1.0, "csi_delay_s": 0.04},
        packet_error={"kind": "rate_outage"},
    )
    channel = alike(radio, 2, propagation=propagation)
    start_ns, seen = 100_000_000, []
    for block in channel.blocks(0, 1, start_ns, 12_000):
        seen.append(block)
        if len(seen) == 400:
            break
    at_ns, late = start_ns, 0
    for s in seen:
        now, then = channel.snr(0, 1, at_ns), channel.snr(0, 1, at_ns - 40_000_000)
        assert s.snr == now, "packets are not decoded at the actual SNR"
        want_ns = 12_000 / radio.rate.bits_per_s(then, radio.bandwidth_hz) * NS_PER_S
        assert math.isclose(s.attempt_ns, want_ns), "the rate was not chosen on the SNR of then"
        assert s.per == (0.0 if now >= then * (1 - 1e-9) else 1.0), "wrong threshold"
        late += s.per == 1.0
        at_ns += s.length_ns
    # of every two blocks one has new news; of the others half have got worse
    assert 60 < late < 140, f"{late} of {len(seen)} blocks failed"


def snr_db(model: Any, at_m: float) -> float:
    """Mean SNR over a distance."""
    return linear_to_db(placed(model, [[0.0, 0.0], [at_m, 0.0]]).snr(0, 1, 0))


def check_spread_of_message_times(
    propagation: Any, fading: Any, periods: float, want: float, messages: int
) -> None:
    """Standard deviation over mean of the time that a message takes at Shannon's rate, 10 dB.

    The message takes some `periods` of fD. The exact Clarke process, simulated elsewhere by its
    spectrum, gives .175 for 3 and .064 for 30; the models come to within a sixth of that.
    """
    rate = {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e-3}
    radio = radio_of({"fading": fading}, rate=rate, bandwidth_hz=1e6)
    channel = alike(radio, messages + 1, propagation=propagation)
    size, times = 2.906515e6 * periods / DOPPLER_HZ, []
    for j in range(1, messages + 1):
        start_ns = now_ns = j * 7_919_000_000
        left, bits = size, 1e-3
        for s in channel.blocks(0, j, start_ns, bits):
            bps = bits / s.attempt_ns * NS_PER_S
            done_ns = left / bps * NS_PER_S
            if done_ns <= s.length_ns:
                break
            left -= bps * s.length_ns / NS_PER_S
            now_ns += s.length_ns
        times.append(now_ns + done_ns - start_ns)
    got = float(np.std(times) / np.mean(times))
    # skewed, so that the standard error of the deviation is above 1 / sqrt(2 n)
    near(got, want, 4.0 * want / math.sqrt(messages), "spread of message times")
