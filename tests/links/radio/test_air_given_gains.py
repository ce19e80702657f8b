"""Messages over gains that a file states: they change when it says, and differ by direction."""

import numpy as np
import pytest

from netsim.links.radio.phy.mean_snr import GivenMeanSnr
from netsim.links.radio.table import Radio
from netsim.traces.gains import Gains

S = 1_000_000_000
NODES = 4
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


def lost(ether, fidelity, t_s, gain_db, loop=False, interferer=True):
    """Packets lost of 10 from 0 to 1, a second each from 0 s on, while 2 sends to 3 throughout."""
    radio = {
        "mac": {"kind": "shared"},
        "packet_payload_bytes": 125_000,
        "packet_error": {"kind": "outage"},
        "threshold_db": 5.0,
        "arq": {"kind": "none"},
        "fidelity": fidelity,
    }
    table = Radio.model_validate(radio | {"fading": {"kind": "none"}})
    gains = Gains.from_matrices(np.array(t_s), np.array(gain_db), repeats=loop)
    e = ether(radio, GivenMeanSnr(table, (20.0,) * NODES, gains), nodes=NODES)
    if interferer:
        e.send(2, 3, 12_000_000)
    e.send(0, 1, 10_000_000, parts=True)
    (ended,) = [x for x in e.run() if x.src == 0]
    return ended.lost


def matrix(signal=-60.0, interference=-90.0, backwards=-90.0):
    """Gains: 0 to 1, 2 to 1, and 1 to 2, which nobody uses."""
    found = np.full((NODES, NODES), -50.0)
    found[0, 1], found[2, 1], found[1, 2] = signal, interference, backwards
    return found


@FIDELITIES
def test_an_interferer_is_loud_while_the_file_says_so(ether, fidelity):
    """4 dB over it is less than the threshold of 5 dB from 3 s to 7 s: four packets begin then."""
    found = [matrix(), matrix(interference=-64.0), matrix()]
    assert lost(ether, fidelity, [0.0, 3.0, 7.0], found) == 4
    assert lost(ether, fidelity, [0.0, 3.0, 7.0], found, interferer=False) == 0


@FIDELITIES
def test_the_gain_counts_from_the_interferer_to_the_receiver_not_back(ether, fidelity):
    assert lost(ether, fidelity, [0.0], [matrix(backwards=-55.0)]) == 0
    assert lost(ether, fidelity, [0.0], [matrix(interference=-55.0)]) == 10


@FIDELITIES
def test_a_link_that_the_file_cuts_off_loses_what_is_sent_meanwhile(ether, fidelity):
    """No gain from 2 s to 4 s, and in a loop of 6 s from 8 s to 10 s again."""
    found = [matrix(), matrix(signal=-np.inf), matrix()]
    times = [0.0, 2.0, 4.0]  # the last matrix lasts as long as the one before
    assert lost(ether, fidelity, times, found) == 2
    found[2] = matrix(signal=-61.0)
    assert lost(ether, fidelity, times, found, loop=True) == 2 + 2
