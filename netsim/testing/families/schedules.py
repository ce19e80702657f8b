"""Schedules: wake-ups come one after the other, whoever asks for them in whatever order."""

from netsim.rng import Streams
from netsim.schedules import Schedule
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

NODES, WAKES = 4, 50


def check(schedule: Schedule, case: ComponentCase) -> None:
    """Check fifty wake-ups of four nodes."""
    if schedule.barrier:
        return
    clock = schedule.clock(Streams(0), NODES)
    for node in range(NODES):
        times: list[int] = []
        number = 0
        for _ in range(WAKES):
            time_ns, following = clock.next_wakeup(node, number)
            require(following > number, f"node {node}: wake-up {following} after {number}")
            require(not times or time_ns > times[-1], f"node {node}: time does not go on")
            require(
                clock.last_wakeup(node, time_ns) == (time_ns, following),
                f"node {node}: last_wakeup at {time_ns} ns is not the one at that time",
            )
            times.append(time_ns)
            number = following
        again = schedule.clock(Streams(0), NODES)
        require(
            again.next_wakeup(node, 0)[0] == times[0],
            f"node {node}: another clock of the same seed wakes it at another time",
        )
