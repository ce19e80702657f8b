"""Fixtures of actors that live in the test's own process."""

import gc

import pytest

from netsim.engine import process_settings


@pytest.fixture(autouse=True)
def settings_end_with_the_actors(monkeypatch):
    """An actor sets its process up for as long as that lives; here it is everybody's."""
    for kept in ("_under_way", "_before"):
        monkeypatch.setattr(process_settings, kept, [])
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
