"""Remarks on what is possible in a world and most often a slip."""

from __future__ import annotations

import math

import numpy as np
import torch

from netsim.errors import one_line
from netsim.links.radio.table import Radio
from netsim.scenario import plausibility, unread_keys
from netsim.units import linear_to_db
from netsim.world.builder import World

MOST_SNR_DB = 100.0
"""Receivers clip far below; what has more is most often a distance, a power or a bandwidth."""
MOST_BITS_PER_S_HZ = 15.0
"""One antenna with 4096-QAM carries twelve."""
FASTEST_M_PER_S = 350.0
"""About the speed of sound."""
Range = tuple[float, float]

_NAMED = 5
"""So many classes are named."""
_TWICE, _TWICE_FROM = 0.1, 10
"""Share and number of test samples that are training samples, too, which are remarked on."""
_LOOKED_AT = 200
"""So many senders are looked at."""


def remarks(world: World) -> list[str]:
    """Collect the remarks for whoever plays the world or reads the numbers of a run.

    The one list of it: of former names of keys, of units, of links, of files by time, and of the
    columns of a table.
    """
    columns = world.samples.columns
    found = [
        *world.scenario.former_names,
        *plausibility.remarks(world.scenario),
        *unread_keys.remarks(world.scenario),
        *_of_preset(world),
        *(world.fidelity.remarks() if world.fidelity else ()),
        *_of_path_loss(world),
        *_of_radio(world),
        *_of_movement(world),
        *world.notes.remarks(world.scenario.horizon_s),
        *(f"[data] {text}" for text in (columns.sentences() if columns else ())),
        *_of_classes(world),
        *_of_rows_twice(world),
        *_of_initial_models(world),
    ]
    return list(dict.fromkeys(map(one_line, found)))


def _of_initial_models(world: World) -> list[str]:
    """Warn of nodes that are to start apart from each other, and do not."""
    if world.scenario.training.common_initial:
        return []
    rows: dict[str, list[torch.Tensor]] = {}
    for architecture, row in zip(world.architectures, world.initial, strict=True):
        rows.setdefault(architecture.name, []).append(row)
    return [
        f"[training] common_initial = false has no effect: model {name} begins with the same "
        "values at each call"
        for name, of in rows.items()
        if len(of) > 1 and torch.equal(of[0], of[1])
    ]


def _is_known_set(world: World) -> bool:
    """Return whether the data are a set that ships, in which what is odd is no slip."""
    is_shipped = type(world.scenario.data).__module__.startswith("netsim.data.sets.")
    return is_shipped and world.samples.columns is None


def _of_rows_twice(world: World) -> list[str]:
    """Warn of test samples that are training samples, too: a model need only remember them."""
    samples = world.samples
    if _is_known_set(world) or not len(samples.test):
        return []
    x, y = samples.x.reshape(len(samples.x), -1), samples.y.reshape(len(samples.y), -1)
    trained, tested = (
        [hash(x[row].tobytes() + y[row].tobytes()) for row in rows]
        for rows in (samples.train, samples.test)
    )
    known = set(trained)
    twice = sum(one in known for one in tested)
    if twice < max(_TWICE_FROM, _TWICE * len(tested)):
        return []
    return [
        f"[data]: {twice:,} of {len(tested):,} test samples are among the training samples, with "
        "the same inputs and target: are files or rows there twice?"
    ]


def _of_classes(world: World) -> list[str]:
    """Warn of classes that no training sample has: outputs of a model that learn nothing."""
    samples = world.samples
    if _is_known_set(world):
        return []
    if not world.shards.task.has_classes or samples.y.ndim != 1:
        return []
    trained, tested = (
        np.bincount(samples.y[rows], minlength=samples.num_classes)
        for rows in (samples.train, samples.test)
    )
    if not trained.any():
        return []
    if np.count_nonzero(trained) == 1:
        only = samples.class_names[int(trained.argmax())]
        return [f"[data]: every training sample is of class {only}: there is nothing to tell apart"]
    lacking = [samples.class_names[c] for c in np.flatnonzero(trained == 0)]
    if not lacking:
        return []
    more = len(lacking) - _NAMED
    shown = ", ".join(lacking[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    lost = int(tested[trained == 0].sum())
    consequence = (
        f", and {lost:,} test samples are of them, which no model can learn" if lost else ""
    )
    are_numbers = all(name.isdigit() for name in samples.class_names)
    ask = ": are classes numbered from 0, without gaps?" if are_numbers else ""
    return [
        f"[data]: {len(lacking)} of {samples.num_classes} classes have no training sample "
        f"({shown}){consequence}{ask}"
    ]


def _of_movement(world: World) -> list[str]:
    """Warn of a file that moves a node faster than sound."""
    track = world.track
    laws = world.scenario.per_node("mobility")
    if track is None or not any("path" in type(law).model_fields for law in laws):
        return []
    if track.fastest_m_per_s <= FASTEST_M_PER_S:
        return []
    return [
        f"[mobility]: the file moves a node at {track.fastest_m_per_s:,.0f} m/s, faster than "
        "sound: are its times in ms, or its places in another unit than m?"
    ]


def _of_preset(world: World) -> list[str]:
    """List the keys of the radio that the scenario sets beside its preset."""
    radio = world.scenario.radio
    found = [] if radio is None else radio.beside_preset
    if radio is None or not found:
        return []
    return [
        f'[radio.preset] kind = "{radio.preset.kind}": {", ".join(found)} '
        f"{'is' if len(found) == 1 else 'are'} the scenario's own, not the preset's"
    ]


def _of_path_loss(world: World) -> list[str]:
    """Of a carrier and of antennas for which the source of the path loss states nothing."""
    radio = world.scenario.radio
    if radio is None or world.positions_m is None:
        return []
    law, found = radio.path_loss, []
    if law.fitted_hz is not None:
        least_hz, most_hz = law.fitted_hz
        if not least_hz <= radio.carrier_hz <= most_hz:
            found.append(
                f'[radio] carrier_hz = {radio.carrier_hz:g}: path_loss "{law.kind}" is stated for '
                f"{least_hz / 1e9:g} to {most_hz / 1e9:g} GHz; elsewhere it is an extrapolation"
            )
    if law.fitted_ends_m is not None:
        found += _of_heights(world, radio, law.fitted_ends_m)
    return found


def _of_heights(world: World, radio: Radio, ends_m: tuple[Range, Range]) -> list[str]:
    """Of the first link whose ends, where they start, are higher or lower than the law's."""
    heights_m, law = world.heights_m, radio.path_loss
    if heights_m:
        links = [(i, j) for i, others in enumerate(world.neighbours) for j in others]
        where = [(f"[nodes] height_m of {i} and {j}", heights_m[i], heights_m[j]) for i, j in links]
    else:
        keys = (getattr(law, key) for key in ("base_height_m", "device_height_m"))
        where = [("[radio.path_loss] base_height_m and device_height_m", *keys)]
    for name, one_m, other_m in where:
        both_m = max(one_m, other_m), min(one_m, other_m)
        if not all(a <= m <= b for m, (a, b) in zip(both_m, ends_m, strict=True)):
            higher, lower = (f"{a:g} to {b:g} m" if a < b else f"{a:g} m" for a, b in ends_m)
            return [
                f'{name} = {one_m:g} and {other_m:g}: path_loss "{law.kind}" is stated for one '
                f"end at {higher} and one at {lower}; elsewhere it is an extrapolation"
            ]
    return []


def _of_radio(world: World) -> list[str]:
    """Warn of packets too long or never spoilt, the strongest link's SNR, and its rate."""
    radio, budget = world.scenario.radio, world.budget
    if radio is None or budget is None:
        return []
    best, pair = budget.strongest_link(world.neighbours[:_LOOKED_AT])
    found = []
    packet_bytes = radio.packet_payload_bytes + radio.packet_header_bytes
    most_bytes = radio.rate.longest_bytes
    if most_bytes is not None and packet_bytes > most_bytes:
        found.append(
            f"[radio]: packets of {packet_bytes} bytes, payload and header, are longer than the "
            f"{most_bytes} that packets of {radio.rate.kind} can have: set "
            f"packet_payload_bytes to {most_bytes - radio.packet_header_bytes} at most"
        )
    mac = radio.mac
    meets = mac.reserves or (mac.interferes and not mac.contends)
    if meets and not radio.packet_error.by_snr:
        found.append(
            f'[radio.packet_error] kind = "{radio.packet_error.kind}" is the same whatever the '
            f'SNR: under mac "{mac.kind}" senders at one instant spoil nothing of each '
            "other's packets"
        )
    best_db = linear_to_db(best)
    if best_db > MOST_SNR_DB:
        found.append(
            f"[radio]: from node {pair[0]} to node {pair[1]} the mean SNR is {best_db:,.0f} dB, "
            f"more than {MOST_SNR_DB:g} dB: is a power, a distance, carrier_hz or bandwidth_hz in "
            "another unit?"
        )
    if radio.rate.adapts or found:
        return found
    snr = min(best, 10 ** (MOST_SNR_DB / 10))
    rate_bps = radio.rate.bits_per_s(snr, radio.bandwidth_hz)
    stated = rate_bps == radio.rate.bits_per_s(snr / 2, radio.bandwidth_hz)  # not by the SNR
    per_hz = rate_bps / radio.bandwidth_hz
    if stated and math.isfinite(per_hz) and per_hz > MOST_BITS_PER_S_HZ:
        found.append(
            f"[radio]: {rate_bps:,.6g} bit/s in bandwidth_hz = {radio.bandwidth_hz:g} is "
            f"{per_hz:,.3g} bit/s/Hz, more than {MOST_BITS_PER_S_HZ:g}: is one of them in another "
            "unit?"
        )
    return found
