"""What is told of a world before it is played: links and movements that are most often slips."""

import pytest

from netsim import scenario, world
from netsim.world.remarks import remarks

RADIO = {"path_loss": {"kind": "free_space"}, "fading": {"kind": "none"}}
BASE = {
    "horizon_s": 10.0,
    "nodes": {"count": 2, "placement": "given", "positions_m": [[0.0, 0.0], [50.0, 0.0]]},
    "exchange": {"schedule": "periodic", "period_s": 2.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [2]},
    "algorithm": {"kind": "dpsgd"},
}


def told(**tables):
    return remarks(world.build(scenario.from_dict({**BASE, "radio": RADIO, **tables})))


def test_a_plausible_world_has_no_remark():
    assert told() == []


def test_a_link_that_no_receiver_can_hear_so_well_is_told():
    """59 dBm over 50 m of free space, into 1 kHz: noise is -144 dBm and a few dB."""
    found = told(radio=RADIO | {"tx_power_dbm": 59.0, "bandwidth_hz": 1e3})
    assert any("the mean SNR is" in text and "more than 100 dB" in text for text in found)


def test_a_rate_that_no_modulation_carries_is_told():
    """20 Mbit/s in 1 MHz are 20 bit/s/Hz."""
    rate = {"kind": "fixed", "rate_bps": 2e7}
    found = told(radio=RADIO | {"rate": rate, "bandwidth_hz": 1e6})
    assert any("bit/s/Hz" in text for text in found)
    assert (
        told(radio=RADIO | {"rate": {"kind": "fixed", "rate_bps": 1e7}, "bandwidth_hz": 1e6}) == []
    )


@pytest.mark.parametrize(("end_m", "is_told"), [(3000.0, False), (4000.0, True)])
def test_a_file_that_moves_a_node_faster_than_sound_is_told(tmp_path, end_m, is_told):
    """In 10 s: 300 m/s, and 400 m/s."""
    path = tmp_path / "moves.csv"
    path.write_text(f"node,t_s,x_m,y_m\n0,0,0,0\n0,10,{end_m},0\n1,0,0,0\n")
    found = told(mobility={"kind": "trace", "path": str(path)})
    assert any("faster than sound" in text for text in found) == is_told
