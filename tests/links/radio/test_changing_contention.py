"""CSMA among senders whose links change while their messages last, beside frame by frame."""

import numpy as np
import pytest

from netsim.links.radio.phy.mean_snr import GivenMeanSnr
from netsim.links.radio.table import Radio
from netsim.traces.gains import Gains

S = 1_000_000_000
NODES = 4
PACKETS, PACKET_BITS = 500, 8 * 1464
LOUD_DB, UNHEARD_DB = -60.0, -150.0
CHANGE_S = 0.6
RADIO = {
    "carrier_hz": 5.15e9,
    "packet_payload_bytes": 1464,
    "packet_header_bytes": 36,
    "attempt_overhead_s": 24e-6,
    "rate": {"kind": "fixed", "rate_bps": 6e6},
    "threshold_db": 3.96,
    "sensitivity_dbm": -82.0,
    "packet_error": {"kind": "ofdm_80211", "mbps": 6},
    "arq": {"kind": "hole", "max_attempts": 7},
    "mac": {"kind": "csma", "capture": True, "eifs_s": 94e-6},
}


def gains(senders_hear, receivers_hear):
    """Of 0 to 1 and 2 to 3: whether the senders hear each other, and the receivers both senders."""
    found = np.full((NODES, NODES), UNHEARD_DB)
    found[[0, 1, 2, 3], [1, 0, 3, 2]] = LOUD_DB
    if senders_hear:
        found[[0, 2], [2, 0]] = LOUD_DB
    if receivers_hear:
        found[[0, 3, 2, 1], [3, 0, 1, 2]] = LOUD_DB
    return found


IN_RANGE, HIDDEN, APART = gains(True, True), gains(False, True), gains(False, False)


def played(ether, fidelity, seed, matrices, fading=None):
    """Two messages that begin together: packets lost, and when the later one ended [s]."""
    fades = {"fading": fading or {"kind": "none"}}
    table = Radio.model_validate(RADIO | fades)
    t_s = np.array([0.0, CHANGE_S, 1e6])[: len(matrices) + 1]
    path = Gains.from_matrices(t_s, np.array([*matrices, matrices[-1]]))
    means = GivenMeanSnr(table, (20.0,) * NODES, path)
    e = ether(RADIO | fades | {"fidelity": fidelity}, means, nodes=NODES, seed=seed)
    for src in (0, 2):
        e.send(src, src + 1, PACKETS * PACKET_BITS, parts=True)
    ended = e.run()
    return sum(x.lost for x in ended), max(x.at_ns for x in ended) / S


def means(ether, fidelity, seeds, *args, **keys):
    """Means over seeds of what `played` gives, and their standard errors."""
    found = np.array([played(ether, fidelity, seed, *args, **keys) for seed in range(seeds)])
    return found.mean(0), found.std(0, ddof=1) / np.sqrt(seeds)


def compared(ether, seeds, *args, **keys):
    """Both levels: by how much they differ, and the means frame by frame.

    Differences are what is left of them beyond two standard errors.
    """
    found, se = means(ether, "message", seeds, *args, **keys)
    frames, frames_se = means(ether, "packet", seeds, *args, **keys)
    return np.maximum(0.0, abs(found - frames) - 2.0 * np.hypot(se, frames_se)), frames


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "matrices",
    [(IN_RANGE, HIDDEN), (HIDDEN, IN_RANGE), (IN_RANGE, APART), (APART, IN_RANGE), (HIDDEN, APART)],
    ids=["lose sight", "see each other", "drive apart", "drive together", "no longer spoil"],
)
@pytest.mark.slow
def test_senders_meet_anew_when_their_links_change(ether, matrices):
    """Packets lost within 2 % of all that are sent, and times within 5 %.

    If all went on as it began, those that see each other would lose 33 % instead of 3 %, and those
    that drive apart would take 2.3 s instead of 1.4.
    """
    (lost, longer_s), (_, ends_s) = compared(ether, 6, matrices)
    assert lost <= 0.02 * 2 * PACKETS
    assert longer_s <= 0.05 * ends_s


@pytest.mark.slow
def test_a_deep_fade_leaves_the_medium_to_the_others(ether):
    """Links fade below the sensitivity for a quarter of the time: backoffs grow, so few are lost.

    If own fades did not count for the backoff, 44 packets would be lost instead of 9.
    """
    found = IN_RANGE.copy()
    found[[0, 1, 2, 3], [1, 0, 3, 2]] = -97.0
    fading = {"kind": "rayleigh", "hold": "coherence", "coherence_s": 0.1}
    (lost, longer_s), (frames_lost, ends_s) = compared(ether, 8, (found,), fading=fading)
    assert lost <= 0.2 * frames_lost
    assert longer_s <= 0.05 * ends_s
