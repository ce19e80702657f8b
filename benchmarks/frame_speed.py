"""Speed of 802.11 frame by frame as networks grow, over a loop through all stations a frame.

    python benchmarks/frame_speed.py [--nodes 12 40 100 1000] [--pairs 3] [--json FILE]

Nodes in a disc, each of which hears five others on average, push models of 35 frames. netsim finds
in one vector operation whose medium is busy and who locks to a frame; the baseline of the same run
asks station by station. Both play the same messages by turns, and their event logs must be equal.
A ratio is the baseline's CPU time over netsim's, of playing alone; the mean of pairs with its
standard error. More than 500 nodes need $NETSIM_DATA.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _timing import save, show
from csma_growth import HEARD, radius_m

sys.path.insert(0, str(Path(__file__).parent / "ns3"))

import _netsim
from _replay import mean_se

from netsim.channels.mac.csma import PREAMBLE_SNR
from netsim.links.radio.mac.frame_level import sampler
from netsim.links.radio.mac.frame_level.frame import Frame
from netsim.links.radio.mac.frame_level.receiver import Lock, Receivers

RATE_HZ = 0.04
"""Wake-ups of a node."""
MESSAGES = 60
"""Models sent in a network, some."""

COLUMNS = {
    "nodes": ",",
    "frames/CPU s": ",.0f",
    "station by station": ",.0f",
    "ratio": ".2f",
    "ratio ±": ".2f",
    "equal logs": "",
}


class StationByStation(Receivers):
    """As `Receivers`, with a loop through all nodes in place of every vector operation."""

    def changes(self) -> list[int]:
        return [node for node in range(len(self.busy)) if self.change_of(node)]

    def lock_receivers(self, frame: Frame) -> None:
        others = [other for other in self._on_air if other is not frame]
        self._sensed[frame] = None
        self._add_up()
        for node in range(len(self.busy)):
            if self._occupied[node] or not frame.noticed[node]:
                continue
            snr = float(frame.heard.snr[node])
            noise = self._noise + sum(float(other.heard.snr[node]) for other in others)
            if (others or self._noise) and snr < PREAMBLE_SNR * noise:
                continue
            if self._listens(node, frame):
                overlapped = any(bool(other.noticed[node]) for other in others)
                self._locks[node] = Lock(frame, snr, overlapped)
                self._occupied[node] = True
                frame.listeners.append(node)

    def end_arrival(self, frame: Frame, now_ns: int) -> dict[int, bool]:
        through = super().end_arrival(frame, now_ns)
        self._add_up()
        return through

    def _add_up(self) -> None:
        """Sum of the SNRs that each node senses."""
        self._energy = np.zeros(len(self.busy))
        for node in range(len(self.busy)):
            for frame in self._sensed:
                self._energy[node] += frame.heard.energy[node]


@contextmanager
def played_by(receivers: type[Receivers]) -> Iterator[None]:
    """Let a class find who receives and whose medium is busy."""
    before = sampler.Receivers
    sampler.Receivers = receivers  # type: ignore[misc]
    try:
        yield
    finally:
        sampler.Receivers = before  # type: ignore[misc]


def played(nodes: int, seed: int, receivers: type[Receivers]) -> tuple[str, float, float]:
    """A network: the hash of its event log, models that came in, and CPU time [s]."""
    lasting_s = MESSAGES / (nodes * RATE_HZ * HEARD)
    tables = _netsim.pushes(nodes, radius_m(nodes, seed), RATE_HZ, lasting_s, seed, "packet")
    with tempfile.TemporaryDirectory() as scratch, played_by(receivers):
        summary, cpu_s = _netsim.play(tables, Path(scratch) / "run")
    return summary["event_log_sha256"], summary["messages"]["delivered"], cpu_s


def cell(nodes: int, pairs: int) -> dict[str, Any]:
    """One size of network: means over pairs."""
    models, ratios, ours_s, base_s, equal = 0.0, [], 0.0, 0.0, True
    for seed in range(pairs):
        by_vector = played(nodes, seed, Receivers)
        by_loop = played(nodes, seed, StationByStation)
        equal = equal and by_vector[0] == by_loop[0]
        ratios.append(by_loop[2] / by_vector[2])
        models, ours_s, base_s = models + by_vector[1], ours_s + by_vector[2], base_s + by_loop[2]
    frames = models * 35
    ratio, error = mean_se(ratios)
    return {
        "nodes": nodes,
        "frames/CPU s": frames / ours_s,
        "station by station": frames / base_s,
        "ratio": ratio,
        "ratio ±": error,
        "equal logs": str(equal),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[12, 40, 100, 1000])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    played(min(options.nodes), 0, Receivers)  # imports
    cells = [cell(nodes, options.pairs) for nodes in options.nodes]
    show(cells, COLUMNS)
    save(options.json, cells)


if __name__ == "__main__":
    main()
