"""Suggest the meaning of a key or a number that netsim reads otherwise.

Units belong to keys and numbers stand without quotes, so `"5 ms"` and `latency_ms = 5` are
answered with what to write instead; a key that a table does not know with the nearest one.
"""

import math
import re
from typing import Any

from netsim.registry import did_you_mean
from netsim.scenario.draft import KeyPath
from netsim.scenario.schema import at, properties
from netsim.units import is_number

_TO_SI: dict[str, dict[str, float]] = {
    "s": {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "sec": 1, "seconds": 1, "min": 60, "h": 3600},
    "hz": {"khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    "bps": {"kbps": 1e3, "mbps": 1e6, "gbps": 1e9},
    "bits": {"bytes": 8, "kbit": 1e3, "kb": 8e3, "mb": 8e6},
    "m": {"km": 1e3, "cm": 1e-2, "mm": 1e-3},
    "w": {"mw": 1e-3, "kw": 1e3},
    "j": {"mj": 1e-3, "kj": 1e3},
    "dbm": {},
    "db": {},
}
"""The units of keys, and what people write instead."""


_MEANT = {
    **dict.fromkeys(("lr", "eta", "step_size"), ("learning_rate",)),
    **dict.fromkeys(("batch", "bs", "minibatch", "minibatch_size"), ("batch_size",)),
    **dict.fromkeys(("epochs", "local_epoch", "e"), ("local_epochs", "local_steps")),
    **dict.fromkeys(("steps", "tau", "iterations"), ("local_steps", "local_epochs")),
    **dict.fromkeys(("alpha", "beta", "concentration", "dir_alpha"), ("alpha", "beta")),
    **dict.fromkeys(("wd", "l2"), ("weight_decay",)),
    **dict.fromkeys(("opt", "optim"), ("optimizer",)),
    **dict.fromkeys(("layers", "units", "hidden_sizes", "hidden_dim"), ("hidden",)),
    **dict.fromkeys(("clients", "num_clients", "n", "num_nodes", "n_nodes"), ("count",)),
    **dict.fromkeys(("duration", "time", "sim_time", "t_end", "simulation_time"), ("horizon_s",)),
    **dict.fromkeys(("bw", "channel_width"), ("bandwidth_hz",)),
    **dict.fromkeys(("frequency", "freq", "fc", "frequency_hz"), ("carrier_hz",)),
    **dict.fromkeys(("power", "ptx", "power_dbm", "tx_power"), ("tx_power_dbm",)),
    **dict.fromkeys(("noise_figure", "nf"), ("noise_figure_db",)),
    **dict.fromkeys(
        ("bandwidth", "throughput", "bitrate", "capacity"), ("rate_bps", "bandwidth_hz")
    ),
    **dict.fromkeys(("delay", "ping", "rtt", "delay_s"), ("latency_s",)),
    **dict.fromkeys(("drop", "plr", "loss_rate", "packet_loss", "drop_rate"), ("loss",)),
    **dict.fromkeys(
        ("interval", "period", "interval_s", "period_s"), ("interval_s", "period_s", "rate_hz")
    ),
    **dict.fromkeys(("range", "range_m", "distance_m", "area_m"), ("radius_m",)),
    **dict.fromkeys(("val", "val_split", "validation_split"), ("validation",)),
    **dict.fromkeys(("timeout", "deadline"), ("timeout_s", "deadline_s", "ttl_s")),
}
"""Keys by what papers and other programs call them."""


def number_in_text(path: KeyPath, value: Any) -> str:
    """A remedy for `"5 ms"` and `"5"`: units belong to the key, numbers stand without quotes."""
    match = re.fullmatch(r"\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([A-Za-zµ]*)\s*", str(value))
    if not isinstance(value, str) or match is None or not path:
        return ""
    key, number, unit = str(path[-1]), match[1], match[2].lower().replace("µ", "u")
    own = key.rpartition("_")[2]
    factor = 1.0 if unit in ("", own) else _TO_SI.get(own, {}).get(unit)
    if factor is None:
        return f"; the unit is part of the key ({own})" if own in _TO_SI else ""
    try:
        converted = float(number) * factor
    except ValueError:
        return ""
    if not math.isfinite(converted):
        return ""
    remedy = f"; write {key} = {converted:.12g}"
    return remedy + (f" (the unit is part of the key: {own})" if unit else "")


def unknown_key(path: KeyPath, raw: Any, schema: dict[str, Any]) -> str:
    """Why a key is refused, and what was probably meant.

    Parameters
    ----------
    path : tuple of (str or int)
        Of the key that its table does not know.
    raw : dict
        The whole scenario as written.
    schema : dict
        Its JSON Schema.

    Returns
    -------
    str
        What is wrong, then one of: the unit that belongs to the key, the nearest known key, the
        table that knows it, all keys of this table.
    """
    key, value = str(path[-1]), at(raw, path)
    known = properties(path[:-1], raw, schema)
    what = "is not a key that netsim knows" if len(path) == 1 else "is not a key of this table"
    stem, _, unit = key.rpartition("_")
    for candidate, about in known.items():
        if key in about.get("formerly", ()):
            return f"is the former name of {candidate}, which is stated, too: leave it out"
        own_stem, _, own_unit = candidate.rpartition("_")
        if own_unit not in _TO_SI:
            continue
        if own_stem == key:
            return f"{what}; its unit is part of the key: write {candidate}"
        if own_stem == stem and unit != own_unit:
            factor = _TO_SI[own_unit].get(unit)
            amount = f" = {value * factor:.12g}" if factor and is_number(value) else ""
            return f"{what}; the unit of this quantity is {own_unit}: write {candidate}{amount}"
    meant = [name for name in _MEANT.get(key.lower(), ()) if name != key]
    hint = next((f'; did you mean "{name}"?' for name in meant if name in known), "")
    if not hint:
        tables = ((name, _table_of(name, raw, schema)) for name in meant)
        hint = next((f'; did you mean "{name}", {where}?' for name, where in tables if where), "")
    hint = hint or did_you_mean(key, known)
    if not hint:
        home = _home(key, path[:-1], raw, schema)
        hint = f"; it belongs {home}" if home else f"; it has {', '.join(sorted(known))}"
    return what + hint


def _table_of(name: str, raw: Any, schema: dict[str, Any]) -> str:
    """Place where a key belongs: at the top of the file, in a table, or nowhere."""
    top = properties((), raw, schema)
    if name in top:
        return "at the top of the file"
    return next((f"in [{t}]" for t in top if name in properties((t,), raw, schema)), "")


def _home(key: str, here: KeyPath, raw: Any, schema: dict[str, Any]) -> str:
    """Name the places of a key that exists elsewhere; any component's table has a `kind`."""
    top = properties((), raw, schema)
    if here and key in top and not isinstance(raw.get(key), dict):
        return f"at the top of the file, before the first [table]: {key}"
    if key == "kind":
        return ""
    found = []
    for table in top:
        value = raw.get(table)
        if isinstance(value, dict) and (table,) != here:
            if key in properties((table,), raw, schema):
                found.append(f"in [{table}]")
                continue
            found += [
                f"in [{table}.{inner}]"
                for inner, deep in value.items()
                if isinstance(deep, dict) and key in properties((table, inner), raw, schema)
            ]
    return " or ".join(found)
