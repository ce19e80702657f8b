"""`netsim list`: every table of a scenario, every kind, every key."""

import json
import re

import pytest

from netsim.console.commands import list as listing
from netsim.scenario import json_schema
from netsim.scenario.kinds import kinds_of


@pytest.fixture
def ok(netsim):
    def call(*arguments: str):
        result = netsim(*arguments)
        assert result.exit_code == 0, result.output
        return result

    return call


def test_list_shows_what_keys_do_and_in_which_unit(ok):
    text = " ".join(ok("list", "link", "--keys").stdout.split())
    assert "jitter_s = 0.0 [s] Each message takes longer by a uniform draw from 0" in text
    assert "[link.bursts]" in text
    assert 'sharing = "max_min"' in text
    assert 'One of "max_min", "fifo".' in text


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("what", "tables"),
    [
        ("channels", {"[radio]", "[radio.bursts]", "[link]", "[link.trace]", "rayleigh", "csma"}),
        ("nodes", {"[nodes]", "[nodes.groups]"}),
        ("energy", {"[energy]", "per_step", "radio_state"}),
        ("data", {"digits", "dirichlet", "validation"}),
        ("top", {"(top of the file)", "horizon_s"}),
        ("sweep", {"[sweep]", "[sweep.draw]"}),
    ],
)
def test_list_finds_tables_by_their_names(ok, what, tables):
    text = ok("list", what, "--keys").stdout
    assert [table for table in tables if table not in text] == []


@pytest.mark.slow
def test_list_prints_every_key_of_the_schema(ok):
    lines = ok("list", "all", "--keys").stdout.splitlines()
    printed = {
        found[1] for line in lines if (found := re.match(r" {5}(\w+)(?: =| \[| \(| {2}|$)", line))
    }
    schema = json.loads(ok("schema").stdout)
    tables = [schema, *schema["$defs"].values()]
    keys = {key for table in tables for key in table.get("properties", {})}
    assert keys - printed == {"extends", "schedule"}
    assert printed - keys == set()


@pytest.mark.slow
def test_list_has_the_keys_of_every_table_of_the_schema(ok):
    """Each table's keys together: those that all of a group have, and its own."""
    kinds = kinds_of()
    listed = set()
    for group in listing.with_keys().values():
        entries = group()
        common = [key.name for e in entries if e.name == listing.EVERY for key in e.keys]
        listed |= {frozenset([*common, *(key.name for key in e.keys)]) for e in entries}
    schema = json_schema(kinds)
    of_file = {"kind", "schedule", "extends"}
    of_entries = {"name", "training", "stages", "set"}
    missing = [
        name
        for name, table in [("top", schema), *schema["$defs"].items()]
        if (keys := set(table.get("properties", {})) - of_file)
        and frozenset(keys - (of_entries if name.endswith("_algorithm") else set())) not in listed
    ]
    assert missing == []
