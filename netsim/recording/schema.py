"""Columns of a run folder's tables, and which numbers and words each may hold.

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

from math import inf
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
    "withdrawn",
)
"""Ways a message can end. All but the first two, `deadline` and `withdrawn` count as lost."""

ADDED_OUTCOMES = frozenset({"asleep", "withdrawn"})
"""Outcomes that enter a fingerprint only where they occur, so that older fingerprints hold."""

WAKES = ("woke", "skipped")
"""Possible fates of a wake-up."""

TRAIN, COMPUTE, TRANSMIT, RECEIVE, OFF = "train", "compute", "transmit", "receive", "off"
STATES = (TRAIN, COMPUTE, TRANSMIT, RECEIVE, OFF)
"""States of a node in the timeline."""

MESSAGE_COLUMNS = (
    Column("t_sent_s", "time"),
    Column("t_done_s", "time"),
    Column("src", "id", is_node=True),
    Column("dst", "id", is_node=True),
    Column("kind", "word"),
    Column("bits", "count"),
    Column("attempts", "count"),
    Column("packets_lost", "count"),
    Column("snr_db", "real", -inf, is_unknown=True),
    Column("outcome", "word", words=OUTCOMES),
    Column("round", "id", -1),
    Column("age_s", "real", is_unknown=True),
    Column("bits_transmitted", "count", is_later=True),
)
LATER_COLUMNS = frozenset({"bits_transmitted"})
"""Columns that enter no fingerprint, so that older fingerprints hold."""

METRICS = frozenset({"loss"})
"""Metrics of the simulator's own, beside those that begin with `accuracy` or `malicious_`."""

RECORDED = "recorded"
"""The stage of what algorithms record."""

METRIC_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id", is_node=True),
    Column("metric", "word"),
    Column("stage", "word"),
    Column("value", "real", -inf, is_unknown=True),
    Column("steps", "count"),
    Column("bits_transmitted", "count", is_later=True),
    Column("energy_j", "real"),
)
TRAFFIC_COLUMNS = (
    Column("t_s", "time", ascends=True),
    Column("bits_transmitted", "count"),
    Column("airtime_s", "real"),
)
"""Spending of the whole network, servers included, by each evaluation."""

WEIGHTS: tuple[Literal["applied"], Literal["learned"]] = ("applied", "learned")
"""Kinds of weights in `graph/`: shares of a mixture, or what the node's method believes."""

GRAPH_COLUMNS = (
    Column("t_s", "time"),
    Column("node", "id", is_node=True),
    Column("peer", "id", is_node=True),
    Column("weight", "real", -inf, is_unknown=True),
    Column("what", "word", words=WEIGHTS, is_later=True),
)
FATES = ("used", "late", "superseded", "too_old", "ignored", "not_used", "unread")
"""Fates of a message that arrived with values.

- `used`: a job of the receiver read one of its values.
- `late`: it came after what waited for it had ended (the time-out of a request, the end of a
  round's exchange), and nothing used it afterwards.
- `superseded`: a later message of the same sender took its place before anything had read it.
- `too_old`: the algorithm got it at an age over its `max_age_s`.
- `ignored`: the receiver is malicious and takes no notice.
- `not_used`: the algorithm got it and gave none of its values to a job, or all with weight 0.
- `unread`: it still waited when the run ended.
"""

USE_COLUMNS = (
    Column("message", "count"),
    Column("t_sent_s", "time"),
    Column("t_arrived_s", "time"),
    Column("src", "id", is_node=True),
    Column("dst", "id", is_node=True),
    Column("kind", "word"),
    Column("fate", "word", words=FATES),
    Column("t_used_s", "real", is_unknown=True),
    Column("age_at_use_s", "real", is_unknown=True),
    Column("used_by", "word"),
    Column("weight", "real", -inf, is_unknown=True),
)
"""Of `uses/`; `message` is the number of the row of `messages/`, from 0."""

OTHER_EVENT_COLUMNS = (
    Column("messages_before", "count"),
    Column("t_s", "time"),
    Column("node", "id", is_node=True),
    Column("what", "word", words=(*WAKES, "on", "off", "job")),
    Column("count", "count"),
)
INTERVAL_COLUMNS = (
    Column("t_begin_s", "time"),
    Column("t_end_s", "time"),
    Column("node", "id", is_node=True),
    Column("what", "word", words=STATES),
    Column("busy_s", "time"),
)
"""`busy_s`: for how long of it the radio was at work, where senders take turns or back off."""

HOP_COLUMNS = (
    Column("t_begin_s", "time"),
    Column("t_end_s", "time"),
    Column("relay", "id", is_node=True),
    Column("to", "id", is_node=True),
    Column("src", "id", is_node=True),
    Column("dst", "id", is_node=True),
    Column("t_sent_s", "time"),
    Column("bits", "count"),
    Column("outcome", "word", words=OUTCOMES),
    Column("attempts", "count"),
    Column("bits_transmitted", "count"),
)
"""Of `hops/`: one hop of a message by relays, from `relay` to `to`; `src`, `dst` and `t_sent_s` are
those of its row in `messages/`, in which attempts and bits of all hops are summed up."""

TABLES = {
    "messages": MESSAGE_COLUMNS,
    "wakes": OTHER_EVENT_COLUMNS,
    "metrics": METRIC_COLUMNS,
    "traffic": TRAFFIC_COLUMNS,
    "graph": GRAPH_COLUMNS,
    "uses": USE_COLUMNS,
    "intervals": INTERVAL_COLUMNS,
    "hops": HOP_COLUMNS,
}
"""The tables of a run folder that are written in parts."""

IN_ORDER = {
    "messages": ("t_sent_s", "t_done_s"),
    "uses": ("t_sent_s", "t_arrived_s"),
    "intervals": ("t_begin_s", "t_end_s"),
    "hops": ("t_begin_s", "t_end_s"),
}
"""Columns of a table of which the second is never less than the first."""

NODE_COLUMNS = (
    Column("node", "id"),
    Column("role", "word", is_later=True),
    Column("malicious", "flag", is_later=True),
    Column("speed", "real", is_later=True),
    Column("step_s", "real", is_later=True),
    Column("train_samples", "count", is_later=True),
    Column("validation_samples", "count", is_later=True),
    Column("test_samples", "count", is_later=True),
    Column("class_counts", "counts", is_later=True),
    Column("parameters", "count", is_later=True),
    Column("x_m", "real", -inf, is_later=True),
    Column("y_m", "real", -inf, is_later=True),
    Column("z_m", "real", -inf, is_later=True),
    Column("tx_power_dbm", "real", -inf, is_later=True),
    Column("battery_j", "real", is_unknown=True, is_later=True),
    Column("sleep_period_s", "real", is_unknown=True, is_later=True),
    Column("sleep_awake_s", "real", is_unknown=True, is_later=True),
    Column("sleep_offset_s", "real", -inf, is_unknown=True, is_later=True),
)
"""Of `nodes.parquet`, a row a node in order of id; which there are depends on the scenario."""

WHY_MISSING = {
    "messages": "[run] log_messages is false, or the run has not ended",
    "wakes": "[run] log_messages is false, or the run has not ended",
    "traffic": "it was recorded before traffic was counted",
    "uses": "[run] log_messages is false, or it was recorded before uses were",
}
"""Why a run folder may lack a table."""
