"""`netsim new`: what it writes passes its own test and runs."""

import pytest

from netsim import testing
from netsim.console.commands import new as starting
from netsim.registry import Choice
from netsim.scenario import Scenario
from netsim.scenario.file_paths import marked_keys

FAST = {"fading", "schedule"}


def test_there_is_a_first_file_for_every_family():
    families = {mark.package for _, mark in marked_keys(Scenario, Choice)}
    assert {starting._package(sort) for sort in starting.sorts()} == {*families, None}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "sort",
    [pytest.param(s, marks=[] if s in FAST else [pytest.mark.slow]) for s in starting.sorts()],
)
def test_what_is_written_passes_its_test(netsim, here, sort):
    result = netsim("new", sort, "my_own", "--dir", "mine", algorithms=False)
    assert result.exit_code == 0, result.output
    test = (here / "mine/test_my_own.py").read_text()
    assert 'testing.check("my_own.py", beside=__file__)' in test
    assert "tarting" not in (here / "mine/my_own.py").read_text()
    testing.check(str(here / "mine/my_own.py"))


def test_the_command_that_is_printed_runs(netsim, here):
    result = netsim("new", "fading", "shallow", "--dir", "mine", algorithms=False)
    command = next(x for x in result.output.splitlines() if "netsim run" in x).split()
    more = ("--set", "horizon_s=5", "--out", "out", "-q", "--no-figures", "--no-report")
    assert netsim(*command[1:], *more, algorithms=False).exit_code == 0
    assert 'kind = "shallow"' in (here / "out/kd_pdfl/scenario.toml").read_text()


@pytest.mark.parametrize(
    ("word", "means"),
    [("dataset", "data_set"), ("Models", "model"), ("radio.mac", "mac"), ("data", "data_set"),
     ("exchange", "schedule"), ("compute", "speed"), ("path-loss", "path_loss")],
)  # fmt: skip
def test_words_for_a_sort(word, means):
    assert starting._sort(word) == means


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("channel", "x"), "netsim new channel: which one? arq, broadcast, fading, mac"),
        (("fadding", "x"), 'did you mean "fading"?'),
        (("fading", "rayleigh"), "netsim ships one of that name"),
        (("algorithm", "fedavg"), "netsim ships one of that name"),
        (("fading", "Two-Ray"), "a name has small letters, digits and _"),
        (("fading", "test_it"), "does not begin with test_"),
        (("fading", "class"), "a name has small letters"),
    ],
)
def test_what_will_not_do_is_said(netsim, written, arguments, says):
    result = netsim("new", *arguments, algorithms=False)
    assert result.exit_code == 2
    assert says in result.output
    assert written() == set()


def test_no_file_is_overwritten(netsim, here):
    assert netsim("new", "fading", "mine", algorithms=False).exit_code == 0
    (here / "mine.py").unlink()
    result = netsim("new", "fading", "mine", algorithms=False)
    assert result.exit_code == 2
    assert "test_mine.py: is there already" in result.output
    assert not (here / "mine.py").exists()
