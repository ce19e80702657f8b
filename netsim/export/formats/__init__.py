"""Runs in the formats of other programs; one format a file, by its name.

A module states `SUFFIX`, the end of its files' names, and one of two functions:

- `write(layout, path)`: what a run was played on. Such a format is one that a scenario can name,
  too, so that what is written here can be played again.
- `write_run(folder, path)`: what happened in a run, from its folder alone. Tables of a run that it
  shows where they are there are named in `TABLES`; the command tells which of them a run lacks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.table import Radio
from netsim.recording import run_folder
from netsim.recording.schema import WHY_MISSING
from netsim.recording.whole_files import require_place, written_whole
from netsim.registry import did_you_mean, public_modules
from netsim.rng import Streams
from netsim.topology.mobility import HighTrack, StraightTrack, Track
from netsim.units import to_s

_FINEST_M = 0.01
"""Distance from a straight line below which nothing is remarked on [m]."""

_MOST_SAMPLES = 10_000_000
"""A file may hold so many samples, each of a node at one time."""

_MOST_BYTES = 1 << 29
"""A file of gains may hold so much: what a scenario reads."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """Positions of a run's nodes, and their links.

    Attributes
    ----------
    name : str
        Of the scenario.
    nodes : int
    horizon_ns : int
        How long the run lasts.
    step_ns : int
        Time between samples, in formats that sample.
    positions_m : (N, 2) or (N, 3) float64 or None
        At the start; None where nodes have no places.
    track : Track or None
        How they move; None: nobody does.
    radio : Radio or None
    budget : LinkBudget or None
    tx_power_dbm : tuple of float
        One a node; empty without a radio.
    streams : Streams
        The randomness of the run.
    heights_m : tuple of float
        Of each node; empty: distances are those along the ground.
    links_change : bool
        Whether `[[changes]]` alter them in mid-run; places stay what they are.
    remarks : list of str
        Sentences on what of the run a file does not hold; formats add them as they write it, and
        `netsim export` prints them below the file's name.
    read : set of str
        `step_ns`, once something has been sampled.
    """

    name: str
    nodes: int
    horizon_ns: int
    step_ns: int
    positions_m: NDArray[np.float64] | None
    track: Track | None
    radio: Radio | None
    budget: LinkBudget | None
    tx_power_dbm: tuple[float, ...]
    streams: Streams
    heights_m: tuple[float, ...] = ()
    links_change: bool = False
    remarks: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def samples_ns(self) -> range:
        """Times at which formats that sample do so: 0, the step, twice the step, ...

        Raises
        ------
        ScenarioError
            If they are too many.
        """
        self.read.add("step_ns")
        found = range(0, self.horizon_ns + 1, self.step_ns)
        if len(found) * self.nodes > _MOST_SAMPLES:
            enough_s = 2 * to_s(self.horizon_ns) * self.nodes / _MOST_SAMPLES
            raise ScenarioError(
                f"--step {to_s(self.step_ns):g}: {len(found):,} samples of {self.nodes:,} nodes "
                f"are too many; write --step {enough_s:.2g} or more"
            )
        return found

    def instants_ns(self) -> list[int]:
        """Times at which places are sampled: those of `samples_ns`, and the horizon."""
        return sorted({*self.samples_ns(), self.horizon_ns})

    def knots(self) -> Iterator[list[tuple[int, float, float]]]:
        """The way of each node up to the horizon, as (time [ns], x [m], y [m]).

        It is exact where it is made of straight legs, else sampled, and a remark says how far a
        straight line between two samples is off. Another one says that heights are left out.

        Raises
        ------
        ScenarioError
            If nodes have no places, or places in space.
        """
        if self.positions_m is None:
            raise ScenarioError(
                f"{self.name}: nodes have no places, and this format is one of places"
            )
        if self.positions_m.shape[1] > 2:
            raise ScenarioError(
                f"{self.name}: nodes are in space, and this format is one of places on a plane; "
                '"gains" has the gain of every link'
            )
        if self.heights_m or isinstance(self.track, HighTrack):
            self.remarks.append("it has places on the plane; heights of nodes are left out")
        if self.track is not None and not isinstance(self.track, StraightTrack):
            self.remark_on_chords(self.track)
        for node in range(self.nodes):
            if self.track is None:
                x, y = self.positions_m[node].tolist()
                yield [(0, x, y)]
            elif isinstance(self.track, StraightTrack):
                turns = self.track.knots(node, self.horizon_ns)
                yield [(t, float(x), float(y)) for t, x, y in turns]
            else:
                places = [(t, self.track.at([node], t)[0]) for t in self.instants_ns()]
                yield [(t, float(x), float(y)) for t, (x, y) in places]

    def remark_on_chords(self, track: Track) -> None:
        """Say how far nodes are from the straight line between two samples.

        Straight legs are farthest from it at their turns, others about half a step after a sample.
        """
        every, off_m, sampled_ns = range(self.nodes), 0.0, self.instants_ns()
        if isinstance(track, StraightTrack):
            for node in every:
                t_ns, *ways_m = np.array(track.knots(node, self.horizon_ns)).T
                samples_m = [np.interp(sampled_ns, t_ns, way_m) for way_m in ways_m]
                drawn_m = [np.interp(t_ns, sampled_ns, sample_m) for sample_m in samples_m]
                off_m = max(off_m, float(np.hypot(*np.subtract(drawn_m, ways_m)).max()))
        else:
            for begin_ns, end_ns in pairwise(sampled_ns):
                ends_m = track.at(every, begin_ns) + track.at(every, end_ns)
                apart_m = track.at(every, (begin_ns + end_ns) // 2) - ends_m / 2
                off_m = max(off_m, float(np.hypot(*apart_m.T).max()))
        if off_m >= _FINEST_M:
            self.remarks.append(
                f"it has places every {to_s(self.step_ns):g} s (--step), and nodes are up to "
                f"{off_m:.2g} m from the straight line between two of them"
            )

    def on_air(self) -> tuple[Radio, LinkBudget]:
        """The radio and its link budget.

        Raises
        ------
        ScenarioError
            If the run has none, or not the same to its end.
        """
        if self.radio is None or self.budget is None:
            raise ScenarioError(f"{self.name}: has no [radio], and this format is one of radios")
        self.require_lasting_links()
        return self.radio, self.budget

    def require_lasting_links(self) -> None:
        """Refuse a run whose links are not the same to its end.

        Raises
        ------
        ScenarioError
            If `[[changes]]` alter them.
        """
        if self.links_change:
            raise ScenarioError(
                f"{self.name}: its [[changes]] alter links in mid-run, which no format of links "
                "tells; export a run without them"
            )


def formats() -> dict[str, ModuleType]:
    """Every format by name, in alphabetical order."""
    return {name.replace("_", "-"): module for name, module in public_modules(__name__).items()}


def write(layout: Layout, wanted: str, path: Path | None) -> Path:
    """Write one format.

    Parameters
    ----------
    wanted : str
        The format's name.
    path : Path or None
        None: NAME and the format's ending, in the working folder.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    ScenarioError
        If there is no such format, the run has not what it holds, or the file is there already.
    """
    return _written(wanted, path, layout.name, lambda module, to: module.write(layout, to))


def write_run(folder: Path, wanted: str, path: Path | None) -> Path:
    """Write one format of what happened in a run, by the folder's name; see `write`.

    Parameters
    ----------
    folder : Path
        That of the run.
    wanted, path
        As of `write`.
    """
    name = folder.resolve().name
    return _written(wanted, path, name, lambda module, to: module.write_run(folder, to))


def lacking(folder: Path, wanted: str) -> list[str]:
    """Sentences on tables that a format would show, its `TABLES`, and a run does not have.

    Parameters
    ----------
    folder : Path
        That of the run.
    wanted : str
        The format.
    """
    return [
        f"it shows no {table}, which the run does not have: {WHY_MISSING[table]}"
        for table in getattr(format_named(wanted), "TABLES", ())
        if not run_folder.has(folder, table)
    ]


def format_named(wanted: str) -> ModuleType:
    """The module of a format.

    Raises
    ------
    ScenarioError
        If there is none of that name.
    """
    known = formats()
    module = known.get(wanted.replace("_", "-"))
    if module is None:
        raise ScenarioError(
            f"--as {wanted}: no such format; there are {', '.join(known)}"
            + did_you_mean(wanted, known)
        )
    return module


def tells_what_happened(wanted: str) -> bool:
    """Return whether a format is written by `write_run`.

    Raises
    ------
    ScenarioError
        If there is none of that name.
    """
    return hasattr(format_named(wanted), "write_run")


def _written(
    wanted: str, path: Path | None, name: str, write: Callable[[ModuleType, Path], None]
) -> Path:
    """Write a format to a new file.

    Parameters
    ----------
    path : Path or None
        None: a file called so, with the format's ending.
    write : callable
        (module, path)
    """
    module = format_named(wanted)
    path = Path(f"{name}{module.SUFFIX}") if path is None else path
    require_place(path, "--out")
    if path.exists():
        raise ScenarioError(f"--out {path}: is there already; name another file")
    try:
        with written_whole(path) as partial:
            write(module, partial)
    except OSError as error:
        raise ScenarioError(f"--out {path}: can't be written: {error.strerror}") from error
    return path


def seconds(time_ns: int) -> str:
    """A time in s that reads back as the same nanosecond."""
    return repr(time_ns / 1e9)


def sampled_gains(layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean gain of every link over time: path loss and shadowing, without fading.

    Returns
    -------
    t_s : (T,) float64
        0 alone where nothing changes.
    gain_db : (T, N, N) float64
        From the row's node to the column's; -inf where nothing is heard, and on the diagonal.

    Raises
    ------
    ScenarioError
        If the run has no radio, or there are too many samples.
    """
    radio, budget = layout.on_air()
    times = list(layout.samples_ns()) if budget.mean_snr.moving else [0]
    n = layout.nodes
    if 8 * len(times) * n * n > _MOST_BYTES:
        raise ScenarioError(
            f"{layout.name}: {len(times)} matrices of {n} x {n} gains are more than "
            f"{_MOST_BYTES >> 20} MiB; sample less often with --step"
        )
    gain_db = np.full((len(times), n, n), -np.inf)
    for k, time_ns in enumerate(times):
        for src in range(n):
            others = [dst for dst in range(n) if dst != src]
            snr = budget.mean_snr.snr(src, others, time_ns)
            with np.errstate(divide="ignore"):
                gain_db[k, src, others] = 10.0 * np.log10(snr)
        gain_db[k] += radio.noise_dbm - np.array(layout.tx_power_dbm)[:, None]
    if gain_db.max() > 0.0:
        _, sender, receiver = np.unravel_index(gain_db.argmax(), gain_db.shape)
        layout.remarks.append(
            f"the gain from node {sender} to node {receiver} is up to {gain_db.max():.3g} dB, more "
            "than the 0 dB that a scenario can read"
        )
    return np.array(times) / 1e9, gain_db
