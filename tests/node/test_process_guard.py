"""Objects that a guarded process keeps alive."""

import weakref
from types import SimpleNamespace
from typing import Any, cast

from netsim.clock import Clock
from netsim.devices.availability import Availability
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
