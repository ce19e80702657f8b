"""What a run folder's tables hold: the columns of messages, metrics and graph."""

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
"""Those that a fingerprint knows only of where they occur: older ones had been taken without."""

WAKES = ("woke", "skipped")
"""What becomes of a wake-up."""

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
