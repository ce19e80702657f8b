"""netsim beside ns-3, frame by frame or by TCP, on the same work.

    python benchmarks/ns3/run.py replay RUN [RUN ...] [--seeds 3]   a run's messages and places
    python benchmarks/ns3/run.py link | dcf | hidden | star         one 802.11a link, ...
    python benchmarks/ns3/run.py adhoc [near full wide heavy]       models pushed to neighbours

RUN is a run folder, or what `netsim export RUN --for ns3` made of one. Every number of ns-3 is a
mean over --seeds seeds, with its standard error. CPU times are of playing alone, without setting
up. Optional: needs the wheel of ns-3 (pip install ns3==3.44.*) and a C++ compiler, says so where
they are missing.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import _netsim
import _programs
import _replay
from _netsim import PAYLOAD_BYTES
from _programs import Ns3, numbers
from _replay import mean_se

from netsim.recording import run_folder

Cell = dict[str, Any]

ADHOC = {  # nodes, radius [m], wake-ups of a node [Hz], for so long [s]
    "near": (12, 30.0, 0.047, 100.0),
    "full": (12, 30.0, 0.085, 60.0),
    "wide": (40, 180.0, 0.04, 60.0),
    "heavy": (40, 180.0, 0.15, 15.0),
}
"""Ad hoc networks: one domain at half and near capacity; hidden senders, light and heavy load."""
GROWING = {f"light{n}": (n, 28.46 * math.sqrt(n), 0.04, 2000.0 / n) for n in (10, 100, 1000)}
"""As `wide`, with more nodes on more ground, and as many wake-ups in all."""
HIDDEN = ((2, 0.0, False), (2, 80.0, False), (4, 40.0, False), (2, 80.0, True))
"""Senders, frames a second of each (0: saturated), whether RTS precedes them."""
SENDERS = {"Mb/s": "mbps", "failed": "failed", "delivered": "delivered", "CPU s": "cpu_s"}
"""Numbers of senders around one receiver; `failed`: the share of attempts."""
STAR = {  # nodes, bytes, wake-ups [Hz], for so long [s], one-way latency [s]
    "one client, 4 MB, 20 ms": (2, 4_000_000, 0.05, 200.0, 0.01),
    "1 MB, 20 ms": (11, 1_000_000, 0.1, 40.0, 0.01),
    "100 kB, 10 ms": (11, 100_000, 0.5, 30.0, 0.005),
    "100 kB, 100 ms": (11, 100_000, 0.5, 30.0, 0.05),
}
"""Transfers over access links of 10 Mb/s to a server behind 20 Mb/s; round-trip times."""


def replayed(ns3: Ns3, folder: Path, seeds: int, cpu_s: float | None) -> Cell:
    """One run in both: ns-3's numbers as means over seeds, `X ±` their standard errors.

    Parameters
    ----------
    folder : Path
        An exported run.
    cpu_s : float or None
        What netsim took.
    """
    replay = _replay.read(folder)
    each = []
    for seed in range(1, seeds + 1):
        delay_s, totals = _replay.play(ns3, replay, seed)
        each.append(_replay.side_by_side(replay, delay_s) | {"ns-3 CPU s": totals["cpu_s"]})
    cell: Cell = {"run": replay.name, "differs": replay.differs, "netsim CPU s": cpu_s}
    for name in each[0]:
        cell[name], error = mean_se([found[name] for found in each])
        if name.startswith(("ns-3", "ratio")):
            cell[f"{name} ±"] = error
    for side in ("netsim", "ns-3"):
        if cell[f"{side} CPU s"]:
            came = cell["messages"] * cell[f"{side} delivered"]
            cell[f"{side} messages/CPU s"] = came / cell[f"{side} CPU s"]
    return cell


def replay(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Runs of the user's."""
    cells = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, run in enumerate(map(Path, options.what)):
            folder = run
            if not (run / "replay.json").is_file():
                folder = _netsim.exported(run, Path(scratch) / str(number), options.algorithms)
            cells.append(replayed(ns3, folder, options.seeds, None) | {"run": str(run)})
    return cells


def adhoc(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Ad hoc networks; every seed is a network of its own, played once in each."""
    cells = []
    for what in options.what or ADHOC:
        for seed in range(options.seeds):
            tables = _netsim.pushes(*(ADHOC | GROWING)[what], seed, options.fidelity)
            cells.append(_played(ns3, tables) | {"run": f"{what} {seed}", "what": what})
    return cells


def star(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Transfers over a star of wires."""
    cells = []
    for what, (nodes, size, rate_hz, lasting_s, latency_s) in STAR.items():
        for seed in range(options.seeds):
            server = {"name": "server", "count": 1, "uplink_bps": 20e6, "downlink_bps": 20e6}
            tables = {
                "seed": seed,
                "horizon_s": lasting_s + 100.0,
                "nodes": {"count": nodes, "groups": [server]},
                "topology": {"kind": "complete"},
                "exchange": {"schedule": "poisson", "rate_hz": rate_hz},
                "link": {
                    "latency_s": latency_s,
                    "uplink_bps": 10e6,
                    "downlink_bps": 10e6,
                    "control_bits": 8 * size,
                    "sharing": "max_min",
                    "packet_payload_bytes": 1448,
                    "packet_header_bytes": 54,  # of TCP, IP and PPP, as ns-3 has them
                    "slow_start": {},
                },
                "algorithm": {"kind": "to_one", "to": 0, "until_s": lasting_s},
            }
            cells.append(_played(ns3, tables) | {"run": f"{what}, {seed}", "what": what})
    return cells


def _played(ns3: Ns3, tables: dict[str, Any]) -> Cell:
    """A scenario in netsim, and its messages in ns-3, with a seed of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        _, cpu_s = _netsim.play(tables, run)
        return replayed(
            ns3, _netsim.exported(run, Path(scratch) / "ns3", _netsim.ALGORITHMS), 1, cpu_s
        )


def link(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Single attempts over one link: the share that arrives; errors are binomial."""
    cells, frames = [], 500 * options.seeds
    cases = ((6, 0, (120, 130, 140)), (6, 1, (60, 100)), (24, 0, (60, 66, 68)), (54, 0, (30, 34)))
    for mbps, m, metres in cases:
        arguments = {
            "mode": f"OfdmRate{mbps}Mbps", "m": m, "frames": frames, "sensitivityDbm": -1000,
            "metres": ",".join(map(str, metres)),
        }  # fmt: skip
        found = dict(line.split()[:2] for line in ns3.call("link", arguments).splitlines())
        for distance_m in metres:
            fading = {"kind": "rayleigh", "hold": "exchange"} if m else {"kind": "none"}
            tables = {
                "horizon_s": frames / 25.0,  # four times as many: they cost little
                "nodes": {
                    "count": 2, "placement": "given", "positions_m": [[0, 0], [distance_m, 0]],
                },
                "exchange": {"schedule": "poisson", "rate_hz": 100.0},
                "radio": _netsim.radio(mbps, fading=fading, control_bits=8 * PAYLOAD_BYTES)
                | {"sensitivity_dbm": None, "arq": {"kind": "none"}},
                "algorithm": {"kind": "to_one"},
            }  # fmt: skip
            messages = _netsim.play(tables)[0]["messages"]
            share, sent = messages["delivered"] / messages["sent"], messages["sent"]
            theirs = int(found[str(distance_m)]) / frames
            cells.append({
                "run": f"{mbps} Mb/s, {'Rayleigh' if m else 'no fading'}, {distance_m} m",
                "netsim delivered": share,
                "netsim delivered ±": math.sqrt(share * (1 - share) / sent),
                "ns-3 delivered": theirs,
                "ns-3 delivered ±": math.sqrt(theirs * (1 - theirs) / frames),
            })  # fmt: skip
    return cells


def dcf(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Saturated DCF, all in one place: Mb/s of payload."""
    cells = []
    for mbps, n in ((6, 1), (6, 2), (6, 5), (6, 10), (6, 20), (54, 1), (54, 5)):
        arguments = {"mode": f"OfdmRate{mbps}Mbps"}
        cells.append(_senders(ns3, options, n, arguments, mbps=mbps))
    return cells


def hidden(ns3: Ns3, options: argparse.Namespace) -> list[Cell]:
    """Senders that only the receiver hears: Mb/s of payload, and the share that arrives."""
    cells = []
    for n, rate_hz, rts in HIDDEN:
        arguments = {"hidden": 1, "rateHz": rate_hz, "rtsBytes": 0 if rts else 4_000_000}
        cells.append(_senders(ns3, options, n, arguments, rate_hz, True, rts))
    return cells


def _senders(
    ns3: Ns3,
    options: argparse.Namespace,
    n: int,
    arguments: dict[str, Any],
    rate_hz: float = 0.0,
    apart: bool = False,
    rts: bool = False,
    mbps: int = 6,
) -> Cell:
    """Senders on a circle around a receiver, in both.

    Parameters
    ----------
    arguments : dict
        Of ns-3's program.
    rate_hz : float
        Frames of each sender [1/s]; 0: saturated.
    apart : bool
        Whether they don't hear each other.
    """
    seconds = 10.0
    # apart: 60 dB to the receiver, as in dcf.cc
    radius_m = 10 ** ((60.0 - _netsim.REFERENCE_DB) / (10 * _netsim.EXPONENT)) if apart else 1.0
    places = [
        [radius_m * math.cos(2 * math.pi * i / n), radius_m * math.sin(2 * math.pi * i / n)]
        for i in range(n)
    ]
    mac: dict[str, Any] = {"rts_threshold_bits": 0} if rts else {}
    if apart:
        mac["carrier_sense_m"] = 1.2 * radius_m  # the receiver, and no other of up to four senders
    theirs: list[dict[str, float]] = []
    ours: list[dict[str, float]] = []
    for seed in range(1, options.seeds + 1):
        told = arguments | {"n": n, "seed": seed, "seconds": seconds}
        theirs.append(found := numbers(ns3.call("dcf", told)))
        keys = {
            "control_bits": 8 * PAYLOAD_BYTES,  # messages of a packet: none is under way for long
            "sensitivity_dbm": None,
            "fidelity": options.fidelity,
        }
        algorithm = {"kind": "to_one", "until_s": seconds + 1} if rate_hz else {"kind": "saturate"}
        tables = {
            "seed": seed,
            "horizon_s": seconds + 1 + (10 if rate_hz else 0),  # as dcf.cc: to settle, and to drain
            "nodes": {"count": n + 1, "placement": "given", "positions_m": [*places, [0.0, 0.0]]},
            "exchange": {"schedule": "poisson", "rate_hz": rate_hz or 1000.0},
            "radio": _netsim.radio(mbps, mac, **keys),
            "algorithm": algorithm,
        }
        with tempfile.TemporaryDirectory() as scratch:
            run = Path(scratch) / "run"
            _, cpu_s = _netsim.play(tables, run)
            rows = run_folder.read(run, "messages")
        delivered = rows["outcome"] == "delivered"
        counts = rows["t_done_s"] >= 1
        ours.append({"cpu_s": cpu_s})
        if rate_hz:
            found["delivered"] = found["got"] / found["offered"]
            ours[-1]["delivered"] = delivered[rows["t_sent_s"] > 1].mean()
            del found["mbps"]
        else:
            ours[-1]["mbps"] = 8e-6 * PAYLOAD_BYTES * (delivered & counts).sum() / seconds
            tried = rows["attempts"][counts].sum()
            ours[-1]["failed"] = 1 - (delivered & counts).sum() / tried
            found["failed"] = 1 - found["got"] / found["tried"]
    load = f"{rate_hz:g}/s each" if rate_hz else "saturated"
    cell: Cell = {"run": f"{mbps} Mb/s, {n} senders, {load}{', RTS' if rts else ''}"}
    for side, each in (("netsim", ours), ("ns-3", theirs)):
        for name, key in SENDERS.items():
            if key in each[0]:
                cell[f"{side} {name}"], cell[f"{side} {name} ±"] = mean_se([x[key] for x in each])
    return cell


CASES: dict[str, Callable[[Ns3, argparse.Namespace], list[Cell]]] = {
    "replay": replay, "link": link, "dcf": dcf, "hidden": hidden, "adhoc": adhoc, "star": star,
}  # fmt: skip
NUMBERS = {
    "Mb/s": ".3f",
    "failed": ".3f",
    "delivered": ".3f",
    "mean s": ".3f",
    "p95 s": ".2f",
    "CPU s": ".2f",
}
NUMBERS["messages/CPU s"] = ",.0f"


def averages(cells: Sequence[Cell]) -> list[Cell]:
    """A row for each set of networks that differ in the seed alone, with standard errors."""
    rows = []
    for what in dict.fromkeys(cell["what"] for cell in cells if "what" in cell):
        same = [cell for cell in cells if cell.get("what") == what]
        row: Cell = {"run": f"{what}: mean of {len(same)}"}
        for name in same[0]:
            if name.endswith("±") or not isinstance(same[0][name], float):
                continue
            row[name], row[f"{name} ±"] = mean_se([cell[name] for cell in same])
        rows.append(row)
    return rows


def markdown(cells: Sequence[Cell]) -> str:
    """The cells as a table; netsim and ns-3 beside each other."""
    shown = [name for name in NUMBERS if any(f"ns-3 {name}" in cell for cell in cells)]
    heads = ["run", *(f"{name} {side}" for name in shown for side in ("netsim", "ns-3"))]
    paired = any("ratio" in cell for cell in cells)
    heads += ["mean, netsim / ns-3"] if paired else []
    rows = [heads, ["---"] * len(heads)]
    for cell in cells:
        values = [
            _number(cell, f"{side} {name}", NUMBERS[name])
            for name in shown
            for side in ("netsim", "ns-3")
        ]
        values += [_number(cell, "ratio", ".3f")] if paired else []
        rows.append([str(cell["run"]), *values])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _number(cell: Cell, key: str, form: str) -> str:
    value, error = cell.get(key), cell.get(f"{key} ±")
    if value is None or math.isnan(value):
        return "-"
    return format(value, form) + (
        "" if error is None or math.isnan(error) else f" ± {error:{form}}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", choices=CASES)
    parser.add_argument("what", nargs="*", help="replay: runs; adhoc: networks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fidelity", choices=["message", "packet"], default="message")
    parser.add_argument("--ns3", type=Path, help="folder of an unpacked wheel, with include, lib64")
    parser.add_argument("--algorithms", type=Path, help="replay: the user's own algorithm files")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.case == "replay" and not options.what:
        parser.error("replay: name a run folder")
    if options.case == "adhoc" and (unknown := set(options.what) - set(ADHOC | GROWING)):
        known = ", ".join(ADHOC | GROWING)
        parser.error(f"adhoc: {', '.join(sorted(unknown))}: there are {known}")
    try:
        ns3 = _programs.find(options.ns3)
    except _programs.MissingError as missing:
        print(f"skipped: {missing}")
        return
    cells = CASES[options.case](ns3, options)
    print(markdown([*cells, *averages(cells)]))
    for cell in cells if options.case == "replay" else ():
        print(f"\n{cell['run']}, otherwise in ns-3:", *cell["differs"], sep="\n- ")
    if options.json is not None:
        options.json.write_text(json.dumps(cells, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
