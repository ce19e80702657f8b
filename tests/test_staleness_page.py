"""The table of docs/asynchrony.md about age is made of a sweep's runs."""

import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from typer.testing import CliRunner

from netsim.console.app import app
from tools import staleness

ADDED = {"none": 0.0, "polynomial": 0.01, "hinge": 0.02, "exponential": -0.01}


def test_what_weights_add_is_paired_by_seed():
    draws = {0: 0.5, 1: 0.7, 2: 0.9}
    runs = pd.DataFrame(
        [
            {
                "latency_s": 1.0, "kind": kind, "seed": seed, "staleness_s": 7.0,
                "accuracy": base + added * (1 + seed), "accuracy_all_classes": base,
            }
            for kind, added in ADDED.items()
            for seed, base in draws.items()
        ]
    )  # fmt: skip
    own, every = staleness.table(runs).splitlines()[2:]
    low, high = ttest_1samp([1.0, 2.0, 3.0], 0.0).confidence_interval()
    half = (high - low) / 2
    assert own.endswith(f"| +2.0 ± {half:.1f} | +4.0 ± {2 * half:.1f} | -2.0 ± {half:.1f} |")
    assert every.endswith("| all classes | 70.0 ± 49.7 | +0.0 ± 0.0 | +0.0 ± 0.0 | +0.0 ± 0.0 |")


def test_the_page_has_a_line_for_each_latency():
    text = staleness.PAGE.read_text(encoding="utf-8")
    table = text.partition(staleness.BEGIN)[2].partition(staleness.END)[0]
    assert table.count("own classes") == table.count("all classes") == 4


@pytest.mark.slow
def test_the_scenario_gives_the_numbers_that_are_read(tmp_path):
    few = ["--seeds", "0:2", "--set", "horizon_s=40", "--set", "metrics.common_test_samples=20"]
    few += ["--over", "link.latency_s=0,10", "--jobs", "1", "-q", "--out", str(tmp_path / "sweep")]
    ended = CliRunner().invoke(app, ["sweep", "study_staleness", *few])
    assert ended.exit_code == 0, ended.output
    runs = staleness.numbers(tmp_path / "sweep")
    assert set(runs.kind) == set(staleness.LOOKS)
    staleness.draw(runs, tmp_path / "figure.svg")
    assert len(staleness.table(runs).splitlines()) == 2 + 2 * 2
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
