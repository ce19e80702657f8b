"""Connections with a cluster of Ray, without one."""

import os
from types import SimpleNamespace

import pytest

from netsim.engine import ray_cluster


@pytest.mark.parametrize(
    ("address", "own", "expected"),
    [(None, None, "0"), (None, "5", "5"), ("10.0.0.1:6379", None, None)],
)
def test_workers_of_a_cluster_that_starts_here_stand_back_from_nobody(
    monkeypatch, address, own, expected
):
    """A user's own wish stays, and so does a cluster that is there already."""
    found = {}

    def init(**options):
        found.update(options, niceness=os.environ.get(ray_cluster.NICENESS))

    ray = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setattr(ray_cluster, "imported", lambda: ray)
    monkeypatch.setattr(ray_cluster, "_connections", [0])
    monkeypatch.delenv(ray_cluster.ADDRESS, raising=False)
    monkeypatch.setenv(ray_cluster.NICENESS, own or "")
    if own is None:
        monkeypatch.delenv(ray_cluster.NICENESS)
    ray_cluster.connected(address)
    assert found["niceness"] == expected
    assert found["address"] == (address or "local")
