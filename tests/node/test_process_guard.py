"""Objects that a guarded process keeps alive, and how it may end."""

import weakref
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.errors import NetsimError
from netsim.node.process_guard import guarded_process


class Model:
    """Stand-in for a value that takes memory."""


def test_a_waiting_process_does_not_hold_what_it_was_sent_before() -> None:
    """The algorithm let go of the value, so it is gone although the process waits on."""
    clock = Clock()
    seen: list[weakref.ref[Model]] = []

    def algorithm() -> Any:
        seen.append(weakref.ref((yield clock.event_after(1, 1, Model()))))
        yield clock.event_after(1_000, 1)

    always_on = cast(Availability, SimpleNamespace(env=clock, off=set[int]()))
    clock.process(guarded_process(always_on, 0, algorithm()))
    clock.run(until=500)
    assert [model() for model in seen] == [None]


def test_a_process_that_leaves_python_is_named() -> None:
    """Else the command would end with the code of a run that went well."""
    clock = Clock()

    def algorithm() -> Any:
        yield clock.event_after(1, 1)
        raise SystemExit(0)

    always_on = cast(Availability, SimpleNamespace(env=clock, off=set[int]()))
    clock.process(guarded_process(always_on, 4, algorithm()))
    with pytest.raises(NetsimError, match="node 4 at 1e-09 s in algorithm: SystemExit: 0"):
        clock.run(until=500)
