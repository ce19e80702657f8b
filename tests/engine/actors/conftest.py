"""Fixtures of actors that live in the test's own process."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from netsim.engine.actors import actor


@pytest.fixture(autouse=True)
def actors_change_no_settings(monkeypatch):
    """An actor sets its process up for as long as that lives; here it is everybody's."""
    settings = SimpleNamespace(of_runs=lambda tf32: nullcontext())
    monkeypatch.setattr(actor, "process_settings", settings)
