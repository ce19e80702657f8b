"""Files over time as people bring them: right numbers, or refused with line and remedy."""

import re
from collections import Counter

import pytest

from netsim.errors import ScenarioError, printable
from netsim.traces.remarks import collect_remarks

from .trace_corpus import Case, Refused, cases, expected, play

CASES = cases()
MOST_SHOWN = 60
"""So much of a foreign line an error may repeat."""


def test_there_are_enough_of_every_kind():
    counts = Counter(case.kind for case in CASES)
    assert min(counts.values()) >= 20
    assert sum(counts.values()) >= 400
    names = [(case.kind, case.name) for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("case", CASES, ids=[f"{case.kind}: {case.name}" for case in CASES])
def test_a_file_says_what_it_should_or_is_refused(case: Case, tmp_path):
    if not isinstance(case.outcome, Refused):
        with collect_remarks():
            assert play(case, tmp_path) == pytest.approx(expected(case), rel=1e-6, abs=1e-6)
        return
    with pytest.raises(ScenarioError) as caught:
        play(case, tmp_path)
    told = str(caught.value)
    assert re.match(r'\[[a-z_.]+\] \w+ = "', told)
    assert told == printable(told)
    assert case.outcome.says in told
    if case.outcome.line is not None:
        assert f"line {case.outcome.line}:" in told
    after = told.partition('": ')[2]
    assert len(after) < 400
    for line in case.content.decode("utf-8", "replace").splitlines():
        assert len(line) < MOST_SHOWN or line not in told
