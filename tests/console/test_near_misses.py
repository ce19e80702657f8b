"""A command line that netsim has not is answered with the one that was meant."""

import importlib
import pkgutil
import re

import pytest
from typer.main import get_command

from netsim import views
from netsim.console import commands
from netsim.console.app import app
from netsim.export import formats

NAMES = [found.name for found in pkgutil.iter_modules(commands.__path__)]
ALSO = {
    word: name
    for name in NAMES
    for word in importlib.import_module(f"{commands.__name__}.{name}").ALSO_CALLED
}


@pytest.fixture
def told(netsim, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")

    def call(*words: str) -> str:
        result = netsim(*words, algorithms=False)
        assert result.exit_code == 2
        assert not result.stdout
        return " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())

    return call


def test_every_file_of_the_folder_is_a_command():
    assert sorted(get_command(app).commands) == NAMES


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("timeline runs/a", "netsim export runs/a --as timeline"),
        ("age-by-pair", "netsim plot RUN --as age_by_pair"),
        ("quickstart run", "netsim run quickstart"),
        ("quickstart --quiet run", "netsim run quickstart --quiet"),
        ("runs/a explain --node 3", "netsim explain runs/a --node 3"),
        ("quickstart --seed 3", "netsim run quickstart --seed 3"),
        ("own.toml", "netsim run own.toml"),
        ("RUN quickstart", "netsim run quickstart"),
        ("rnu quickstart", "netsim run quickstart"),
        ("help", "netsim --help"),
        ("help sweep", "netsim sweep --help"),
        ("scenarios", "netsim list scenarios"),
        ("papers", "netsim list papers"),
        ("radio", "netsim list radio"),
        ("rayleigh", "netsim list channels.fading --keys"),
    ],
)
def test_the_command_that_was_meant_is_named(told, words, meant):
    assert f"Did you mean: {meant}" in told(*words.split())


def test_other_words_for_commands_are_no_commands_and_mean_one_each():
    assert not set(ALSO) & set(NAMES)
    assert not set(ALSO) & ({*views.names(), *formats.formats()} - set(NAMES))
    assert len(ALSO) == sum(
        len(importlib.import_module(f"{commands.__name__}.{name}").ALSO_CALLED) for name in NAMES
    )


@pytest.mark.parametrize(("word", "name"), sorted(ALSO.items())[::7])
def test_another_word_for_a_command_names_it(told, word, name):
    assert f"Did you mean: netsim {name} x" in told(word, "x")


@pytest.mark.slow
def test_every_figure_and_every_format_is_found(told):
    for name in set(views.names()) - set(NAMES):
        assert f"netsim plot a --as {name}" in told(name, "a")
    for name in formats.formats():
        assert f"netsim export a --as {name}" in told(name, "a")


def test_figures_and_formats_name_each_others_command(netsim, here):
    for command, wanted, meant in (("plot", "timeline", "export"), ("export", "cdf", "plot")):
        found = netsim(command, ".", "--as", wanted, algorithms=False)
        assert found.exit_code == 2
        assert re.search(rf"netsim {meant} \S+ --as {wanted}", found.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run quickstart --seeds 0:5", "netsim sweep has it"),
        ("run quickstart --over a=1", "netsim sweep has it"),
        ("plot a --target 3", "netsim compare, sweep have it"),
        ("--seed 3 run quickstart", "options stand after the command: netsim run ... --seed"),
    ],
)
def test_an_option_of_another_command_names_it(told, words, said):
    assert said in told(*words.split())


@pytest.mark.slow
def test_a_word_that_nobody_knows_gets_all_commands(told):
    assert all(name in told("zzzzzz") for name in NAMES)
