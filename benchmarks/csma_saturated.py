"""Saturated 802.11 senders that all hear each other: a fixed point, message level, frame by frame.

    python benchmarks/csma_saturated.py [--senders 5 20 32 50 100] [--mbps 6 54] [--seeds 2]
        [--json FILE]

Payload of packets of 1,500 + 40 bytes without capture, for packets that are repeated until they
arrive and for seven attempts at each. The fixed point is Bianchi's with the retry limit, found by a
program of its own (`tests/laws/bianchi.py`). Message by message 100 s are played at 6 Mb/s and 10 s
at 54; frame by frame a fifth of that for each seed, whose standard error is shown.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _timing import save, show

sys.path.insert(0, str(Path(__file__).parent / "ns3"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from _replay import mean_se

from tests.laws.bianchi import throughput_bps
from tests.laws.test_levels import saturated_bps
from tests.links.radio.conftest import in_the_air

PAYLOAD_BITS, HEADER_BITS = 12_000, 320
SECONDS = {6: 100.0, 54: 10.0}
LIMITS = {"unlimited": None, "7 attempts": 7}

COLUMNS = {
    "Mb/s": "",
    "ARQ": "",
    "senders": "",
    "fixed point": ".3f",
    "message level": ".3f",
    "frames": ".3f",
    "frames ±": ".3f",
    "over fixed point %": "+.1f",
    "over frames %": "+.1f",
}


def cell(senders: int, mbps: int, arq: str, seeds: int) -> dict[str, Any]:
    """Payload [Mb/s] that so many senders get through."""
    frame_s = 20e-6 + (PAYLOAD_BITS + HEADER_BITS) / (mbps * 1e6)
    limit, seconds = LIMITS[arq], SECONDS[mbps]
    fixed = throughput_bps(senders, frame_s, PAYLOAD_BITS, mbps, limit) / 1e6
    message = saturated_bps(in_the_air, senders, mbps, limit, "message", seconds) / 1e6
    frames, error = mean_se(
        [
            saturated_bps(in_the_air, senders, mbps, limit, "packet", seconds / 5, seed) / 1e6
            for seed in range(seeds)
        ]
    )
    return {
        "Mb/s": mbps,
        "ARQ": arq,
        "senders": senders,
        "fixed point": fixed,
        "message level": message,
        "frames": frames,
        "frames ±": error,
        "over fixed point %": 100.0 * (message / fixed - 1.0),
        "over frames %": 100.0 * (message / frames - 1.0),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--senders", type=int, nargs="+", default=[5, 20, 32, 50, 100])
    parser.add_argument("--mbps", type=int, nargs="+", choices=SECONDS, default=list(SECONDS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    cells = [
        cell(senders, mbps, arq, options.seeds)
        for mbps in options.mbps
        for arq in LIMITS
        for senders in options.senders
    ]
    show(cells, COLUMNS)
    save(options.json, cells)


if __name__ == "__main__":
    main()
