"""The channel families are found by scanning their folders."""

import importlib
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

import netsim.channels
from netsim.registry import choice, family

FAMILIES = sorted(
    p.parent.name for p in Path(netsim.channels.__file__).parent.glob("*/__init__.py")
)


@pytest.mark.parametrize("name", FAMILIES)
def test_each_file_is_one_model_under_its_own_name(name):
    package = importlib.import_module(f"netsim.channels.{name}")
    folder = Path(package.__file__).parent
    files = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    members = family(f"netsim.channels.{name}")
    assert sorted(members) == files
    assert [model.model_fields["kind"].default for model in members.values()] == list(members)


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_has_an_abstract_base(name):
    package, models = f"netsim.channels.{name}", family(f"netsim.channels.{name}").values()
    (base,) = {c for model in models for c in model.__mro__ if c.__module__ == package}
    assert all(issubclass(model, base) for model in models)
    with pytest.raises(TypeError, match="abstract"):
        base()


def test_a_scenario_table_becomes_the_model_it_names():
    adapter = TypeAdapter(choice("netsim.channels.arq"))
    assert adapter.validate_python({"kind": "hole", "max_attempts": 4}).max_attempts == 4
    with pytest.raises(ValidationError):
        adapter.validate_python({"kind": "none", "max_attempts": 4})
    with pytest.raises(ValidationError):
        adapter.validate_python({"kind": "abort", "max_attempts": 0})
