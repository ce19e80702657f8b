"""Bandwidth allocation: rounds end where the closed form says, and wrong worlds are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim import engine, world
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.protocols.policies.finish_together import finish_together
from netsim.scenario import from_dict

TABLES = {
    "horizon_s": 200.0,
    "nodes": {"count": 4, "groups": [
        {"name": "quick", "count": 2}, {"name": "slow", "count": 1, "speed": 0.5},
        {"name": "hub", "count": 1, "role": "server"},
    ]},
    "topology": {"kind": "hub"},
    "radio": {
        "mean_snr_db": 10.0 * np.log10(3.0),
        "bandwidth_hz": 1e6,
        "rate": {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e3},
        "packet_error": {"kind": "rate_outage"},
        "fading": {"kind": "none"},
        "mac": {"kind": "ofdma"},
        "packet_header_bytes": 0,
        "attempt_overhead_s": 0.0,
    },
    "exchange": {"schedule": "poisson", "rate_hz": 0.1},
    "compute": {"kind": "fixed", "step_s": 0.2},
    "metrics": {"every_s": 100.0},
}  # fmt: skip


def scenario(policy, **changed):
    keys = {"rounds": 3, "local_steps": 10, "update_bits": 4_000_000, "model_bits": 1, **changed}
    return from_dict(
        {**TABLES, "algorithm": {"kind": "bandwidth_allocation", "policy": policy, **keys}}
    )


def round_s(policy, **changed):
    made = scenario(policy, **changed)
    run = Simulation(world.build(made), made.algorithm[0], None, False, None, check=True)
    run.to_horizon()
    return run.finish(None)["recorded"]["round_s"]["mean"]


def test_rounds_end_where_the_closed_form_says():
    """2 bit/s/Hz: an upload takes 2 s alone; quick clients are ready after 2 s, the slow after 4 s.

    Together at T: 2 (2 / (T - 2)) + 2 / (T - 4) = 1. Equal shares: the quick ones are done after
    8 s, the slow has sent 4/3 s by then and the rest alone in 2/3 s.
    """
    together = {"kind": "finish_together", "work": "upload_s", "before": "compute_s"}
    end_s = max(np.roots([1.0, -12.0, 28.0]).real)
    assert 4.0 / (end_s - 2.0) + 2.0 / (end_s - 4.0) == pytest.approx(1.0)
    assert round_s(together) == pytest.approx(end_s, abs=2e-3)
    assert round_s({"kind": "equal"}) == pytest.approx(8.0 + 2.0 / 3.0, abs=2e-3)
    assert round_s({"kind": "round_robin"}) == pytest.approx(8.0, abs=2e-3)


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0.0, 50.0), st.floats(0.0, 50.0)), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_all_who_have_work_finish_together(each):
    work, before = np.array(each).T
    shares = finish_together(work, before)
    assert np.isfinite(shares).all()
    has = work > 1e-9
    if has.any():
        assert shares.sum() == pytest.approx(1.0)
        ends = before[has] + work[has] / shares[has]
        assert ends == pytest.approx(np.full(has.sum(), ends.max()), rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mac": {"kind": "tdma"}}, r'kind = "tdma" has no base stations'),
        ({"mac": {"kind": "ofdma", "scheduler": "proportional_fair"}}, "proportional_fair"),
        ({"fidelity": "packet"}, 'write fidelity = "message"'),
    ],
)
def test_a_world_without_a_band_to_divide_is_refused_before_it_is_played(changed, said):
    tables = {**TABLES, "radio": {**TABLES["radio"], **changed}}
    made = from_dict({**tables, "algorithm": {"kind": "bandwidth_allocation"}})
    with pytest.raises(ScenarioError, match=said):
        engine.play(world.build(made), made.algorithm[0])


def test_wires_are_refused_too():
    tables = {key: value for key, value in TABLES.items() if key != "radio"}
    made = from_dict({**tables, "link": {}, "algorithm": {"kind": "bandwidth_allocation"}})
    with pytest.raises(
        ScenarioError, match=r"\[radio\]: .* have no band to divide; write \[radio\]"
    ):
        engine.play(world.build(made), made.algorithm[0])
