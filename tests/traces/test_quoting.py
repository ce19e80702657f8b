"""A scenario may name any file: what errors about it quote."""

import pytest

from netsim import scenario, world
from netsim.errors import DataError, ScenarioError
from netsim.traces.files import Text, no_column, quote

BASE = {
    "horizon_s": 1.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
}
FOREIGN = {
    "shadow": "root:$6$SECRET$SECRET2:19000:0:99999:7:::\ndaemon:SECRET:19000:::\n",
    "key": "-----BEGIN SECRET KEY-----\nSECRET/abc SECRET\n",
    "table": "SECRET,SECRET2,SECRET3\nSECRET4,SECRET5,SECRET6\n",
    "environment": "password=SECRET\nuser=SECRET2\n",
    "words": "SECRET SECRET2 SECRET3\n",
    "two names": "SECRET,SECRET\n1,2\n",
    "blanks": "SECRET SECRET2,SECRET3\nSECRET4,SECRET5\n",
    "script": "set SECRET 1\n$SECRET SECRET2 3\n",
    "tokens": '{"SECRET": "SECRET2", "x": [1, "SECRET3"]}\n',
}
READERS = {
    "graph": ({"topology": {"kind": "file"}}, "topology.path"),
    "contacts": ({"topology": {"kind": "contacts"}}, "topology.path"),
    "churn": ({"churn": {"kind": "trace"}}, "churn.path"),
    "devices": ({"compute": {"kind": "devices"}}, "compute.path"),
    "packet errors": ({"radio": {"packet_error": {"kind": "table"}}}, "radio.packet_error.path"),
    "fades": ({"radio": {"fading": {"kind": "ns3_fad"}}}, "radio.fading.path"),
    "gains": ({"radio": {"path_loss": {"kind": "gains"}}}, "radio.path_loss.path"),
    **{
        kind: (
            {
                "mobility": {"kind": kind},
                "radio": {},
                "nodes": {"count": 4, "placement": "disc"},
            },
            "mobility.path",
        )
        for kind in ("bonnmotion", "ns2", "sumo", "the_one", "trace")
    },
    "latencies": ({"link": {"latency_matrix": {"unit": "ms"}}}, "link.latency_matrix.path"),
    "bandwidth": ({"link": {"trace": {}}}, "link.trace.uplink"),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("reader", READERS)
def test_no_word_of_a_foreign_file_stands_in_an_error(tmp_path, reader, foreign):
    path = tmp_path / foreign
    path.write_text(FOREIGN[foreign])
    tables, where = READERS[reader]
    tables = {**BASE, **tables}
    inner, (*keys, last) = tables, where.split(".")
    for key in keys:
        inner[key] = dict(inner[key])
        inner = inner[key]
    inner[last] = str(path)
    told = refused(tables)
    assert "SECRET" not in told
    assert not told or str(path) in told


def refused(tables):
    """Return the refusal of a scenario that can't be built; nothing where it can be."""
    try:
        world.build(scenario.from_dict(tables))
    except ScenarioError as error:
        return str(error)
    return ""


def test_a_word_is_quoted_once_a_line_has_been_read():
    text = Text('[t] path = "f"', f"# a comment\n1 2\n3 {'x' * 100}\n")
    assert str(text.error('column 2 is "2", not a name', 2)).endswith('column 2 is "2", not a name')
    first = Text('[t] path = "f"', "token 2\n1 2\n")
    assert str(first.error('column 1 is "token", not a time', 1)).endswith("column 1 is not a time")
    assert str(first.error('"token 2" is not two ids', 1)).endswith("line 1: it is not two ids")
    long = Text('[t] path = "f"', f"{'x' * 100} 1\n").error(f"{quote('x' * 100)} is no id", 1)
    assert str(long).endswith("line 1: it is no id")
    later = text.error(f"column 2 is {quote('x' * 100)}, not a time", 3)
    assert f'"{"x" * 24}..."' in str(later)
    assert isinstance(later, DataError)


def test_columns_are_named_of_tables_of_the_kind_alone():
    wanted = ["rate", "per"]
    assert no_column("rate", ["a", "b"], wanted) == "no column rate; it has none of rate, per"
    assert "it has rates, per, and needs" in no_column("rate", ["rates", "per"], wanted)
