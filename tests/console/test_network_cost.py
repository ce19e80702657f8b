"""`netsim run` of one algorithm in several worlds: what it plays, prints and draws."""

import json
import re

import pytest

WORLDS = """\
extends = "s.toml"
[link]
loss = 0.5
latency_s = 0.01
[[algorithm]]
kind = "dpsgd"
[[algorithm]]
kind = "local"
[[algorithm]]
kind = "dpsgd"
name = "ideal"
set = { ideal_network = true }
"""
QUIET = ("-q", "--no-figures", "--no-report")
RUN = ("run", "w.toml", *QUIET)


@pytest.fixture
def worlds(here):
    (here / "w.toml").write_text(WORLDS)
    return here / "w.toml"


def numbers(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.slow
def test_worlds_are_played_side_by_side_and_read_in_words(netsim, here, worlds):
    result = netsim(*RUN[:2], "--no-figures", "--out", "out", algorithms=False)
    assert result.exit_code == 0, result.output
    found = {name: numbers(here / "out" / name) for name in ("dpsgd", "ideal", "local")}
    assert found["ideal"]["messages"]["lost"] == 0 < found["dpsgd"]["messages"]["lost"]
    assert found["ideal"]["delay"]["max_s"] == 0.0
    rows = [line.split()[0] for line in result.stdout.splitlines() if re.match(r" \w.*\d", line)]
    assert rows[:3] == ["ideal", "dpsgd", "local"]
    sent, lost = (found["dpsgd"]["messages"][key] for key in ("sent", "lost"))
    words = " ".join(result.stdout.split())
    assert f"Of dpsgd's {sent} messages {100 * (1 - lost / sent):.1f} % arrived" in words
    gap = 100 * (found["dpsgd"]["accuracy"]["mean"] - found["ideal"]["accuracy"]["mean"])
    assert re.search(
        rf"dpsgd \d+\.\d % \({re.escape(f'{gap:+.1f}')} ± .* without ideal_network\)", words
    )
    assert "Against local, which sends nothing: dpsgd" in words


@pytest.mark.slow
def test_the_cost_of_the_network_is_drawn(netsim, here, worlds):
    assert (
        netsim("run", "w.toml", "-q", "--figures", "--out", "out", algorithms=False).exit_code == 0
    )
    assert (here / "out/figures/network_cost.png").is_file()


@pytest.mark.slow
def test_each_folder_plays_again_by_itself(netsim, here, worlds):
    assert netsim(*RUN, "--out", "out", algorithms=False).exit_code == 0
    resolved = "out/ideal/scenario.toml"
    assert netsim("run", resolved, *QUIET, "--out", "again", algorithms=False).exit_code == 0
    for name in ("event_log_sha256", "parameters_sha256"):
        assert numbers(here / "again")[name] == numbers(here / "out/ideal")[name]
    assert netsim("verify", "out/dpsgd", algorithms=False).exit_code == 0


@pytest.mark.slow
def test_what_was_not_begun_is_played_in_its_world_by_resume(netsim, here, worlds, monkeypatch):
    from netsim import engine

    assert netsim(*RUN, "--out", "whole", algorithms=False).exit_code == 0
    play = engine.play

    def until_ideal(world, entry, *more, **named):
        if entry.name == "ideal":
            raise KeyboardInterrupt
        return play(world, entry, *more, **named)

    monkeypatch.setattr(engine, "play", until_ideal, raising=False)
    assert netsim(*RUN, "--out", "cut", algorithms=False).exit_code == 130
    monkeypatch.undo()
    monkeypatch.chdir(here)
    result = netsim("resume", "cut", "--no-figures", "--no-report", algorithms=False)
    assert result.exit_code == 0, result.output
    assert "without ideal_network" in " ".join(result.stdout.split())
    for name in ("event_log_sha256", "parameters_sha256"):
        assert numbers(here / "cut/ideal")[name] == numbers(here / "whole/ideal")[name]


@pytest.mark.slow
def test_only_the_network_is_told_of_where_nothing_is_learned(netsim, here, worlds):
    result = netsim(
        "run",
        "w.toml",
        "--no-figures",
        "--no-report",
        "--timing-only",
        "--out",
        "out",
        algorithms=False,
    )
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "messages" in words
    assert "without ideal_network" not in words


def test_a_set_that_is_wrong_ends_with_2_and_writes_nothing(netsim, here, worlds):
    worlds.write_text(WORLDS.replace("ideal_network", "ideal_netwrk"))
    result = netsim("run", "w.toml", "--out", "out", algorithms=False)
    assert result.exit_code == 2
    assert 'did you mean "ideal_network"' in result.stderr
    assert not (here / "out").exists()
