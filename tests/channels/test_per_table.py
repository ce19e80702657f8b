"""Packet errors from tables: rows, what lies between and beyond them, and what is refused."""

import math

import pytest

from netsim import world
from netsim.channels.packet_error.table import TabledPacketError
from netsim.errors import DataError
from netsim.scenario import from_dict
from netsim.units import db_to_linear

ROWS = """\
rate,bytes,snr_db,per
6e6,1000,2,1.0
6e6,1000,4,0.1
6e6,1000,6,0.001
6e6,1000,8,0.0
6e6,100,2,0.5
6e6,100,4,0.01
54e6,1000,20,0.5
54e6,1000,22,0.05
"""


@pytest.fixture
def table(tmp_path):
    def made(text=ROWS):
        (tmp_path / "per.csv").write_text(text)
        return TabledPacketError(path=str(tmp_path / "per.csv"))

    return made


def per(rule, snr_db, size, rate_bps=6e6):
    return rule.at_rate(rate_bps).probability(db_to_linear(snr_db), 8 * size, 1.0)


def test_rows_are_met(table):
    rule = table()
    assert per(rule, 2, 1000) == pytest.approx(1.0)
    assert per(rule, 2, 100) == pytest.approx(0.5)
    assert per(rule, 4.0, 1000) == pytest.approx(0.1)
    assert per(rule, 22, 1000, 54e6) == pytest.approx(0.05)
    assert per(rule, 4, 100) == pytest.approx(0.01)


def test_between_rows_the_logarithm_is_linear_in_db(table):
    rule = table()
    assert per(rule, 5, 1000) == pytest.approx(0.01)
    assert per(rule, 3, 1000) == pytest.approx(math.sqrt(0.1))
    assert per(rule, 7, 1000) == pytest.approx(math.sqrt(1e-15), rel=1e-6)


def test_beyond_its_rows_a_curve_errs_towards_loss(table):
    rule = table()
    assert per(rule, 1.99, 1000) == per(rule, -30, 100) == 1.0
    assert rule.at_rate(6e6).probability(0.0, 8, 1.0) == 1.0
    assert per(rule, 40, 1000) == 0.0
    assert per(rule, 30, 1000, 54e6) == pytest.approx(0.05)
    assert rule.at_rate(54e6).probability(math.inf, 8000, 1.0) == pytest.approx(0.05)


def test_sizes_are_pieces_that_are_lost_independently(table):
    rule = table()
    assert per(rule, 4, 2000) == pytest.approx(1 - 0.9**2)
    assert per(rule, 4, 50) == pytest.approx(1 - 0.99**0.5)
    between = 0.5 * (math.log(0.99) + math.log(0.9))
    assert per(rule, 4, 550) == pytest.approx(1 - math.exp(between))
    assert per(rule, 2, 550) == pytest.approx(1.0)


def test_a_rate_is_met_to_one_per_cent(table):
    rule = table()
    assert per(rule, 4, 1000, 6.05e6) == pytest.approx(0.1)
    with pytest.raises(DataError, match=r"no rate of 1e\+07 bit/s, .* it has 6e\+06, 5.4e\+07"):
        rule.at_rate(10e6)
    any_rate = table("rate,bytes,snr_db,per\n,1000,0,0.5\n,1000,5,0.01\n")
    assert per(any_rate, 5, 1000, 123.0) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rate,bytes,snr,per\n1,1,1,1\n", "no column snr_db; it has rate, bytes, snr, per"),
        ("rate,bytes,snr_db,per\n1,1,1,1.5\n", "line 2: per must be a probability, 0 to 1"),
        ("rate,bytes,snr_db,per\n1,1,1,.1\n1,1,2,.2\n", "line 3: per must not rise with snr_db"),
        ("rate,bytes,snr_db,per\n1,1,1,.1\n1,1,1,.1\n", "line 3: this rate and size has a row"),
        ("rate,bytes,snr_db,per\n1,1.5,1,.1\n", "line 2: bytes must be a whole number"),
        ("rate,bytes,snr_db,per\n-1,1,1,.1\n", "line 2: rate must be a number of bit/s"),
        ("rate,bytes,snr_db,per\n1,1,1,.1\n,1,2,.1\n", "line 3: rate must be stated in every row"),
        ("rate,bytes,snr_db,per\n1,1,x,.1\n", "line 2: snr_db must be a number"),
    ],
)
def test_a_bad_table_is_told_with_its_line(table, text, problem):
    with pytest.raises(DataError, match=problem):
        table(text).at_rate(1.0)


def tables(rule, **radio):
    return {
        "horizon_s": 2.0,
        "nodes": {"count": 2},
        "exchange": {"schedule": "rounds"},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp", "hidden": [4]},
        "algorithm": {"kind": "dpsgd"},
        "radio": {"packet_error": {"kind": "table", "path": rule.path}, **radio},
    }


def test_a_rate_that_the_table_lacks_is_an_error_before_the_run(table):
    rule = table()
    world.build(from_dict(tables(rule, rate={"kind": "fixed", "rate_bps": 6e6})))
    with pytest.raises(DataError, match=r"\[radio.packet_error\] .* has no rate of 9e\+06 bit/s"):
        world.build(from_dict(tables(rule, rate={"kind": "ofdm_80211"})))
