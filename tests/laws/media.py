"""Every kind of medium access, with each of its switches and choices, as keys of `[radio]`."""

from netsim.registry import family

from .networks import axes

FAMILY = family("netsim.channels.mac")
MEDIA = [{k: v for k, v in table.items() if k != "slot_s"} for table in axes()["radio.mac"]]
"""Tables `[radio.mac]`."""


def named(mac):
    """A table in few words, for the names of tests."""
    return "-".join(str(v if k == "kind" else f"{k}={v}") for k, v in mac.items())


def of_cells(mac):
    """The base stations that an air of this medium has."""
    return (0,) if FAMILY[mac["kind"]].has_base_stations else ()


def radio(mac, **keys):
    """Keys of `[radio]`: packets of 1,000 bits at 1 Mb/s, never lost but to others."""
    return {
        "mac": mac,
        "packet_payload_bytes": 125,
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_error": {"kind": "fixed", "loss": 0.0},
        "threshold_db": 5.0,
        "ttl_s": 1e3,
        "arq": {"kind": "unlimited"},
    } | keys


def to_one(e, senders, packets, at_ns=1_000_000):
    """Every sender sends a message to node 0 at one instant."""
    for node in senders:
        e.send(node, 0, 1_000 * packets, at_ns=at_ns)
