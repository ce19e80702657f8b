"""What holds for every test: none reads or writes what belongs to whoever runs them."""

import pytest


@pytest.fixture(autouse=True)
def no_routes_of_ones_own(tmp_path_factory, monkeypatch):
    """Which backend runs what must not depend on what `netsim tune` once wrote on this machine."""
    folder = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("NETSIM_ROUTES", str(folder / "no routes of one's own.toml"))
