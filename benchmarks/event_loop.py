"""Speed of the network without learning, and its limits.

    python benchmarks/event_loop.py [--deliveries 1000000] [--json FILE]

Plays the scenario `flood` with `--timing-only` until so many messages have been delivered, against
a baseline of the same run: a bare SimPy loop that does nothing but time-outs. Both in CPU time,
which neighbours on the machine disturb less. A profile of a short stretch says where the time of a
message goes.
"""

import argparse
import cProfile
import gc
import json
import time
from pathlib import Path

import simpy
from _profiling import own_times

from netsim import engine, world
from netsim.scenario import load

PER_SECOND = 36.3
"""Deliveries of `flood` per virtual second, from a first run; sets the horizon asked for."""

PARTS = {
    "simpy": "SimPy's heap and events",
    "clock": "events of the virtual clock",
    "channel": "SNR, reach, fading",
    "radio": "admission to radios, transmissions",
    "links": "ends of transmissions",
    "rng": "counter-based draws",
    "channels": "packets, retransmission, path loss",
    "schedules": "wake-up clocks",
    "wakeups": "wake-ups, slots",
    "node": "messages: send, deliver",
    "mailbox": "messages: queues",
    "messaging": "messages: sizes, Refs handed over",
    "learning": "jobs recorded (and dropped)",
    "devices": "processors, batteries",
    "engine": "the loop",
    "recording": "the event log",
    "algorithms": "the algorithm itself",
}
"""Files and folders of netsim, and what they do; the first that fits counts."""


def bare_events_per_s(events: int = 300_000) -> float:
    """Events per CPU second of SimPy alone: one process, time-outs only."""
    env = simpy.Environment()

    def ticking():
        while True:
            yield env.timeout(1)

    env.process(ticking())
    start = time.process_time()
    env.run(until=events)
    return events / (time.process_time() - start)


def flood(deliveries: int) -> dict:
    """One run of `flood` with about so many deliveries: its summary and `cpu_s`."""
    scenario = load("flood", [f"horizon_s={deliveries / PER_SECOND}"])
    flooded = world.build(scenario)
    start = time.process_time()
    summary = engine.play(flooded, scenario.algorithm[0], timing_only=True)
    return summary | {"cpu_s": time.process_time() - start}


def part_of(path: str, name: str) -> str | None:
    """The part that a source file belongs to."""
    where = Path(path)
    folders = where.parts[:-1]
    if "netsim" in folders:  # the checkout's own folders tell nothing
        folders = folders[len(folders) - folders[::-1].index("netsim") :]
    return next((p for p in PARTS if p == where.stem or p in folders), None)


def shares(deliveries: int = 30_000) -> dict[str, float]:
    """Share of the time spent in each part; builtins and the library count for their callers."""
    gc.collect()  # what the timed run left; it would count for whoever is at work when it goes
    profile = cProfile.Profile()
    profile.enable()
    flood(deliveries)
    profile.disable()
    spent = own_times(profile, part_of)
    total = sum(spent.values())
    return {part: own / total for part, own in spent.most_common()}


def main() -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bare = bare_events_per_s()
    summary = flood(options.deliveries)
    cpu_s = summary["cpu_s"]
    found = summary["engine"] | {
        "delivered": summary["messages"]["delivered"],
        "wall_s": summary["wall_s"],
        "cpu_s": cpu_s,
        "events_per_cpu_s": summary["engine"]["events"] / cpu_s,
        "us_per_delivery": 1e6 * cpu_s / summary["messages"]["delivered"],
        "bare_simpy_events_per_cpu_s": bare,
        "ratio": summary["engine"]["events"] / cpu_s / bare,
        "shares": shares(),
    }
    print(f"{found['delivered']:,} deliveries, {found['events']:,} events, {cpu_s:.1f} CPU s")
    speed = found["events_per_cpu_s"]
    print(f"{speed:,.0f} events/s, {found['us_per_delivery']:.1f} us a delivery")
    print(f"bare SimPy time-outs in this run: {bare:,.0f} events/s; ratio {found['ratio']:.3f}")
    print("where the time goes (profiled):")
    for part, share in found["shares"].items():
        print(f"  {share:6.1%}  {PARTS.get(part, part)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
