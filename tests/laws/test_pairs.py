"""Networks in which every two kinds that can meet do so keep the invariants, at both levels.

`python -m tests.laws.test_pairs [SEED]` from the repository root plays all of another array, and
says what broke.
"""

import json
import os
import sys
from itertools import islice

import pytest
from filelock import FileLock

from netsim.errors import ScenarioError

from .covering import pairs_of
from .networks import TRAFFIC, array, axes, described, play, scenario_of

PARTS = 6
"""Every test plays so many of the rows, so that several processes share them."""


@pytest.fixture(scope="session")
def covering_rows(tmp_path_factory):
    """All rows of the array, the number of pairs, and of how many cannot be.

    The first process of a test session that asks makes them, others read them.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept = folder / "covering rows.json"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            made = array()
            rows = list(made.rows())
            kept.write_text(json.dumps([rows, made.pairs, len(made.impossible)]))
    return json.loads(kept.read_text())


def levels(row):
    """The fidelities at which a row is a scenario."""
    found = []
    for fidelity in ("message", "packet"):
        try:
            found.append(scenario_of(row, fidelity=fidelity))
        except ScenarioError:
            assert fidelity == "packet", described(row)
    return found


def broken(rows, most=2):
    """Return the faults of rows, each played at so many levels, and the number of messages."""
    wrong, sent = [], 0
    for number, row in enumerate(rows):
        found = levels(row)
        for scenario in found if most > 1 else [found[number % len(found)]]:
            try:
                summary = play(scenario)
                sent += summary["messages"]["sent"]
                by_node = sum(summary["energy"]["per_node_j"])
                assert by_node == pytest.approx(summary["energy_j"], rel=1e-6, abs=1e-12)
            except Exception as error:
                wrong.append(f"{described(row)}: {type(error).__name__}: {error}")
    return wrong, sent


def test_every_kind_of_the_radio_has_its_place():
    found = axes()
    assert len(found) >= 17
    assert {option["kind"] for option in found["radio.mac"]} >= {"aloha", "csma", "ofdma", "tdma"}
    assert [option["kind"] for option in found["algorithm"]] == sorted(
        path.stem for path in TRAFFIC.glob("[a-z]*.py")
    )


@pytest.mark.slow
def test_every_pair_that_can_occur_does(covering_rows):
    rows, pairs, impossible = covering_rows
    met = set().union(*map(pairs_of, rows))
    assert len(met) + impossible == pairs
    assert impossible < 0.03 * pairs
    chosen = {one for row in rows for one in row.items()}
    assert chosen >= {(name, k) for name, options in axes().items() for k in range(len(options))}
    assert len(rows) < 290


@pytest.mark.slow
def test_some_networks_keep_the_laws():
    wrong, sent = broken(islice(array().rows(), 2), most=1)
    assert wrong == []
    assert sent > 50


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_networks_of_all_pairs_keep_the_laws(part, covering_rows):
    wrong, sent = broken(covering_rows[0][part::PARTS])
    assert wrong == []
    assert sent > 20_000 / PARTS


if __name__ == "__main__":
    found, _ = broken(array(int(sys.argv[1]) if len(sys.argv) > 1 else 0).rows())
    sys.stdout.write("\n".join([*found, f"{len(found)} broken\n"]))
    sys.exit(bool(found))
