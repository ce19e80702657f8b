"""Columns of a run folder's tables: messages, metrics, traffic and graph.

Four of `messages` count bits or what makes them, and are not to be confused:

- `bits`: offered. What the sender asked for: the payload, without headers, whether or not any of
  it was ever sent. One message to several receivers has a row, with all of its bits, for each.
- `attempts`: packet transmissions, as far as the link plays them one by one; 0: it never started.
- `bits_transmitted`: what this message put on the air or through its sender's wire: every attempt,
  retransmissions and the link's headers included, an attempt that was cut short by the part that
  was sent. A broadcast is one transmission: all of it stands in one of its rows, 0 in the others,
  so that a sum over rows counts it once. Where the medium access rule gives means (`csma`), it is
  the mean number of transmissions.
- Bits delivered have no column: they are `bits` of the rows whose `outcome` is `delivered`.
"""

from typing import Literal

from netsim.recording.parquet_parts import Column

OUTCOMES = (
    "delivered",
    "partial",
    "outage",
    "retries",
    "deadline",
    "collision",
    "busy",
    "off",
    "asleep",
)
"""How a message can end. All but the first two and `deadline` count as lost."""

ADDED_OUTCOMES = frozenset({"asleep"})
"""Outcomes that enter a fingerprint only where they occur, so that older fingerprints hold."""

WAKES = ("woke", "skipped")
"""What can become of a wake-up."""

MESSAGE_COLUMNS = (
    Column("t_sent_s", "time"),
    Column("t_done_s", "time"),
    Column("src", "id"),
    Column("dst", "id"),
    Column("kind", "word"),
    Column("bits", "count"),
    Column("attempts", "count"),
    Column("packets_lost", "count"),
    Column("snr_db", "real"),
    Column("outcome", "word"),
    Column("round", "id"),
    Column("age_s", "real"),
    Column("bits_transmitted", "count"),
)
LATER_COLUMNS = frozenset({"bits_transmitted"})
"""Columns that enter no fingerprint, so that older fingerprints hold."""

METRICS = frozenset({"loss"})
"""Metrics of the simulator's own, beside those that begin with `accuracy` or `malicious_`."""

RECORDED = "recorded"
"""The stage of what algorithms record."""

METRIC_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id"),
    Column("metric", "word"),
    Column("stage", "word"),
    Column("value", "real"),
    Column("steps", "count"),
    Column("bits_transmitted", "count"),
    Column("energy_j", "real"),
)
TRAFFIC_COLUMNS = (
    Column("t_s", "time"),
    Column("bits_transmitted", "count"),
    Column("airtime_s", "real"),
)
"""What the whole network, servers included, had spent by each evaluation."""

GRAPH_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id"),
    Column("peer", "id"),
    Column("weight", "real"),
    Column("what", "word"),
)
WEIGHTS: tuple[Literal["applied"], Literal["learned"]] = ("applied", "learned")
"""What a weight of `graph/` is: what the node mixed with, or what its method believes."""

WHY_MISSING = {
    "messages": "[run] log_messages is false, or the run has not ended",
    "wakes": "[run] log_messages is false, or the run has not ended",
    "traffic": "it was recorded before traffic was counted",
}
"""Why a run folder may lack a table."""
