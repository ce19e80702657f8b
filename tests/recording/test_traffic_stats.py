"""Messages by kind, the number of models that they make, and their ages at use."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from netsim import engine, world
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.recording.uses import Ages, Fates
from netsim.scenario import from_dict

S = 1_000_000_000


@dataclass(frozen=True)
class Word(Message):
    """A message without fields."""


def send(recorder, src, kind, bits, attempts=1, outcome="delivered"):
    air = attempts * (bits + 8)
    recorder.message(0, S, src, 1 - src, kind, bits, attempts, 0, None, outcome, 0, 1.0, air)


def test_models_are_counted_by_size_on_the_air():
    """Node 0's model has 100 bits, node 1's 1,000.

    Node 0 sends one model and its size (132 bits), two models in one message, and a head: 1 + 2 + 0
    models. Node 1 sends one, lost on the way, and one that never went on the air: 1 + 0 models.
    """
    recorder = Recorder(None, part_rows=2)
    recorder.traffic.model_bits = np.array([100, 1000])
    send(recorder, 0, "Update", 132)
    send(recorder, 0, "Both", 200, attempts=3)
    send(recorder, 0, "Head", 40)
    send(recorder, 1, "Update", 1000, outcome="outage")
    send(recorder, 1, "Update", 1000, attempts=0, outcome="off")
    totals = recorder.close()
    assert totals["models_sent"] == 4
    assert totals["sent_by_kind"] == {
        "Update": {
            "messages": 2, "models": 2,
            "bits_offered": 2132, "bits_transmitted": 140 + 1008, "bits_delivered": 132,
        },
        "Both": {
            "messages": 1, "models": 2,
            "bits_offered": 200, "bits_transmitted": 3 * 208, "bits_delivered": 200,
        },
        "Head": {
            "messages": 1, "models": 0,
            "bits_offered": 40, "bits_transmitted": 48, "bits_delivered": 40,
        },
    }  # fmt: skip
    assert totals["messages"]["bits_offered"] == 2372
    assert totals["messages"]["bits_delivered"] == 372


def test_delays_are_of_messages_that_arrived():
    """Exponential delays: percentiles right to 0.4 %, mean and largest exact."""
    recorder = Recorder(None, part_rows=700)
    delays_ns = np.random.default_rng(5).exponential(0.3 * S, 5_000).astype(np.int64)
    for i, delay_ns in enumerate(delays_ns.tolist()):
        outcome = "partial" if i % 7 == 0 else "delivered"
        recorder.message(9, 9 + delay_ns, 0, 1, "Model", 8, 1, 0, None, outcome, 0, 1.0)
    for outcome in ("outage", "deadline", "off"):
        recorder.message(9, 99 * S, 0, 1, "Model", 8, 1, 0, None, outcome, 0, None)
    recorder.message(9, 9 + S, 0, 1, "Reply", 8, 1, 0, None, "delivered", 0, 1.0)
    found = recorder.close()["delay"]
    model = found["by_kind"]["Model"]
    assert (found["arrived"], model["arrived"]) == (5_001, 5_000)
    assert model["mean_s"] == pytest.approx(delays_ns.mean() / S, rel=1e-12)
    assert model["max_s"] == delays_ns.max() / S
    for percent in (50, 95, 99):
        exact = np.percentile(delays_ns, percent, method="inverted_cdf") / S
        assert model[f"p{percent}_s"] == pytest.approx(exact, rel=0.004)
    assert found["by_kind"]["Reply"] == {
        "arrived": 1, "mean_s": 1.0, "p50_s": 1.0, "p95_s": 1.0, "p99_s": 1.0, "max_s": 1.0,
    }  # fmt: skip


def test_equal_delays_are_told_exactly_and_none_not_at_all():
    recorder = Recorder(None)
    assert recorder.close()["delay"] == {}
    recorder = Recorder(None)
    for _ in range(3):
        recorder.message(5, 5, 0, 1, "Model", 8, 1, 0, None, "delivered", 0, 1.0)
    assert recorder.close()["delay"]["p95_s"] == 0.0


def test_without_model_sizes_the_number_of_models_is_unknown():
    recorder = Recorder(None)
    send(recorder, 0, "Update", 132)
    totals = recorder.close()
    assert totals["models_sent"] is None
    assert totals["sent_by_kind"]["Update"]["models"] is None


def test_staleness_is_over_uses_of_messages():
    """Ages 1, 3 of one kind and 5 of another: mean 3, variance (4 + 0 + 4) / 3."""
    ages = Ages()
    assert ages.summary() == {}
    for kind, age_s in (("Model", 1), ("Model", 3), ("Reply", 5)):
        ages.of_kind[kind].append(age_s * S)
    assert ages.summary() == {
        "used": 3,
        "mean_s": pytest.approx(3.0),
        "std_s": pytest.approx((8 / 3) ** 0.5),
        "max_s": 5.0,
        "by_kind": {
            "Model": {"used": 2, "mean_s": 2.0, "std_s": pytest.approx(1.0), "max_s": 3.0},
            "Reply": {"used": 1, "mean_s": 5.0, "std_s": 0.0, "max_s": 5.0},
        },
    }


def test_messages_that_an_exchange_discards_for_their_age_are_used_only_if_a_job_reads_them():
    uses = Recorder(None).uses
    ages = uses.ages
    ages.limit_ns = 3 * S
    for age_s in (1, 3, 4, 100):
        fates = Fates(uses, 0, "Model", 0)
        fates.handed(1, age_s * S)
        if age_s == 100:
            uses.read(1, [SimpleNamespace(bringer=fates)], age_s * S, "mix")
    assert (ages.summary()["used"], ages.summary()["max_s"]) == (3, 100.0)


def test_a_message_used_again_is_counted_again_with_its_age_then():
    uses = Recorder(None).uses
    ages = uses.ages
    envelope = Envelope(Word(), 0, 8, 1, 2 * S, Fates(uses, 0, "Word", 2 * S))
    assert [envelope.handed_to(1, t * S).age_s for t in (3, 7)] == [1.0, 5.0]
    assert ages.summary()["mean_s"] == 3.0
    assert ages.summary()["used"] == 2


@pytest.mark.parametrize("timing_only", [False, True])
def test_a_run_tells_what_it_sent_and_how_old_that_was_at_use(timing_only):
    """Pulled models: each is used on arrival, so its age is what the log says.

    A perceptron of 64 x 10 + 10 = 650 numbers of 32 bits at 1 Mbit/s is 20.8 ms on the air, after
    which it takes 50 ms to arrive; it may have waited for the radio before.
    """
    scenario = from_dict(
        {
            "name": "staleness",
            "horizon_s": 30.0,
            "nodes": {"count": 4},
            "exchange": {"schedule": "poisson", "rate_hz": 0.2, "slot_s": 1.0},
            "link": {"rate_bps": 1e6, "latency_s": 0.05},
            "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
            "model": {"kind": "mlp", "hidden": []},
            "metrics": {"common_test_samples": 10},
            "algorithm": {"kind": "fedavg"},
        }
    )
    found = engine.play(world.build(scenario), scenario.algorithm[0], None, timing_only=timing_only)
    delivered = found["outcomes"]["Model"]["delivered"]
    assert found["sent_by_kind"]["Model"]["bits_offered"] >= 650 * 32 * found["models_sent"]
    assert found["models_sent"] >= delivered > 0
    assert found["sent_by_kind"]["Request"]["models"] == 0
    assert set(found["staleness"]["by_kind"]) == {"Model"}  # a request carries no values
    assert delivered - 3 <= found["staleness"]["used"] <= delivered
    assert 0.0708 - 1e-9 <= found["staleness"]["mean_s"] <= found["staleness"]["max_s"]
