"""A node's processes: held back while it is off, errors told with node, virtual time, process."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from netsim.clock import Clock
from netsim.devices.availability import Power
from netsim.errors import NetsimError, ProtocolError
from netsim.units import to_s


def blamed(env: Clock, node: int, what: str, error: Exception) -> NetsimError:
    """The error with where and when it happened in front."""
    where = f"node {node} at {to_s(env.now):g} s in {what}"
    if isinstance(error, NetsimError):
        return type(error)(f"{where}: {error}")
    return NetsimError(f"{where}: {type(error).__name__}: {error}")


def named(
    power: Power, node: int, generator: Generator[simpy.Event, Any, Any], what: str | None = None
) -> Generator[simpy.Event, Any, Any]:
    """The process; its crash names node, time and process, and so does a yield of no event.

    While its node is off it does not go on; it then hears at once of what happened meanwhile.
    """
    off = power.off
    try:
        while node in off:
            yield power.back(node)
        event = next(generator)
        while True:
            if isinstance(event, simpy.Event):
                value = yield event
                while node in off:
                    yield power.back(node)
                event = generator.send(value)
            else:  # thrown where the mistake is, so that the traceback shows the line
                event = generator.throw(
                    ProtocolError(
                        f"yield of {event!r}, which is no event; only verbs that take time are "
                        "waited for with yield"
                    )
                )
    except StopIteration as end:
        return end.value
    except Exception as error:
        raise blamed(power.env, node, what or name_of(generator), error) from error


def name_of(generator: Any) -> str:
    """What a process is called in messages."""
    return str(getattr(generator, "__name__", "a process"))
