"""Guard of a node's process: it pauses while the node is off, and its errors name the line.

An error of an algorithm is raised again with the node, the virtual time and the process in front.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

import simpy
from simpy.events import Condition

from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.errors import NetsimError, ProtocolError, UnsuitableError
from netsim.learning.calling_line import is_ours, line_of, place_of
from netsim.messaging.mailbox import Arrival
from netsim.node.mistakes import no_process, no_processes, probable_mistake, yield_error_text
from netsim.units import to_s


def located_error(error: BaseException, now_ns: int, node: int, process: str) -> NetsimError:
    """The error with place and time before its text, and a suggestion after it.

    Parameters
    ----------
    error : BaseException
    now_ns : int
        Virtual time [ns].
    node : int
    process : str
        What the process is called.
    """
    where = f"node {node} at {to_s(now_ns):g} s in {process}"
    if isinstance(error, NetsimError):
        return type(error)(f"{where}: {error}")
    return NetsimError(f"{where}: {type(error).__name__}: {error}{probable_mistake(error)}")


def guarded_process(
    availability: Availability,
    node: int,
    generator: Generator[simpy.Event, Any, Any],
    name: str | None = None,
) -> Generator[simpy.Event, Any, Any]:
    """An algorithm's process, to be run by the clock.

    While its node is off it does not go on; when the node is on again it hears of what happened
    meanwhile.

    Parameters
    ----------
    availability : Availability
        Knows which nodes are off.
    node : int
        Whose process it is.
    generator : generator
        The algorithm's.
    name : str or None
        What the process is called in errors; None: the generator's name.

    Raises
    ------
    NetsimError
        What the generator raised, located; also if it yields anything but an event.
    """
    off = availability.off
    try:
        while node in off:
            yield availability.event_when_on(node)
        event = next(generator)
        while True:
            if type(event) is Arrival:
                event.note_listener()
            if type(event) is Condition and (lost := _abandoned(event)) is not None:
                text = f"{lost.what} | ... would lose messages; give timeout_s instead"
                event = generator.throw(ProtocolError(text))
            elif isinstance(event, simpy.Event):
                value = yield event
                if node in off:
                    while node in off:
                        yield availability.event_when_on(node)
                    value = event.value  # messages are handed over only now
                event = generator.send(value)
                del value  # models that only it held are free while the process waits
            else:  # thrown where the mistake is, so that the traceback shows the line
                event = generator.throw(ProtocolError(yield_error_text(event)))
    except StopIteration as end:
        return end.value
    except (Exception, SystemExit) as error:  # the second would end netsim as if all was well
        name = name or process_name(generator)
        raise located_error(error, availability.env.now, node, name) from error


def _abandoned(event: simpy.Event, is_any: bool = False) -> Arrival | None:
    """Find a `receive` or `gather` in `a | b`, which may go on without it and lose its messages.

    `is_any`: `event` is in one.
    """
    if isinstance(event, Arrival):
        return event if is_any else None
    if isinstance(event, Condition):
        is_any = is_any or event._evaluate is Condition.any_events
        found = (_abandoned(one, is_any) for one in event._events)
        return next((one for one in found if one is not None), None)
    return None


def process_name(generator: Any) -> str:
    """Name a process, or a handler of requests, in messages."""
    return str(getattr(generator, "__name__", "a process"))


def start_processes(
    node: int,
    processes: Callable[[], Iterable[Generator[simpy.Event, Any, Any]]],
    clock: Clock,
    availability: Availability,
) -> list[tuple[str, simpy.Process]]:
    """Start the processes of a node at this instant.

    Parameters
    ----------
    node : int
    processes : callable
        Makes them: the algorithm's `processes` with its arguments.
    clock : Clock
    availability : Availability
        Knows which nodes are off.

    Returns
    -------
    list of (str, simpy.Process)
        The processes and what they are called.

    Raises
    ------
    NetsimError
        What the algorithm raised, located.
    """
    try:
        returned = processes()
        if (problem := no_processes(returned)) is not None:
            raise ProtocolError(problem)
        generators = list(returned)
        for number, generator in enumerate(generators, start=1):
            if not isinstance(generator, Generator):
                raise ProtocolError(no_process(generator, number))
    except UnsuitableError:
        raise  # every node says the same: the place is in the scenario
    except (Exception, SystemExit) as error:
        raise located_error(error, clock.now, node, "processes") from error
    return [
        (process_name(g), clock.process(guarded_process(availability, node, g))) for g in generators
    ]


def waits_at(process: simpy.Process) -> str:
    """` (FILE:LINE)` where an algorithm's process waits or goes on; empty if it has ended."""
    frame = getattr(process._generator, "gi_frame", None)
    generator: Any = frame.f_locals.get("generator") if frame is not None else None
    found = ""
    while generator is not None and (frame := getattr(generator, "gi_frame", None)) is not None:
        if not is_ours(frame):
            found = f" ({line_of(place_of(frame))})"
        generator = generator.gi_yieldfrom
    return found
