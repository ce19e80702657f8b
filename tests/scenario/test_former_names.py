"""Keys under the names of earlier versions are read and remarked on, as long as promised."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError
from typer.testing import CliRunner

from netsim import scenario, world
from netsim.console.app import app
from netsim.errors import ScenarioError
from netsim.registry import Renamed, Table, renamed_keys
from netsim.scenario import former_names
from netsim.scenario.draft import Draft
from netsim.scenario.file import shipped
from netsim.scenario.kinds import kinds_of
from netsim.world.remarks import remarks

ROOT = Path(__file__).resolve().parents[2]
BASE: dict[str, Any] = {
    "horizon_s": 10.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits", "partition": {"kind": "dirichlet", "beta": 0.3}},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
}


def both_names() -> list[tuple[type[Table], Renamed]]:
    """Of every table that a scenario can have, those of all components and methods included."""
    assert len(kinds_of(()).tables().model_fields) > 20  # brings all families and methods
    found, waiting = [], [Table]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.partition(".")[0] in ("netsim", "algorithms"):
            found += [(one, names) for names in renamed_keys(one)]
    return found


@pytest.fixture(scope="module")
def everywhere() -> list[tuple[type[Table], Renamed]]:
    return both_names()


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def test_every_former_name_gives_what_todays_gives(everywhere):
    assert {("alpha", "beta"), ("infer", "look")} <= {(n.name, *n.former) for _, n in everywhere}
    for table, names in everywhere:
        info = table.model_fields[names.name]
        assert info.validation_alias is names
        value = info.get_default(call_default_factory=True)
        now = table.model_validate({names.name: value})
        for former in names.former:
            assert former not in table.model_fields
            assert table.model_validate({former: value}) == now
            assert former not in table.model_validate({former: value}).model_dump()
            with pytest.raises(ValidationError, match=former):
                table.model_validate({names.name: value, former: value})


def test_no_former_name_is_read_longer_than_promised(everywhere):
    """From `until` on a name is taken out: this test fails then, and says which."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for table, names in everywhere:
        since, now, until = map(numbers, (names.since, project["version"], names.until))
        assert since <= now < until, f"{table.__name__}.{names.name}"
        assert until == (since[0], since[1] + 2)


def test_the_page_of_what_stays_has_every_former_name(everywhere):
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    rows = {f"`{n.name}` | `{old}` | {n.until} |" for _, n in everywhere for old in n.former}
    assert all(row in page for row in rows)
    assert page.count("| 0.") == len(rows)


def test_a_remark_names_who_states_the_key_and_what_to_write():
    (said,) = scenario.from_dict(BASE, "mine").former_names
    assert said == (
        "mine: [data.partition] beta = 0.3: is called alpha since 0.2.0; 0.4.0 reads alpha alone: "
        "write that"
    )
    assert scenario.from_dict(BASE).data.partition.alpha == 0.3


def test_what_is_set_on_the_command_line_is_remarked_on_as_such(tmp_path: Path):
    said = scenario.load("quickstart", ["data.partition.kind=dirichlet", "data.partition.beta=1.0"])
    assert any(text.startswith("--set data.partition.beta=1.0: ") for text in said.former_names)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("how", ["--world", "--no-world"])
def test_validate_prints_it(how: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "300")
    sets = ("--set", "data.partition.kind=dirichlet", "--set", "data.partition.beta=1.0")
    result = CliRunner().invoke(app, ["validate", "quickstart", *sets, how])
    assert result.exit_code == 0, result.output
    assert "[data.partition] beta = 1.0: is called alpha since 0.2.0" in result.output


def test_the_world_of_a_run_remarks_on_it():
    built = world.build(scenario.from_dict({**BASE, "nodes": {"count": 12}}))
    assert any("beta = 0.3: is called alpha" in text for text in remarks(built))


def test_tables_by_name_and_in_lists_are_looked_into():
    class Inner(Table):
        new: int = Field(1, validation_alias=Renamed("new", "old", since="0.2.0"))

    class Outer(Table):
        many: tuple[Inner, ...] = ()
        named: dict[str, Inner] = {}

    raw = {"many": [{"new": 1}, {"old": 2}], "named": {"a": {"old": 3}, "b": {}}}
    first, second = former_names.remarks(raw, Outer, Draft("f", raw))
    assert "many.1" in first
    assert "old = 2: is called new" in first
    assert "[named.a] old = 3: is called new" in second


def test_both_names_at_once_are_refused_with_the_one_to_leave_out():
    partition = {"kind": "dirichlet", "beta": 0.3, "alpha": 0.3}
    routes = {"routes": {"m": {"look": "stacked", "infer": "stacked"}}}
    raw = {**BASE, "data": {"kind": "digits", "partition": partition}, "run": routes}
    with pytest.raises(ScenarioError) as error:
        scenario.from_dict(raw)
    said = str(error.value)
    assert "[data.partition] beta = 0.3: is the former name of alpha, which is stated, too" in said
    assert '[run.routes.m] look = "stacked": is the former name of infer' in said


def test_the_resolved_scenario_has_todays_names():
    again = tomllib.loads(scenario.to_toml(scenario.from_dict(BASE)))
    assert again["data"]["partition"]["alpha"] == 0.3
    assert "beta" not in again["data"]["partition"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", shipped())
def test_no_shipped_scenario_has_a_former_name(name: str):
    assert scenario.load(name).former_names == ()
