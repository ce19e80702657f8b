"""Files over time as people bring them: a good one of every kind, and its dialects and damages.

A case is a file, and either that it says the same as the good one, or that it is refused with a
line (or none) and a remedy. What the good ones say is written down here, worked out by hand.
"""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netsim.channels.fading.ns3_fad import Ns3Trace
from netsim.channels.packet_error.table import TabledPacketError
from netsim.channels.path_loss.gains import MeasuredGains
from netsim.devices.speed.devices import Devices
from netsim.links.wired.bandwidth import BandwidthTrace
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.churn import timeline
from netsim.topology.churn.trace import Trace as Churn
from netsim.topology.contacts import Contacts
from netsim.topology.mobility.bonnmotion import BonnMotion
from netsim.topology.mobility.ns2 import Ns2
from netsim.topology.mobility.sumo import Sumo
from netsim.topology.mobility.the_one import TheOne
from netsim.topology.mobility.trace import Trace
from netsim.units import to_ns

Play = Callable[[str, dict[str, Any]], list[float]]


@dataclass(frozen=True)
class Refused:
    """It is an error; `line` is told if it is given, and so are `says`, parts of the text."""

    line: int | None = None
    says: str = ""


SAME = "same"
Outcome = str | Refused | list[float]


@dataclass(frozen=True)
class Case:
    """A file, what else the scenario says of it, and what has to come of it."""

    kind: str
    name: str
    content: bytes
    suffix: str
    keys: dict[str, Any]
    outcome: Outcome


# -- what the kinds are played as ---------------------------------------------------------------


def _rates(path: str, keys: dict[str, Any]) -> list[float]:
    [capacity] = BandwidthTrace(uplink=path, **keys).read("uplink", 1, Streams(0), None) or []
    return [capacity.finish_ns(0, bits) / 1e9 for bits in (5e5, 2e6, 1e7)]


def _moves(law: type[Any]) -> Play:
    def play(path: str, keys: dict[str, Any]) -> list[float]:
        start_m = np.array([[7.0, 7.0], [8.0, 8.0], [9.0, 9.0]])
        track = law(path=path, **keys).track(start_m, 50.0, Streams(0), None)
        assert track is not None
        return [x for t in (0, 1, 2, 4) for x in track.at(range(3), to_ns(t)).ravel().tolist()]

    return play


def _distances(path: str, keys: dict[str, Any]) -> list[float]:
    start_m = np.zeros((2, 2))
    track = Trace(path=path, **keys).track(start_m, 50.0, Streams(0), None)
    assert track is not None
    return [float(np.hypot(*np.subtract(*track.at([0, 1], to_ns(t))))) for t in (0, 2)]


def _contacts(path: str, keys: dict[str, Any]) -> list[float]:
    found = Contacts(path=path, people=("7", "8", "9"), **keys).meetings(Site(3, Streams(0)))
    pairs = ((0, 1), (0, 2), (1, 2))
    times = (0, 19, 39, 40, 80, 99)
    return [found.left_ns(i, j, t * 10**9) / 1e9 for i, j in pairs for t in times]


def _churn(path: str, keys: dict[str, Any]) -> list[float]:
    found = timeline([Churn(path=path, **keys)] * 3, Streams(0))
    assert found is not None
    return [float(found.is_on(i, to_ns(t))) for i in range(3) for t in (0, 0.5, 1.5, 2.5, 3.5)]


def _errors(path: str, keys: dict[str, Any]) -> list[float]:
    law = TabledPacketError(path=path, **keys)
    law.open_file(None)
    at = law.at_rate(6e6)
    return [at.probability(10 ** (db / 10), 8 * 1000, 1.0) for db in (-1, 0, 5, 10, 20)]


def _fades(path: str, keys: dict[str, Any]) -> list[float]:
    law = Ns3Trace(path=path, **keys)
    law.open_file(None)
    return list(law.gain)


def _gains(path: str, keys: dict[str, Any]) -> list[float]:
    found = MeasuredGains(path=path, **keys).link_gains(2, 2.4e9, 20e6, None)
    return [float(found.gains_to(found.step_at(t * 10**9), 0, (1,))[0]) for t in (0, 1, 2, 5)]


def _steps(path: str, keys: dict[str, Any]) -> list[float]:
    return list(Devices(path=path, step_s=1.0, **keys).relative([1.0] * 3, Streams(0), None))


# -- good files ---------------------------------------------------------------------------------

CSV_RATES = "time_s,mbps\n0,1\n1,2\n3,4\n"
# 1 Mb by 1 s, 5 Mb by 3 s, 13 Mb by 5 s, and then anew
RATES = [0.5, 1.5, 3 + 5 / 4]

OPPORTUNITIES = "".join(f"{ms}\n" for ms in range(1, 1001))  # 12 Mb/s
PENSIEVE = "100 9\n101 1\n103 2\n105 4\n"
SABRE = json.dumps(
    [
        {"duration_ms": 1000, "bandwidth_kbps": 1000},
        {"duration_ms": 2000, "bandwidth_kbps": 2000},
        {"duration_ms": 2000, "bandwidth_kbps": 4000},
    ],
    indent=1,
)

WAYS = [
    *(0, 0, 10, 0, 9, 9),  # at 0 s: nodes 0, 1 and 2
    *(5, 0, 10, 0, 9, 9),
    *(10, 0, 10, 0, 9, 9),
    *(10, 10, 10, 0, 9, 9),
]
"""Node 0 goes from (0, 0) to (10, 0) in 2 s, then to (10, 10) in 2 s; node 1 stands at (10, 0)."""
CSV_WAYS = "node,t_s,x_m,y_m\n0,0,0,0\n1,0,10,0\n0,2,10,0\n0,4,10,10\n"
BONN = "0 0 0 2 10 0 4 10 10\n0 10 0\n"
NS2 = """$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(1) set X_ 10.0
$node_(1) set Y_ 0.0
$ns_ at 0.0 "$node_(0) setdest 10.0 0.0 5.0"
$ns_ at 2.0 "$node_(0) setdest 10.0 10.0 5.0"
"""
FCD = """<?xml version="1.0" encoding="UTF-8"?>
<fcd-export>
<timestep time="0.00"><vehicle id="a" x="0" y="0"/><vehicle id="b" x="10" y="0"/></timestep>
<timestep time="2.00"><vehicle id="a" x="10" y="0"/></timestep>
<timestep time="4.00"><vehicle id="a" x="10" y="10"/></timestep>
</fcd-export>
"""
FCD_CSV = """timestep_time;vehicle_angle;vehicle_id;vehicle_x;vehicle_y
0.00;90;a;0;0
0.00;90;b;10;0
2.00;90;a;10;0
4.00;90;a;10;10
"""
ONE = "0 4 0 10 0 10\n0 0 0 0\n0 1 10 0\n2 0 10 0\n4 0 10 10\n"
GPS = "node,t_s,lat,lon\n0,0,47.5085,9.427966\n1,0,47.5085,9.527966\n1,2,47.5085,9.427966\n"
# 6,371,008.8 m times the angle at the centre, by the spherical law of cosines
GPS_M = [
    6371008.8
    * np.arccos(
        np.sin(np.radians(47.5085)) ** 2
        + np.cos(np.radians(47.5085)) ** 2 * np.cos(np.radians(0.1))
    ),
    0.0,
]

TIJ = "20 7 8\n40 7 8\n100 7 9\n"
SPANS = "7 8 0 40\n7 9 80 100\n"
CONN = "0 CONN 7 8 up\n40 CONN 7 8 down\n80 CONN 7 9 up\n100 CONN 7 9 down\n"
# how much longer: 7 and 8 from 0 to 40 s, 7 and 9 from 80 to 100 s, 8 and 9 never
LEFT = [*(40, 21, 1, 0, 0, 0), *(0, 0, 0, 0, 20, 1), *[0] * 6]

ON = "node,on_s,off_s\n0,0,1\n0,2,3\n1,0,2\n"
IS_ON = [*(1, 1, 0, 1, 0), *(1, 1, 1, 0, 0), *(1, 1, 1, 1, 1)]
PER = "rate,bytes,snr_db,per\n6e6,1000,0,1\n6e6,1000,10,0.01\n"
PERS = [1, 1, 0.1, 0.01, 0.01]
FAD = "0 -10 3\n0 -10 3\n"
FADES = [1, 0.1, 10**0.3]
STEPS = "node,step_s\n0,1\n1,2\n2,4\n"


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


LEVELS = np.array([[[0.0, g], [g, 0.0]] for g in (-60.0, -70.0)])
TIMES = np.array([0.0, 2.0])


@dataclass(frozen=True)
class Kind:
    """A good file, how it is played, and what it says."""

    text: str
    play: Play
    says: list[float]
    suffix: str = ".txt"
    keys: dict[str, Any] | None = None
    comment: str | None = "# a remark: ü\n"


KINDS: dict[str, Kind] = {
    "bandwidth": Kind(CSV_RATES, _rates, RATES, ".csv"),
    "opportunities": Kind(OPPORTUNITIES, _rates, [b / 12e6 for b in (5e5, 2e6, 1e7)]),
    "pensieve": Kind(PENSIEVE, _rates, RATES),
    "sabre": Kind(SABRE, _rates, RATES, ".json", comment=None),
    "movement": Kind(CSV_WAYS, _moves(Trace), WAYS, ".csv"),
    "gps": Kind(GPS, _distances, GPS_M, ".csv"),
    "bonnmotion": Kind(BONN, _moves(BonnMotion), WAYS),
    "ns2": Kind(NS2, _moves(Ns2), WAYS, ".tcl"),
    "sumo": Kind(FCD, _moves(Sumo), WAYS, ".xml", comment=None),
    "sumo csv": Kind(FCD_CSV, _moves(Sumo), WAYS, ".csv"),
    "the one": Kind(ONE, _moves(TheOne), WAYS),
    "contacts tij": Kind(TIJ, _contacts, LEFT),
    "contacts spans": Kind(SPANS, _contacts, LEFT),
    "contacts conn": Kind(CONN, _contacts, LEFT),
    "churn": Kind(ON, _churn, IS_ON, ".csv"),
    "packet errors": Kind(PER, _errors, PERS, ".csv"),
    "fades": Kind(FAD, _fades, FADES, ".fad", comment=None),
    "device steps": Kind(STEPS, _steps, [1, 0.5, 0.25], ".csv"),
}
GAINS = [-60.0, -60.0, -70.0, -70.0]


# -- damages and dialects -----------------------------------------------------------------------


def _of_any_text(kind: str, good: Kind) -> Iterator[tuple[str, bytes, str, Outcome]]:
    """Damages of bytes: (name, content, suffix, outcome)."""
    text, raw, end = good.text, good.text.encode(), good.suffix
    xml = kind == "sumo"
    yield "good", raw, end, SAME
    yield "with a mark of UTF-8", b"\xef\xbb\xbf" + raw, end, SAME
    yield "lines end with CR LF", text.replace("\n", "\r\n").encode(), end, SAME
    yield "lines end with CR", text.replace("\n", "\r").encode(), end, SAME
    yield "blank lines", ("\n \n" * (not xml) + text + "\n\n").encode(), end, SAME
    yield "no line end at the end", text.rstrip("\n").encode(), end, SAME
    yield "in UTF-16", text.encode("utf-16"), end, Refused() if xml else SAME
    yield (
        "in UTF-16 without a mark",
        text.encode("utf-16-le"),
        end,
        SAME if xml else Refused(says="UTF"),
    )
    yield "a zero within", raw[:9] + b"\0" + raw[9:], end, Refused()
    yield "not in UTF-8", raw + b"# \xfc\n", end, Refused()
    yield "packed", gzip.compress(raw), f"{end}.gz", SAME
    yield "packed, not called so", gzip.compress(raw), end, Refused(says=".gz")
    yield "called packed", raw, f"{end}.gz", Refused(says="read")
    yield "packed and cut", gzip.compress(raw)[:-9], f"{end}.gz", Refused(says="read")
    yield "empty", b"", end, Refused()
    yield "blank", b" \n\n", end, Refused()
    yield "bytes", bytes(range(128, 256)), end, Refused()
    yield "a picture", b"\x89PNG\r\n\x1a\n" + bytes(64), end, Refused()
    yield "a page", b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", end, Refused()
    if good.comment is not None:
        commented = good.comment + text.replace("\n", "\n" + good.comment, 1)
        yield "comments", commented.encode(), end, SAME
        yield "only a comment", good.comment.encode(), end, Refused()


def _swap(kind: str, old: str, new: str, count: int = 1) -> str:
    text = KINDS[kind].text
    assert old in text, (kind, old)
    return text.replace(old, new, count)


def _csv(kind: str, separator: str) -> str:
    return KINDS[kind].text.replace(",", separator)


def _of_tables() -> Iterator[tuple[str, str, str, Outcome]]:
    """Damages that every table with a header can have: (kind, name, text, outcome)."""
    for kind in ("bandwidth", "movement", "gps", "churn", "packet errors", "device steps"):
        text = KINDS[kind].text
        rows = [line.split(",") for line in text.splitlines()]
        head = text.partition("\n")[0]
        yield kind, "semicolons", _csv(kind, ";"), SAME
        yield kind, "tabs", _csv(kind, "\t"), SAME
        yield kind, "blanks", _csv(kind, " "), SAME
        yield kind, "blanks after commas", _csv(kind, ", "), SAME
        yield kind, "quotes", text.replace(head, '"' + head.replace(",", '","') + '"'), SAME
        turned = "\n".join(",".join(row[::-1]) for row in rows) + "\n"
        yield kind, "columns the other way round", turned, SAME
        more = "\n".join(",".join([*row, "0"]) for row in rows).replace(",0", ",note", 1) + "\n"
        if kind != "bandwidth":
            more = "\n".join([f"{head},note", *(",".join([*row, "x"]) for row in rows[1:])]) + "\n"
        else:
            more = "time_s,mbps,note\n0,1,x\n1,2,x\n3,4,x\n"
        yield kind, "a column more", more, SAME
        yield kind, "no header", text.partition("\n")[2], Refused(1, "names of the columns")
        yield kind, "only a header", f"{head}\n", Refused(says="rows")
        yield (
            kind,
            "a header unknown",
            text.replace(head, head.replace("_s", "")),
            (Refused(says="column") if "_s" in head else SAME),
        )
        yield kind, "a row cut", text + rows[1][0] + "\n", Refused(len(rows) + 1, "columns")
        yield (
            kind,
            "a row too long",
            text + ",".join([*rows[1], "1", "2"]),
            Refused(len(rows) + 1, "columns"),
        )
        for name, cell in (
            ("NaN", "nan"),
            ("infinite", "inf"),
            ("a word", "east"),
            ("a hexadecimal number", "0x10"),
            ("an underscore", "1_0"),
            ("empty", ""),
        ):
            bad = ",".join([*rows[1][:-1], cell])
            open_ended = kind == "churn" and name == "empty"
            yield (
                kind,
                f"{name} in a cell",
                "\n".join([head, bad, *map(",".join, rows[2:])]),
                Refused(4 if kind == "churn" and open_ended else 2)
                if not open_ended
                else Refused(),
            )
        commas = "\n".join([head, *(",".join(row) for row in rows[1:])]).replace(",", ";")
        commas = commas.replace("\n", "\n", 1).rstrip()[:-1] + commas.rstrip()[-1] + ",5"
        yield kind, "decimal commas", commas, Refused(len(rows), "point")


def _of_kinds() -> Iterator[tuple[str, str, str, dict[str, Any], Outcome]]:
    """Damages and dialects of one kind: (kind, name, text, keys, outcome)."""
    none: dict[str, Any] = {}
    # rates over time
    for name, text in (
        ("in ms and kbit/s", "time_ms,kbps\n0,1000\n1000,2000\n3000,4000\n"),
        ("in us and bit/s", "time_us;rate_bps\n0;1e6\n1e6;2e6\n3e6;4e6\n"),
        ("in ns and Gbit/s", "t_ns\tgbps\n0\t0.001\n1e9\t0.002\n3e9\t0.004\n"),
        ("units in brackets", "Time [s],Bandwidth [Mbit/s]\n0,1\n1,2\n3,4\n"),
        ("units in parentheses", "Timestamp (ms),Throughput (kbps)\n0,1000\n1000,2000\n3000,4000\n"),
        ("since 1970", "time_s,mbps\n1213084687,1\n1213084688,2\n1213084690,4\n"),
        ("ms since 1970", "time_ms,mbps\n1213084687000,1\n1213084688000,2\n1213084690000,4\n"),
        ("times of day", "time,mbps\n09:59:59,1\n10:00:00,2\n10:00:02,4\n"),
        ("dates", "time,mbps\n2024-05-01 09:59:59,1\n2024-05-01T10:00:00,2\n2024-05-01 10:00:02,4\n"),
        ("dates with zones", "timestamp,mbps\n2024-05-01T09:59:59Z,1\n2024-05-01T12:00:00+02:00,2\n"
         "2024-05-01T10:00:02Z,4\n"),
        ("before 0", "time_s,mbps\n-5,1\n-4,2\n-2,4\n"),
    ):  # fmt: skip
        yield "bandwidth", name, text, none, SAME
    for name, text, line in (
        ("times without a unit", "time,mbps\n0,1\n1,2\n", None),
        ("rates without a unit", "time_s,rate\n0,1\n1,2\n", None),
        ("bytes a second", "time_s,MBps\n0,1\n1,2\n", None),
        ("bytes spelt out", "time_s,Mbytes/s\n0,1\n1,2\n", None),
        ("bytes or bits", "time_s,MBPS\n0,1\n1,2\n", None),
        ("two rates", "time_s,rate_mbps,rate_kbps\n0,1,1000\n", None),
        ("ms called s", "time_s,mbps\n1213084687000,1\n1213084688000,2\n", 2),
        ("unsorted", "time_s,mbps\n1,1\n0,2\n", 3),
        ("a time twice", "time_s,mbps\n0,1\n0,2\n", 3),
        ("below 0", "time_s,mbps\n0,1\n1,-2\n", 3),
        ("0 throughout", "time_s,mbps\n0,0\n1,0\n", None),
        ("midnight passes", "time,mbps\n23:59:59,1\n00:00:01,2\n", 3),
        ("dates of another order", "time,mbps\n01.05.2024 10:00,1\n01.05.2024 10:01,2\n", 2),
    ):
        yield "bandwidth", name, text, none, Refused(line)
    yield "bandwidth", "begins later", CSV_RATES, {"start_s": 1.0}, [0.25, 1.0, 3.5]
    # packet opportunities
    slower = "".join(f"{ms}\n" for ms in range(2, 1001, 2))
    yield "opportunities", "one line", "1\n", none, SAME
    yield "opportunities", "zero first", "0\n1\n", none, [b / 24e6 for b in (5e5, 2e6, 1e7)]
    yield "opportunities", "two a ms", "1\n1\n", none, [b / 24e6 for b in (5e5, 2e6, 1e7)]
    for bin_s in (0.1, 0.03, 0.01, 1e-3, 7.0):
        yield "opportunities", f"averaged over {bin_s:g} s", OPPORTUNITIES, {"bin_s": bin_s}, SAME
        yield "opportunities", f"one line over {bin_s:g} s", "1\n", {"bin_s": bin_s}, SAME
    # 5e5 bits are 41 packets and 2/3 of the next, which leaves in the ms before its own
    whole = [84 - 1 + 2 / 3, 334 - 1 + 2 / 3, 1668 - 1 + 1 / 3]
    yield "opportunities", "every other ms", slower, none, [ms / 1e3 for ms in whole]
    for name, text, line in (
        ("unsorted", "1\n3\n2\n", 3),
        ("below 0", "-1\n3\n", 1),
        ("fractions", "1\n2.5\n", 2),
        ("exponents", "1\n1e3\n", 2),
        ("NaN", "1\nnan\n", 2),
        ("a word", "1\nend\n", 2),
        ("two columns later", "1\n2 3\n", 2),
        ("only 0", "0\n0\n", None),
        ("us", "1\n99999999999999\n", 2),
    ):
        yield "opportunities", name, text, none, Refused(line)
    for name, text, line in (
        ("unsorted", "100 9\n99 1\n", 2),
        ("a time twice", "100 9\n100 1\n", 2),
        ("NaN", "100 9\n101 nan\n", 2),
        ("below 0", "100 9\n101 -1\n", 2),
        ("three columns", "100 9 1\n101 1 1\n", 1),
        ("a column lost", "100 9\n101\n", 2),
        ("one row", "100 9\n", None),
        ("ms", "1213084687000 9\n1213084688000 9\n", 1),
        ("a word", "100 9\n101 fast\n", 2),
    ):
        yield "pensieve", name, text, none, Refused(line)
    yield "pensieve", "tabs", PENSIEVE.replace(" ", "\t"), none, SAME
    yield "pensieve", "from 0", "0 9\n1 1\n3 2\n5 4\n", none, SAME
    yield "sabre", "latencies", SABRE.replace("}", ', "latency_ms": 20}'), none, SAME
    twice = SABRE.replace('"duration_ms": 1000', '"duration_ms": 1, "duration_ms": 1000')
    yield "sabre", "a key twice", twice, none, Refused(says="stands twice")
    yield "sabre", "on one line", json.dumps(json.loads(SABRE)), none, SAME
    for name, old, new in (
        ("a rate lost", '"bandwidth_kbps": 4000', '"x": 4000'),
        ("a rate in text", '"bandwidth_kbps": 4000', '"bandwidth_kbps": "4000"'),
        ("below 0", "4000", "-4000"),
        ("NaN", "4000", "NaN"),
        ("no time", '"duration_ms": 1000', '"duration_ms": 0'),
        ("an object", "[", '{"a": ['),
        ("cut", "]", ""),
    ):
        yield "sabre", name, SABRE.replace(old, new, 1), none, Refused()
    # movements
    for name, text in (
        ("unsorted", "node,t_s,x_m,y_m\n0,4,10,10\n1,0,10,0\n0,0,0,0\n0,2,10,0\n"),
        ("in ms and km", "node,t_ms,x_km,y_km\n0,0,0,0\n1,0,.01,0\n0,2000,.01,0\n0,4000,.01,.01\n"),
        ("since 1970", CSV_WAYS.replace(",0,0,0", ",1213084687,0,0").replace("1,0,", "1,1213084687,")
         .replace("0,2,", "0,1213084689,").replace("0,4,", "0,1213084691,")),
        ("us since 1970", "node,t_us,x_m,y_m\n0,1213084687000000,0,0\n1,1213084687000000,10,0\n"
         "0,1213084689000000,10,0\n0,1213084691000000,10,10\n"),
        ("times of day", "node,time,x_m,y_m\n0,9:59:58,0,0\n1,9:59:58,10,0\n0,10:00:00,10,0\n"
         "0,10:00:02,10,10\n"),
        ("dates", "node,time,x_m,y_m\n0,2024-02-28T23:59:58,0,0\n1,2024-02-28T23:59:58,10,0\n"
         "0,2024-02-29T00:00:00,10,0\n0,2024-02-29T00:00:02,10,10\n"),
        ("names", "node,t_s,x_m,y_m\ncar,0,0,0\nbus,0,10,0\ncar,2,10,0\ncar,4,10,10\n"),
        ("ids of vehicles", "id,t_s,x_m,y_m\nv10,0,0,0\nv2,0,10,0\nv10,2,10,0\nv10,4,10,10\n"),
        ("nodes beyond", CSV_WAYS + "7,0,1,1\n"),
        ("nodes with points", "node,t_s,x_m,y_m\n0.0,0,0,0\n1.0,0,10,0\n0.0,2,10,0\n0.0,4,10,10\n"),
        ("ids in hexadecimal", "node,t_s,x_m,y_m\nfe,0,0,0\nb2,0,10,0\nfe,2,10,0\nfe,4,10,10\n"),
    ):  # fmt: skip
        yield "movement", name, text, none, SAME
    for name, text, line in (
        ("times without a unit", "node,t,x_m,y_m\n0,0,0,0\n", None),
        ("places without a unit", "node,t_s,x,y\n0,0,0,0\n", None),
        ("ms called s", "node,t_s,x_m,y_m\n0,1213084687000,0,0\n", 2),
        ("a time twice", CSV_WAYS + "0,4,1,1\n", 6),
        ("before 0", CSV_WAYS + "0,-1,1,1\n", 6),
        ("nodes from 1", "node,t_s,x_m,y_m\n1,0,0,0\n2,0,1,0\n3,0,2,0\n", None),
        ("nodes beyond alone", "node,t_s,x_m,y_m\n5,0,0,0\n6,0,1,0\n", None),
        ("a node without a name", "node,t_s,x_m,y_m\na,0,0,0\n,0,1,0\n", None),
        ("degrees called m", "node,t_s,x_m,y_m\n0,0,9.427966,47.508500\n1,0,9.527966,47.508500\n", None),
        ("degrees of a country", "node,t_s,x_m,y_m\n0,0,13.4050,52.5200\n1,0,11.5820,48.1351\n", None),
        ("midnight passes", "node,time,x_m,y_m\n0,23:59:59,0,0\n0,00:00:01,1,1\n", 3),
        ("a node below 0", "node,t_s,x_m,y_m\n-1,0,0,0\n1,0,1,1\n", None),
        ("half a node", "node,t_s,x_m,y_m\n0,0,0,0\n1.5,0,1,1\n", None),
        ("numbers and words", "node,t_s,x_m,y_m\n0,0,0,0\nsink,0,1,1\n", None),
        ("a node written twice", "node,t_s,x_m,y_m\n1,0,0,0\n01,1,1,1\n", None),
        ("two columns of a kind", "node,t_s,t_ms,x_m,y_m\n0,0,0,0,0\n", None),
    ):  # fmt: skip
        outcome: Outcome = Refused(line)
        if name == "two columns of a kind":  # the one that is asked for
            outcome = [*(0, 0, 8, 8, 9, 9)] * 4
        yield "movement", name, text, none, outcome
    yield "movement", "begins later", CSV_WAYS, {"start_s": 1.0}, [
        *(5, 0, 10, 0, 9, 9), *(10, 0, 10, 0, 9, 9), *(10, 5, 10, 0, 9, 9), *(10, 10, 10, 0, 9, 9)
    ]  # fmt: skip
    for name, head in (
        ("spelt out", "node,t_s,latitude,longitude"),
        ("capitals", "node,t_s,LAT,LON"),
        ("lng", "node,t_s,lat,lng"),
    ):
        yield "gps", name, GPS.replace("node,t_s,lat,lon", head), none, SAME
    yield "gps", "no such latitude", GPS.replace("47.5085", "97.5085"), none, Refused(says="97.5")
    yield "gps", "continents apart", GPS.replace("9.527966", "99.527966"), none, Refused(says="km")
    yield (
        "gps",
        "x, too",
        GPS.replace("\n", ",5\n").replace("lon,5", "lon,x_m"),
        none,
        Refused(says="x or y"),
    )
    yield "gps", "in radians", GPS.replace("lat,lon", "lat_rad,lon_rad"), none, Refused()
    # BonnMotion
    for name, text, keys, outcome in (
        ("in three dimensions", "0 0 0 7 2 10 0 7 4 10 10 7\n0 10 0 7\n", {"dimensions": 3}, SAME),
        ("since 1970", BONN.replace("0 0 0 2", "1e9 0 0 1000000002").replace("4 10 10", "1000000004 10 10")
         .replace("\n0 10", "\n1e9 10"), {}, SAME),
        ("tabs", BONN.replace(" ", "\t"), {}, SAME),
        ("lines beyond", BONN + "0 9 9\n0 3 3\n", {}, SAME),
        ("three dimensions, not said", "0 0 0 7 2 10 0 7\n", {}, Refused(1, "dimensions")),
        ("times fall", "0 0 0 2 10 0 1 0 0\n", {}, Refused(1)),
        ("before 0", "-1 0 0 2 10 0\n", {}, Refused()),
        ("NaN", "0 0 nan 2 10 0\n", {}, Refused(1)),
        ("cut", BONN[:-3], {}, Refused(2)),
        ("commas", BONN.replace(" ", ","), {}, Refused(1)),
        ("degrees", "0 9.427966 47.508500 2 9.428966 47.508500\n", {}, Refused(says="degrees")),
    ):  # fmt: skip
        yield "bonnmotion", name, text, keys, outcome
    # ns-2
    for name, text, outcome in (
        ("several a line", NS2.replace("0\n", "0 ; ", 3), SAME),
        ("all on a line", NS2.replace("\n", ";"), SAME),
        ("no blanks around semicolons", NS2.replace("\n", ";").replace("; ", ";"), SAME),
        ("nodes of another name", NS2.replace("$node_", "$mobile"), SAME),
        ("nodes with numbers at the end", NS2.replace("$node_(0)", "$n0").replace("$node_(1)", "$n1"),
         SAME),
        ("braces", NS2.replace('"$node', "{$node").replace('.0"', ".0}"), SAME),
        ("another simulator's name", NS2.replace("$ns_", "$ns"), SAME),
        ("two orders at a time", NS2 + '$ns_ at 9.0 "$node_(0) setdest 1 1 1; $node_(1) setdest 1 1 1"\n',
         SAME),
        ("a line goes on", NS2.replace("set X_ 10.0", "set X_ \\\n  10.0"), SAME),
        ("others than movements", "set val(nn) 2\n" + NS2 + "$ns_ initial_node_pos $node_(0) 20\n"
         '$node_(0) label "sink"\n$ns_ at 9.0 "$ns_ halt"\n$god_ set-dist 0 1 1\nproc end {} { exit 0 }\n'
         '$ns_ at $val(stop) "end"\n$ns_ at 3.0 "$node_(0) color red"\n', SAME),
        ("a comment behind a semicolon", NS2.replace("0\n", "0 ;# a start\n", 2), SAME),
        ("heights", NS2 + "$node_(0) set Z_ 30.0\n", SAME),
        ("a loop", "for {set i 0} {$i < 2} {incr i} {\n$node_($i) set X_ 0.0\n}\n" + NS2, Refused(1)),
        ("a variable", NS2.replace("X_ 10.0", "X_ $x"), Refused(3)),
        ("computed", NS2.replace("X_ 10.0", "X_ [expr 5 * 2]"), Refused(3)),
        ("a computed time", NS2.replace("at 2.0", "at [expr 1 + 1]"), Refused(6)),
        ("a variable for the node", NS2.replace("$node_(1) set X_", "$node_($i) set X_"), Refused(3)),
        ("misspelt", NS2.replace("setdest", "setdset", 1), Refused(5, "setdest")),
        ("no end of a quote", NS2[:-2], Refused(6)),
        ("no end of a brace", NS2 + "proc end {} {\n", Refused(7)),
        ("a number lost", NS2.replace(" 5.0\"", "\"", 1), Refused(5)),
        ("NaN", NS2.replace("10.0", "nan", 1), Refused(3)),
        ("no start", NS2.replace("$node_(1) set Y_ 0.0\n", ""), Refused(says="Y_")),
        ("before 0", NS2.replace("at 2.0", "at -2.0"), Refused(6)),
        ("speed below 0", NS2.replace("10.0 10.0 5.0", "10.0 10.0 -5.0"), Refused(6)),
        ("nodes from 1", NS2.replace("(1)", "(3)").replace("(0)", "(1)")
         + "$node_(2) set X_ 0\n$node_(2) set Y_ 0\n", Refused(says="from 0")),
        ("two names of a node", NS2.replace("$node_(0) set Y_", "$other(0) set Y_"), Refused(2)),
        ("degrees", NS2.replace("10.0 0.0 5.0", "9.4379 47.5085 5.0").replace("10.0 10.0 5.0",
         "9.4379 47.5088 5.0").replace("X_ 0.0", "X_ 9.4280").replace("Y_ 0.0", "Y_ 47.5085")
         .replace("X_ 10.0", "X_ 9.5280"), Refused(says="degrees")),
    ):  # fmt: skip
        yield "ns2", name, text, none, outcome
    # SUMO
    comment = '<!-- <fcd-output.geo value="true"/> -->\n<fcd-export>'
    for name, text, keys, outcome in (
        ("since 1970", _swap("sumo", 'time="', 'time="121308468', 3), {}, SAME),
        ("times of day", FCD.replace("0.00", "09:59:58").replace("2.00", "10:00:00")
         .replace("4.00", "10:00:02"), {}, SAME),
        ("days", FCD.replace("0.00", "1:23:59:58").replace("2.00", "2:00:00:00")
         .replace("4.00", "2:00:00:02.00"), {}, SAME),
        ("persons", FCD.replace('vehicle id="b"', 'person id="b"'), {}, SAME),
        ("containers", FCD.replace('vehicle id="b"', 'container id="b"'), {}, SAME),
        ("more later", FCD.replace("</fcd", '<timestep time="9"><vehicle id="c" x="9" y="9"/></timestep>'
         '<timestep time="10"><vehicle id="d" x="0" y="0"/></timestep></fcd'), {}, SAME),
        ("a time twice", FCD.replace("2.00", "0.00"), {}, Refused(4)),
        ("times fall", FCD.replace("4.00", "1.00"), {}, Refused(5)),
        ("a vehicle twice", FCD.replace('id="b"', 'id="a"'), {}, Refused(3)),
        ("NaN", FCD.replace('x="10"', 'x="nan"', 1), {}, Refused(3)),
        ("no place", FCD.replace('x="10" ', "", 1), {}, Refused(3)),
        ("a word for a time", FCD.replace("2.00", "soon"), {}, Refused(4)),
        ("cut", FCD[:-20], {}, Refused(5)),
        ("nobody", "<fcd-export><timestep time='0'/></fcd-export>", {}, Refused()),
        ("a network", "<net><edge id='a'/></net>", {}, Refused()),
        ("degrees, not said", FCD.replace('x="0" y="0"', 'x="9.427966" y="47.508500"').replace(
         'x="10" y="0"', 'x="9.427966" y="47.508500"').replace('x="10" y="10"',
         'x="9.527966" y="47.508500"'), {}, Refused(says="geo")),
        ("degrees out of range", FCD.replace("<fcd-export>", comment).replace('y="10"', 'y="100"'), {},
         Refused(says="latitude")),
        ("metres, said", FCD, {"geo": False}, SAME),
        ("nothing from there on", FCD, {"start_s": 99.0}, Refused()),
    ):  # fmt: skip
        yield "sumo", name, text, keys, outcome
    for name, text, outcome in (
        ("empty steps", FCD_CSV.replace("2.00;90;a", "1.00;;;;\n2.00;90;a"), SAME),
        ("commas", FCD_CSV.replace(";", ","), SAME),
        ("times of day", FCD_CSV.replace("0.00", "9:59:58").replace("2.00", "10:00:00")
         .replace("4.00", "10:00:02"), SAME),
        ("persons beside", "timestep_time;vehicle_id;vehicle_x;vehicle_y;person_id;person_x;person_y\n"
         "0;a;0;0;;;\n0;;;;b;10;0\n2;a;10;0;;;\n4;a;10;10;;;\n", SAME),
        ("times fall", FCD_CSV.replace("4.00", "1.00"), Refused(5)),
        ("a place lost", FCD_CSV.replace("a;10;10", "a;10;"), Refused(5)),
        ("NaN", FCD_CSV.replace("b;10", "b;nan"), Refused(3)),
        ("a vehicle twice", FCD_CSV.replace("b;10", "a;10"), Refused(3)),
        ("no ids", FCD_CSV.replace("vehicle_id", "vehicle"), Refused(says="vehicle_id")),
        ("no times", FCD_CSV.replace("timestep_time", "t"), Refused(says="timestep_time")),
        ("decimal commas", FCD_CSV.replace("10;10", "10,5;10"), Refused(5)),
        ("cut", FCD_CSV + "5.00;90;a\n", Refused(6)),
    ):  # fmt: skip
        yield "sumo csv", name, text, none, outcome
    # The ONE
    for name, text, outcome in (
        ("heights", "0 4 0 10 0 10 0 5\n0 0 0 0 1\n0 1 10 0 1\n2 0 10 0 1\n4 0 10 10 1\n", SAME),
        ("names", ONE.replace("0 0 0 0", "0 p1 0 0").replace("0 1 10", "0 p0 10").replace("2 0 ", "2 p1 ")
         .replace("\n4 0 ", "\n4 p1 "), SAME),
        ("begins later", "10 14 0 10 0 10\n10 0 0 0\n10 1 10 0\n12 0 10 0\n14 0 10 10\n", SAME),
        ("no first line", ONE.partition("\n")[2], Refused(1)),
        ("times fall", ONE + "3 1 0 0\n", Refused(6)),
        ("a time twice", ONE + "4 0 0 0\n", Refused(6)),
        ("out of bounds", ONE.replace("10 10\n", "10 11\n", 2), Refused(5)),
        ("NaN", ONE.replace("4 0 10 10", "4 0 nan 10"), Refused(5)),
        ("cut", ONE[:-5], Refused(5)),
        ("nodes from 1", ONE.replace("0 1 10", "0 2 10").replace("0 0 0 0\n", "0 1 0 0\n0 3 1 1\n")
         .replace("2 0 ", "2 1 ").replace("\n4 0 ", "\n4 1 "), Refused(says="from 0")),
        ("only bounds", ONE.partition("\n")[0] + "\n", Refused()),
    ):  # fmt: skip
        yield "the one", name, text, none, outcome
    # contacts
    ijt = {"columns": ("i", "j", "t")}
    for name, text, keys, outcome in (
        ("commas", TIJ.replace(" ", ","), {}, SAME),
        ("semicolons", TIJ.replace(" ", ";"), {}, SAME),
        ("tabs and classes", TIJ.replace(" ", "\t").replace("\n", "\tPC\tMP\n"), {}, SAME),
        ("a header", "t i j\n" + TIJ, {}, SAME),
        ("a header of another order", "source,target,timestamp\n7,8,20\n7,8,40\n7,9,100\n", {}, SAME),
        ("in ms", "id1,id2,time_ms\n7,8,20000\n7,8,40000\n7,9,100000\n", {}, SAME),
        ("since 1970", TIJ.replace("20 ", "1385982020 ").replace("40 ", "1385982040 ")
         .replace("100 ", "1385982100 "), {}, SAME),
        ("unsorted", "100 7 9\n20 7 8\n40 7 8\n", {}, SAME),
        ("twice", TIJ + "100 9 7\n", {}, SAME),
        ("i j t, said", "7 8 20\n7 8 40\n7 9 100\n", ijt, SAME),
        ("i j t, not said", "8 7 20\n7 8 40\n9 7 100\n", {}, Refused(says="columns")),
        ("i j t from small ids", "1 2 21\n1 3 45\n2 3 101\n", {}, Refused(says="columns")),
        ("i j t, unsorted", "7 8 101\n3 4 21\n9 1 63\n", {}, Refused(says="columns")),
        ("i j H:M:S", "7 8 10:00:20\n7 8 10:00:35\n", {}, Refused(says="columns")),
        ("one line of i j t", "7 8 33\n", {}, Refused(says="columns")),
        ("classes behind i j t", "7 8 20 PC MP\n7 8 40 PC MP\n", {}, Refused(says="columns")),
        ("a header unknown", "when who whom\n" + TIJ, {}, Refused(1, "columns")),
        ("a column lost", TIJ + "120 7\n", {}, Refused(4)),
        ("NaN", TIJ + "nan 7 8\n", {}, Refused(4)),
        ("with itself", TIJ + "120 7 7\n", {}, Refused(4)),
        ("times of day", "10:00:20 7 8\n10:00:40 7 8\n10:01:40 7 9\n", {}, SAME),
        ("midnight passes", "23:59:40 7 8\n00:00:00 7 8\n", {}, Refused(2)),
        ("ms called s", TIJ.replace(" 7", "000000000000 7"), {}, Refused(1)),
    ):  # fmt: skip
        yield "contacts tij", name, text, keys, outcome
    konect = "% sym positive\n% 2 3 3\n7 8 1 20\n7 8 1 40\n7 9 1 100\n"
    for name, text, keys, outcome in (
        ("Konect's", konect, {}, SAME),
        ("Konect's without its head", konect.partition("3 3\n")[2], {}, Refused(says="columns")),
        ("Konect's, dynamic", konect.replace("positive", "dynamic"), {}, Refused()),
        ("Konect's without times", "% sym unweighted\n7 8\n7 9\n", {}, Refused()),
        ("a header", "i,j,start,end\n7,8,0,40\n7,9,80,100\n", {}, SAME),
        ("a header of another order", "begin;stop;user1;user2\n0;40;7;8\n80;100;7;9\n", {}, SAME),
        ("times of day", "i,j,start,end\n7,8,9:59:00,9:59:40\n7,9,10:00:20,10:00:40\n", {}, SAME),
        ("of no length, too", SPANS + "7 8 90 90\n", {}, SAME),
        ("overlapping", "7 8 0 30\n8 7 20 40\n7 9 80 100\n", {}, SAME),
        ("ends first", SPANS + "7 8 50 45\n", {}, Refused(3)),
        ("only of no length", "7 8 5 5\n7 9 6 6\n", {}, Refused()),
        ("a fifth column later", SPANS + "7 8 120 130 x\n", {}, [*LEFT]),
        ("a column lost", SPANS + "7 8 120\n", {}, Refused(3)),
        ("NaN", SPANS + "7 8 120 nan\n", {}, Refused(3)),
    ):  # fmt: skip
        yield "contacts spans", name, text, keys, outcome
    for name, text, outcome in (
        ("tabs", CONN.replace(" ", "\t"), SAME),
        ("small letters", CONN.replace("CONN", "conn"), SAME),
        ("up twice", CONN.replace("40 CONN", "20 CONN 7 8 up\n40 CONN"), SAME),
        ("down before up", "0 CONN 8 9 down\n" + CONN, SAME),
        ("no end", CONN.replace("100 CONN 7 9 down", "100 CONN 8 7 down"), SAME),
        ("times fall", CONN.replace("80 CONN", "30 CONN"), Refused(3)),
        ("neither up nor down", CONN.replace("down", "gone"), Refused(2)),
        ("cut", CONN[:-6], Refused(4)),
        ("other events", CONN + "110 C M1 7 9 500\n", Refused(5)),
        ("NaN", CONN.replace("40 CONN", "nan CONN"), Refused(2)),
    ):
        yield "contacts conn", name, text, none, outcome
    # on and off
    for name, text, outcome in (
        ("unsorted", "node,on_s,off_s\n0,2,3\n1,0,2\n0,0,1\n", SAME),
        ("in ms", "node,on_ms,off_ms\n0,0,1000\n0,2000,3000\n1,0,2000\n", SAME),
        ("since 1970", "node,on_s,off_s\n0,1e9,1000000001\n0,1000000002,1000000003\n1,1e9,1000000002\n",
         SAME),
        ("times of day", "node,on_s,off_s\n0,9:59:59,10:00:00\n0,10:00:01,10:00:02\n1,9:59:59,10:00:01\n",
         SAME),
        ("overlapping", ON + "0,2.5,4\n", Refused(5)),
        ("of no length", ON + "1,5,5\n", Refused(5)),
        ("midnight passes", "node,on_s,off_s\n0,23:00:00,23:30:00\n0,00:30:00,01:00:00\n", Refused(3)),
        ("before 0", ON + "1,-2,-1\n", Refused(5)),
        ("nodes from 1", ON.replace("\n1", "\n3").replace("\n0", "\n1") + "2,0,1\n",
         Refused(says="from 0")),
        ("ms called s", ON + "1,1213084687000,1213084688000\n", Refused(5)),
    ):  # fmt: skip
        yield "churn", name, text, none, outcome
    # packet errors
    for name, text, outcome in (
        ("in Mbit/s", PER.replace("rate", "rate_mbps", 1).replace("6e6", "6"), SAME),
        ("any rate", PER.replace("6e6", ""), SAME),
        ("unsorted", "rate,bytes,snr_db,per\n6e6,1000,10,0.01\n6e6,1000,0,1\n", SAME),
        ("in percent", PER.replace("0,1\n", "0,100\n"), Refused(2)),
        ("rising", PER.replace("0.01", "0.5") + "6e6,1000,12,0.6\n", Refused(4)),
        ("a row twice", PER + "6e6,1000,10,0.01\n", Refused(4)),
        ("a size of 0", PER.replace("1000", "0", 1), Refused(2)),
        ("a rate of some rows", PER + ",1000,12,0\n", Refused(4)),
    ):
        yield "packet errors", name, text, none, outcome
    # fades
    for name, text, outcome in (
        ("tabs", FAD.replace(" ", "\t"), SAME),
        ("a sample lost", "0 -10 3\n0 -10\n", Refused(2)),
        ("NaN", "0 -10 nan\n0 -10 3\n", Refused(1)),
        ("a word", "0 -10 deep\n", Refused(1)),
        ("linear, not dB", "0 -10 1000\n", Refused(1)),
        ("commas", FAD.replace(" ", ","), Refused(1)),
        ("a comment", "# dB\n" + FAD, Refused(1)),
    ):
        yield "fades", name, text, none, outcome
    for name, text, outcome in (
        ("in ms", "node,step_ms\n0,1000\n1,2000\n2,4000\n", SAME),
        ("a node lost", "node,step_s\n0,1\n2,4\n", Refused(says="node 1")),
        ("a node twice", STEPS + "2,4\n", Refused(5)),
        ("0", STEPS.replace("2,4", "2,0"), Refused(4)),
        ("without a unit", STEPS.replace("step_s", "step"), Refused()),
    ):
        yield "device steps", name, text, none, outcome


def _of_arrays() -> Iterator[tuple[str, bytes, str, dict[str, Any], Outcome]]:
    """Damages of gains: (name, content, suffix, keys, outcome)."""
    good = _npz(gain_db=LEVELS, t_s=TIMES)
    nan = LEVELS.copy()
    nan[1, 0, 1] = np.nan
    for name, content, outcome in (
        ("good", good, SAME),
        ("since 1970", _npz(gain_db=LEVELS, t_s=TIMES + 1213084687), SAME),
        ("whole numbers", _npz(gain_db=LEVELS.astype(int), t_s=TIMES.astype(int)), SAME),
        ("in half precision", _npz(gain_db=LEVELS.astype("f4"), t_s=TIMES), SAME),
        ("more nodes", _npz(gain_db=np.pad(LEVELS, ((0, 0), (0, 1), (0, 1))), t_s=TIMES), SAME),
        ("columns first", _npz(gain_db=np.asfortranarray(LEVELS), t_s=TIMES), SAME),
        ("of big end", _npz(gain_db=LEVELS.astype(">f8"), t_s=TIMES), SAME),
        ("losses", _npz(gain_db=-LEVELS, t_s=TIMES), Refused(says="sign")),
        ("NaN", _npz(gain_db=nan, t_s=TIMES), Refused()),
        ("complex", _npz(gain_db=LEVELS + 0j, t_s=TIMES), Refused()),
        ("text", _npz(gain_db=LEVELS.astype(str), t_s=TIMES), Refused()),
        ("not square", _npz(gain_db=LEVELS[:, :1], t_s=TIMES), Refused()),
        ("fewer nodes", _npz(gain_db=LEVELS[:, :1, :1], t_s=TIMES), Refused(says="nodes")),
        ("fewer times", _npz(gain_db=LEVELS, t_s=TIMES[:1]), Refused(says="times")),
        ("no times", _npz(gain_db=LEVELS), Refused(says="t_s")),
        ("times fall", _npz(gain_db=LEVELS, t_s=TIMES[::-1]), Refused(says="ascend")),
        ("a time twice", _npz(gain_db=LEVELS, t_s=[0.0, 0.0]), Refused(says="ascend")),
        ("ms since 1970", _npz(gain_db=LEVELS, t_s=TIMES + 1.2e12), Refused(says="ms")),
        ("before 0", _npz(gain_db=LEVELS, t_s=TIMES - 1), Refused(says="start_s")),
        ("another carrier", _npz(gain_db=LEVELS, t_s=TIMES, carrier_hz=5e9), Refused()),
        ("called otherwise", _npz(gains=LEVELS, t_s=TIMES), Refused(says="gain_db")),
        ("cut", good[:-30], Refused()),
        ("empty", b"", Refused()),
        ("a text", b"gain_db\n-60\n", Refused()),
        ("of objects", _npz(gain_db=np.array([None, 1], object), t_s=TIMES), Refused()),
    ):
        yield name, content, ".npz", {}, outcome
    yield "begins later", good, ".npz", {"start_s": 1.5}, [-60.0, -70.0, -70.0, -70.0]


def cases() -> list[Case]:
    """All of them."""
    found = [
        Case(kind, name, content, suffix, good.keys or {}, outcome)
        for kind, good in KINDS.items()
        for name, content, suffix, outcome in _of_any_text(kind, good)
    ]
    found += [
        Case(kind, name, text.encode(), KINDS[kind].suffix, {}, outcome)
        for kind, name, text, outcome in _of_tables()
    ]
    found += [
        Case(kind, name, text.encode(), KINDS[kind].suffix, keys, outcome)
        for kind, name, text, keys, outcome in _of_kinds()
    ]
    found += [
        Case("gains", name, content, suffix, keys, outcome)
        for name, content, suffix, keys, outcome in _of_arrays()
    ]
    return found


def play(case: Case, folder: Path) -> list[float]:
    """Play a written case and return its numbers."""
    path = folder / f"file{case.suffix}"
    path.write_bytes(case.content)
    by = _gains if case.kind == "gains" else KINDS[case.kind].play
    return by(str(path), case.keys)


def expected(case: Case) -> list[float]:
    """Return the numbers of a case that is not refused."""
    if isinstance(case.outcome, list):
        return case.outcome
    return GAINS if case.kind == "gains" else KINDS[case.kind].says
