"""Units: virtual time as integer nanoseconds, powers in watt, ratios linear.

The virtual clock counts whole nanoseconds, so that times which should be equal (the end of a
local step and the slot that follows it) are equal, and ties are broken by rule instead of by
rounding. Everything a user sees is in seconds.
"""

import math
from typing import TypeGuard

NS_PER_S = 1_000_000_000
BITS_PER_MEGABYTE = 8e6
BOLTZMANN_J_PER_K = 1.380649e-23
FOREVER_NS = 1 << 62
"""Beyond any horizon: 146 years."""
SPEED_OF_LIGHT_M_PER_S = 299_792_458.0
_LARGEST_DB = 3080.0

_OF_SUFFIXES = {
    "_j_per_bit_m2": "J/bit/m^2",
    "_j_per_bit": "J/bit",
    "m_per_s": "m/s",
    "flops_per_s": "flop/s",
    "_per_db": "1/dB",
    "mbps": "Mbit/s",
    "_bps": "bit/s",
    "_bits": "bit",
    "_bytes": "byte",
    "_dbm": "dBm",
    "_db": "dB",
    "_mhz": "MHz",
    "_hz": "Hz",
    "_deg": "deg",
    "_gb": "GB",
    "_s": "s",
    "_m": "m",
    "_w": "W",
    "_j": "J",
    "_k": "K",
}
"""Units by the end of a key's name; an ending that ends with another one comes before it."""


def unit_of(key: str) -> str:
    """The unit that a key's name ends with, such as `bit/s` of `rate_bps`; empty: none."""
    return without_unit(key)[1]


def without_unit(key: str) -> tuple[str, str]:
    """A key's name without its unit, and the unit: `rate` and `bit/s` of `rate_bps`."""
    for end, unit in _OF_SUFFIXES.items():
        if key.endswith(end):
            return key.removesuffix(end).rstrip("_") or key, unit
    return key, ""


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_ns(seconds: float) -> int:
    """Seconds as whole nanoseconds, rounded to the nearest; at most `FOREVER_NS` either way."""
    ns = seconds * NS_PER_S
    if -FOREVER_NS < ns < FOREVER_NS:
        return round(ns)
    return FOREVER_NS if ns > 0 else -FOREVER_NS


def to_s(nanoseconds: int) -> float:
    """Whole nanoseconds as seconds."""
    return nanoseconds / NS_PER_S


def db_to_linear(db: float) -> float:
    """A ratio in dB as a linear ratio; infinity for one that no float holds."""
    return float(10.0 ** (db / 10.0)) if db < _LARGEST_DB else math.inf


def linear_to_db(ratio: float) -> float:
    """A linear ratio in dB; minus infinity for zero."""
    return 10.0 * math.log10(ratio) if ratio > 0 else -math.inf


def dbm_to_w(dbm: float) -> float:
    """A power in dBm as watt."""
    return db_to_linear(dbm) * 1e-3


def w_to_dbm(watt: float) -> float:
    """A power in watt as dBm."""
    return linear_to_db(watt * 1e3)
