"""Columns of a run folder's tables: messages, metrics and graph."""

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
)
METRIC_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id"),
    Column("metric", "word"),
    Column("stage", "word"),
    Column("value", "real"),
    Column("steps", "count"),
    Column("bits_sent", "count"),
    Column("energy_j", "real"),
)
GRAPH_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id"),
    Column("peer", "id"),
    Column("weight", "real"),
)
