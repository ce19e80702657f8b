"""What is said of a method's lead: the rule, its sentence, the variants that compete."""

import pytest

from .little import TABLE, numbers, tables, verdict

Result, Verdict = numbers.Result, verdict.Verdict
paired, word = verdict.paired, verdict.word


def results(*values, choose=None):
    return {seed: Result({"accuracy": v}, choose) for seed, v in enumerate(values)}


def test_a_lead_is_judged_by_its_paired_interval():
    """Differences 1, 2, 3: mean 2, deviation 1, t(0.975, 2) = 4.3027, so 4.3027 / sqrt(3) = 2.484.

    A tenth of that spread around the same mean has a tenth of the interval.
    """
    base = results(0.5, 0.6, 0.4)
    wide = paired(results(0.51, 0.62, 0.43), base, "accuracy")
    assert (wide.mean, wide.half, wide.pairs) == (
        pytest.approx(0.02),
        pytest.approx(0.02484, rel=1e-3),
        3,
    )
    assert word(wide) == "none that the seeds show"
    assert word(paired(results(0.519, 0.62, 0.421), base, "accuracy")) == "holds"
    assert word(paired(base, results(0.519, 0.62, 0.421), "accuracy")) == "behind"
    assert word(paired(results(0.6), base, "accuracy")) == "one seed"
    assert paired({7: Result({"accuracy": 1.0})}, base, "accuracy") is None


def test_the_sentence_names_where_a_lead_holds(tmp_path):
    (tmp_path / "little.toml").write_text(TABLE.format(scenario="quickstart"))
    table = tables.load("little", tmp_path)
    first, second = ("batches_of_50", "batches_of_100")
    found = {
        (first, "local", "table", None): results(0.50, 0.60),
        (first, "fedavg", "table", None): results(0.60, 0.70),
    }
    assert Verdict(table, found, None).sentence().startswith("The lead holds in 1 of 3 columns")
    found[second, "local", "table", None] = results(0.7, 0.8)
    found[second, "fedavg", "table", None] = results(0.6, 0.7)
    told = Verdict(table, found, None).sentence()
    assert told.startswith("The lead holds")  # the paper has none in the second column
    assert "Order: 2 of 2 pairs" in told
    assert (
        "8.5 points from the printed ones on average, at most 15.0 (Local, batches of 100)" in told
    )


def test_variants_of_a_method_compete_on_validation_samples(tmp_path):
    text = TABLE.format(scenario="quickstart").replace(
        'name = "FedAvg"',
        'name = "better"\nmethod = "FedAvg"\nentry = "fedavg"\nrole = "ours"\n'
        '\n[[rows]]\nname = "FedAvg"',
    )
    (tmp_path / "two.toml").write_text(text)
    table = tables.load("two", tmp_path)
    here = "batches_of_50"
    found = {
        (here, "local", "table", None): results(0.5, 0.5),
        (here, "better", "table", None): results(0.6, 0.6, choose=0.9),
        (here, "fedavg", "table", None): results(0.7, 0.7, choose=0.8),
    }
    lead = next(Verdict(table, found, None).leads())
    assert lead.row.name == "better"
    assert lead.difference.mean == pytest.approx(0.1)
    assert lead.printed == pytest.approx(0.2)
