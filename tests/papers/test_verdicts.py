"""Words for a method's lead: the rule, its sentence, the variants that compete."""

import pytest

from .little import TABLE, leads, numbers, table_files, verdict

Result, Verdict = numbers.Result, verdict.Verdict
paired, word = leads.paired, leads.word


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
    assert word(wide) == "not clear"
    assert word(paired(results(0.519, 0.62, 0.421), base, "accuracy")) == "holds"
    assert word(paired(base, results(0.519, 0.62, 0.421), "accuracy")) == "behind"
    assert word(paired(results(0.6), base, "accuracy")) == "one seed"
    assert paired({7: Result({"accuracy": 1.0})}, base, "accuracy") is None


def test_the_sentence_names_where_a_lead_holds(tmp_path):
    (tmp_path / "little.toml").write_text(TABLE.format(scenario="quickstart"))
    table = table_files.load("little", tmp_path)
    first, second = ("batches_of_50", "batches_of_100")
    found = {
        (first, "local", "table", None): results(0.50, 0.60),
        (first, "fedavg", "table", None): results(0.60, 0.70),
    }
    told = Verdict(table, found, None).sentence()
    assert told.startswith("The lead holds in batches of 50. Order: 1 of 1 pairs")
    assert told.endswith(" Not played yet: batches of 100.")
    found[second, "local", "table", None] = results(0.7, 0.8)
    found[second, "fedavg", "table", None] = results(0.6, 0.7)
    told = Verdict(table, found, None).sentence()
    assert told.startswith(
        "The lead holds in batches of 50; the paper has none in batches of 100. "
    )
    assert "Order: 2 of 2 pairs" in told
    assert told.endswith(
        "The 4 cells compared are 8.5 points from the printed figures on average, at most 15.0 "
        "(Local, batches of 100)."
    )


def test_a_method_without_a_baseline_is_not_called_unplayed(tmp_path):
    (tmp_path / "little.toml").write_text(TABLE.format(scenario="quickstart"))
    table = table_files.load("little", tmp_path)
    found = {("batches_of_50", "fedavg", "table", None): results(0.6, 0.7)}
    told = Verdict(table, found, None).sentence()
    assert told.startswith("No baseline is played yet in batches of 50.")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (
            (0.60, 0.71),
            (0.52,),
            "The lead holds in batches of 50; "
            "2.0 points ahead of Local in batches of 100 (one seed, not judged).",
        ),
        (
            (0.60, 0.60),
            (0.6, 0.7),
            "No clear lead in batches of 50 (2 seeds); it holds in batches of 100.",
        ),
        (
            (0.505, 0.605),
            (0.501, 0.60),
            "No clear lead in batches of 100 (2 seeds); it holds in batches of 50; "
            "the paper's lead is above the interval in batches of 100.",
        ),
        (
            (0.40, 0.51),
            (0.5, 0.5),
            "Not reproduced: 9.5 points behind Local in batches of 50; "
            "not clear in batches of 100.",
        ),
    ],
)
def test_the_sentence_tells_of_every_column(tmp_path, first, second, told):
    """Local has 0.5 and 0.6: differences .1 and .11 hold, .1 and 0 do not."""
    text = TABLE.format(scenario="quickstart").replace('"56.0"', '"66.0"')
    (tmp_path / "little.toml").write_text(text)
    columns = ("batches_of_50", "batches_of_100")
    found = {(column, "local", "table", None): results(0.5, 0.6) for column in columns}
    for column, values in zip(columns, (first, second), strict=True):
        found[column, "fedavg", "table", None] = results(*values)
    table = table_files.load("little", tmp_path)
    assert Verdict(table, found, None).sentence().startswith(told + " Order")


def test_variants_are_chosen_over_the_seeds_that_all_of_them_have(tmp_path):
    """With its second seed the variant would have the higher mean on validation samples."""
    variant = '[[rows]]\nname = "Mild"\nentry = "mild"\nmethod = "FedAvg"\nrole = "ours"\n'
    text = TABLE.format(scenario="quickstart") + f"\n{variant}"
    (tmp_path / "little.toml").write_text(text)
    here = "batches_of_50"

    def run(accuracy, validated):
        return Result({"accuracy": accuracy}, validated)

    found = {
        (here, "local", "table", None): results(0.5, 0.5),
        (here, "fedavg", "table", None): {0: run(0.6, 0.7)},
        (here, "mild", "table", None): {0: run(0.6, 0.6), 1: run(0.6, 0.9)},
    }
    lead = next(Verdict(table_files.load("little", tmp_path), found, None).leads())
    assert lead.row is not None
    assert lead.row.name == "FedAvg"


def test_a_baseline_with_fewer_seeds_than_others_is_not_the_best_one(tmp_path):
    other = '[[rows]]\nname = "Other"\nentry = "other"\n\n[[rows]]\nname = "FedAvg"'
    text = TABLE.format(scenario="quickstart").replace('[[rows]]\nname = "FedAvg"', other)
    (tmp_path / "little.toml").write_text(text)
    here = "batches_of_50"
    found = {
        (here, "local", "table", None): results(0.5, 0.5),
        (here, "other", "table", None): results(0.9),
        (here, "fedavg", "table", None): results(0.6, 0.7),
    }
    lead = next(Verdict(table_files.load("little", tmp_path), found, None).leads())
    assert lead.baseline is not None
    assert lead.baseline.name == "Local"


def test_what_the_paper_does_not_print_is_not_compared_with_it(tmp_path):
    other = '[[measures]]\nname = "worst"\npath = "accuracy.worst_10pct"\nprinted = false\n'
    text = TABLE.format(scenario="quickstart").replace("[[columns]]", f"{other}\n[[columns]]", 1)
    (tmp_path / "little.toml").write_text(text)
    table = table_files.load("little", tmp_path)
    found = {
        ("batches_of_50", row, "table", None): {s: Result({"worst": v}) for s in (0, 1)}
        for row, v in (("local", 0.2), ("fedavg", 0.3))
    }
    told = Verdict(table, found, None, table.measures[1])
    assert told.sentence() == "The lead holds in batches of 50. Not played yet: batches of 100."
    assert next(told.leads()).printed is None


def test_the_best_baseline_is_found_among_equal_seeds(tmp_path):
    """Over all its seeds Other has the higher mean, over those it shares with FedAvg the lower."""
    other = '[[rows]]\nname = "Other"\nentry = "other"\n\n[[rows]]\nname = "FedAvg"'
    text = TABLE.format(scenario="quickstart").replace('[[rows]]\nname = "FedAvg"', other)
    (tmp_path / "little.toml").write_text(text)
    here = "batches_of_50"
    found = {
        (here, "local", "table", None): results(0.50, 0.50),
        (here, "other", "table", None): results(0.45, 0.46, 0.90),
        (here, "fedavg", "table", None): results(0.60, 0.60),
    }
    lead = next(Verdict(table_files.load("little", tmp_path), found, None).leads())
    assert (lead.baseline.name, lead.difference.pairs) == ("Local", 2)


def test_variants_of_a_method_compete_on_validation_samples(tmp_path):
    text = TABLE.format(scenario="quickstart").replace(
        'name = "FedAvg"',
        'name = "better"\nmethod = "FedAvg"\nentry = "fedavg"\nrole = "ours"\n'
        '\n[[rows]]\nname = "FedAvg"',
    )
    (tmp_path / "two.toml").write_text(text)
    table = table_files.load("two", tmp_path)
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


def test_the_verdict_is_by_the_papers_own_baselines_and_says_what_all_say(tmp_path):
    """FedAvg is 10 points ahead of Local, which the paper has, and 5 behind a row of our own."""
    more = (
        '\n[[rows]]\nname = "Local, tuned"\nentry = "local_2"\nrole = "local"\nmethod = "Local"\n'
    )
    text = TABLE.format(scenario="quickstart").replace(
        '\n[[rows]]\nname = "FedAvg"', more + 'not_in_paper = true\n\n[[rows]]\nname = "FedAvg"'
    )
    (tmp_path / "little.toml").write_text(text)
    table = table_files.load("little", tmp_path)
    column = "batches_of_50"
    found = {
        (column, "local", "table", None): results(0.50, 0.60, choose=0.1),
        (column, "local_tuned", "table", None): results(0.65, 0.75, choose=0.9),
        (column, "fedavg", "table", None): results(0.60, 0.70),
    }
    told = Verdict(table, found, None).sentence()
    assert told.startswith(
        "The lead holds in batches of 50. With baselines that the paper does not have: not "
        "reproduced: 5.0 points behind Local, tuned in batches of 50. "
    )
    without = {key: value for key, value in found.items() if key[1] != "local_tuned"}
    assert "does not have" not in Verdict(table, without, None).sentence()
