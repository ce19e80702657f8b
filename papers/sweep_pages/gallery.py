"""The what-ifs: what their points are called, and which sentences answer them."""

from dataclasses import dataclass

Point = tuple[float | str, str, str]
"""Place on the horizontal axis, name in sentences, and the series it belongs to."""


@dataclass(frozen=True)
class Change:
    """A sentence on what becomes of accuracy from one point to another.

    Attributes
    ----------
    what : str
        What changes: the subject of the sentence.
    to, point : int
        Numbers of the points: from `to` to `point`.
    """

    what: str
    to: int
    point: int


@dataclass(frozen=True)
class WhatIf:
    """One of the what-ifs.

    Attributes
    ----------
    name : str
        Its scenario's, without `whatif_`.
    title : str
    axis : str
        Of the figures: what is swept, with its unit.
    points : tuple of Point
        In the sweep's order.
    answers : tuple of (Change or str)
        A text has fields such as `{delivered_share[0]}`, a measure's mean at a point, and
        `{local[accuracy][0]}`, that of another algorithm.
    algorithm : str
        The one that the sentences are about.
    """

    name: str
    title: str
    axis: str
    points: tuple[Point, ...]
    answers: tuple[Change | str, ...]
    algorithm: str = "pfedgraph"


def _plain(*points: tuple[float | str, str]) -> tuple[Point, ...]:
    return tuple((x, name, "") for x, name in points)


def _pairs(first: str, second: str, *points: tuple[float, str]) -> tuple[Point, ...]:
    """Two series, point by point."""
    return tuple((x, f"{name}, {s}", s) for x, name in points for s in (first, second))


WHAT_IFS = (
    WhatIf(
        "bandwidth",
        "Less bandwidth",
        "bandwidth [Hz]",
        _plain((2e4, "20 kHz"), (1e5, "100 kHz"), (5e5, "500 kHz"), (2.5e6, "2.5 MHz")),
        (
            Change("A bandwidth of 2.5 MHz in place of 20 kHz", 0, 3),
            "Of the models {delivered_share[0]} arrive at 20 kHz, {delivered_share[3]} at 2.5 MHz.",
        ),
    ),
    WhatIf(
        "latency",
        "Longer delays",
        "latency [s]",
        _plain((0, "0 s"), (1, "1 s"), (5, "5 s"), (20, "20 s"), (60, "60 s")),
        (
            Change("A latency of a second in place of none", 0, 1),
            Change("A minute in place of none", 0, 4),
            "Models are {staleness_s[0]} old when they are used without latency, {staleness_s[4]} "
            "with a minute of it.",
        ),
    ),
    WhatIf(
        "loss",
        "Lost packets",
        "probability that a packet is lost",
        _pairs("sent once", "repeated", (0.0, "0 %"), (0.02, "2 %"), (0.1, "10 %"), (0.3, "30 %")),
        (
            Change("A tenth of the packets lost, each sent once,", 0, 4),
            Change("As many lost, each repeated up to seven times,", 1, 5),
            "Of the models {delivered_share[4]} and {delivered_share[5]} arrive then.",
        ),
    ),
    WhatIf(
        "density",
        "Fewer neighbours in reach",
        "others in reach, on average",
        _plain(
            *((n, f"{n} in reach") for n in (1, 2, 4, 8, 16)),
        ),
        (Change("Reaching 16 others on average in place of one", 0, 4),),
    ),
    WhatIf(
        "exchange_interval",
        "Rarer exchanges",
        "slots per exchange",
        _plain((5, "5 slots"), (20, "20 slots"), (80, "80 slots"), (320, "320 slots")),
        (
            Change("KD-PDFL's exchange every 20 slots in place of every 5", 0, 1),
            Change("Every 320 in place of every 5", 0, 3),
            "On the air are {transmitted_megabytes[0]} at 5 slots, {transmitted_megabytes[1]} at "
            "20 and {transmitted_megabytes[3]} at 320.",
        ),
        "kd_pdfl",
    ),
    WhatIf(
        "stragglers",
        "Slow devices",
        "mean extra delay of a training [s]",
        _pairs("rounds", "own clocks", (0, "0 s"), (2, "2 s"), (8, "8 s"), (32, "32 s")),
        (
            Change("Without stragglers, clocks of their own in place of rounds", 0, 1),
            Change("With delays of 8 s the same", 4, 5),
            Change("With delays of 32 s the same", 6, 7),
            "In 200 s rounds make {local_steps[0]} local steps without stragglers and "
            "{local_steps[6]} with delays of 32 s, clocks of their own {local_steps[1]} and "
            "{local_steps[7]}.",
        ),
    ),
    WhatIf(
        "doppler",
        "Faster fading",
        "Doppler frequency [Hz]",
        _plain((0.05, "0.05 Hz"), (0.5, "0.5 Hz"), (5, "5 Hz"), (50, "50 Hz")),
        (
            Change("A Doppler frequency of 0.5 Hz in place of 0.05 Hz", 0, 1),
            Change("50 Hz in place of 0.5 Hz", 1, 3),
            "Of the models {delivered_share[0]}, {delivered_share[1]}, {delivered_share[2]} and "
            "{delivered_share[3]} arrive at the four frequencies.",
        ),
    ),
    WhatIf(
        "mac",
        "One channel for all",
        "medium access",
        _plain(
            ("own channels", "channels of their own"),
            ("shared", "no coordination"),
            ("TDMA", "TDMA"),
            ("CSMA", "CSMA"),
            ("ALOHA", "ALOHA"),
        ),
        (
            Change("CSMA in place of channels of their own", 0, 3),
            Change("TDMA", 0, 2),
            Change("ALOHA", 0, 4),
            Change("One channel without coordination", 0, 1),
        ),
    ),
    WhatIf(
        "churn",
        "Devices that go off",
        "on and off for, on average",
        _plain(("never off", "never off"), ("5 s", "5 s"), ("20 s", "20 s"), ("80 s", "80 s")),
        (
            Change("Being off half of the time, for 5 s on average,", 0, 1),
            Change("For 80 s on average in place of 5 s it", 1, 3),
        ),
    ),
    WhatIf(
        "mobility",
        "Devices that move",
        "speed [m/s]",
        _plain((0.01, "0.01 m/s"), (1, "1 m/s"), (5, "5 m/s"), (20, "20 m/s")),
        (Change("Moving at 20 m/s in place of 0.01 m/s", 0, 3),),
    ),
    WhatIf(
        "battery",
        "Small batteries",
        "charge of a battery [J]",
        _plain((2, "2 J"), (5, "5 J"), (10, "10 J"), (20, "20 J"), (40, "40 J")),
        (
            Change("A battery of 40 J in place of 2 J", 0, 4),
            "Radios empty the battery of 2 J after {local_steps[0]} local steps of all nodes; "
            "alone they make {local[local_steps][0]} with it and reach {local[accuracy][0]}, "
            "where the network reaches {accuracy[0]} with 2 J, {accuracy[1]} with 5 J and "
            "{accuracy[2]} with 10 J.",
        ),
    ),
    WhatIf(
        "duty_cycle",
        "Radios that sleep",
        "share of the time awake",
        tuple(
            (x, f"{name}, {s}", s)
            for s in ("given up", "repeated")
            for x, name in ((1.0, "always awake"), (0.2, "20 % awake"), (0.05, "5 % awake"))
        ),
        (
            Change("Sleeping 95 % of the time where senders give up", 0, 2),
            Change("Where they repeat until they are heard it", 3, 5),
            "Energy: {energy_j[0]} always awake; {energy_j[2]} asleep 95 % of the time where "
            "senders give up, {energy_j[5]} where they repeat.",
        ),
    ),
)
