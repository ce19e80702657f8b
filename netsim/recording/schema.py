"""Columns of a run folder's tables, and which numbers and words each may hold.

A row is one class: its fields, in order, are the columns, each annotated with its `Column`. A new
column is a line there, and one where its value is known. Times are given in ns and written in s.

Four of `messages` count bits or what makes them, and are not to be confused:

- `bits`: offered. What the sender asked for: the payload, without headers, whether or not any of
  it was ever sent. One message to several receivers has a row, with all of its bits, for each.
- `attempts`: packet transmissions, as far as the link plays them one by one; 0: it never started.
  With RTS (`csma`) an exchange is one, also where the packet does not follow.
- `bits_transmitted`: what this message put on the air or through its sender's wire: every attempt,
  retransmissions and the link's headers included, an attempt that was cut short by the part that
  was sent. A broadcast is one transmission: all of it stands in one of its rows, 0 in the others,
  so that a sum over rows counts it once. Where the medium access rule gives means (`csma`), it is
  the mean number of transmissions.
- Bits delivered have no column: they are `bits` of the rows whose `outcome` is `delivered`.
"""

import re
from functools import cache
from math import inf
from typing import Annotated, Literal, NamedTuple

from netsim.recording.parquet_parts import Column, columns_of

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
"""Ways a message can end."""

ARRIVED = ("delivered", "partial")
"""Outcomes of messages that were handed to their receiver."""
LOST = tuple(word for word in OUTCOMES if word not in (*ARRIVED, "deadline", "withdrawn"))
"""Outcomes that count as lost: `deadline` is expired, `withdrawn` its sender's own doing."""
ADDED_OUTCOMES = frozenset({"asleep", "withdrawn"})
"""Outcomes that enter a fingerprint only where they occur, so that older fingerprints hold."""

WAKES = ("woke", "skipped")
"""Possible fates of a wake-up."""

TRAIN, COMPUTE, TRANSMIT, RECEIVE, OFF = "train", "compute", "transmit", "receive", "off"
STATES = (TRAIN, COMPUTE, TRANSMIT, RECEIVE, OFF)
"""States of a node in the timeline."""


class MessageRow(NamedTuple):
    """Row of `messages/`: a message to one receiver that has ended.

    Attributes
    ----------
    t_sent_ns, t_done_ns : int
        When the algorithm sent it, and when it was delivered or given up.
    src, dst : int
    kind : str
        The message class's name.
    bits : int
        Bits offered: its payload.
    attempts : int
        Packet transmissions in all; 0 if none ever began.
    packets_lost : int
    snr_db : float or None
        Attempt-weighted linear mean in dB; None if there was no attempt.
    outcome : str
        One of `OUTCOMES`.
    round : int
        The sender's wake-up number.
    age_s : float or None
        Age at delivery; None if it was not delivered.
    bits_transmitted : int
        With headers and retransmissions; of a broadcast in one of its rows only.
    """

    t_sent_ns: Annotated[int, Column("t_sent_s", "time")]
    t_done_ns: Annotated[int, Column("t_done_s", "time")]
    src: Annotated[int, Column("src", "id", is_node=True)]
    dst: Annotated[int, Column("dst", "id", is_node=True)]
    kind: Annotated[str, Column("kind", "word")]
    bits: Annotated[int, Column("bits", "count")]
    attempts: Annotated[int, Column("attempts", "count")]
    packets_lost: Annotated[int, Column("packets_lost", "count")]
    snr_db: Annotated[float | None, Column("snr_db", "real", -inf, is_unknown=True)]
    outcome: Annotated[str, Column("outcome", "word", words=OUTCOMES)]
    round: Annotated[int, Column("round", "id", -1)]
    age_s: Annotated[float | None, Column("age_s", "real", is_unknown=True)]
    bits_transmitted: Annotated[int, Column("bits_transmitted", "count", is_later=True)] = 0


METRICS = frozenset({"loss"})
"""Metrics of the simulator's own, beside those that begin with `accuracy` or `malicious_`."""

RECORDED = "recorded"
"""The stage of what algorithms record."""


REPORTED = "reported"
"""The stage of what nodes have recorded last, where that is the run's main metric."""


def wrong_record_name(name: str) -> str | None:
    """Return what is wrong with a name for a recorded number; None: nothing is."""
    if not name.isidentifier():
        return f"{name!r} is no name of letters, digits and underscores"
    if name in METRICS or name.startswith(("malicious_", "accuracy")):
        return f"{name} is a metric of the simulator's own"
    return None


@cache
def wrong_stage_name(stage: str) -> str | None:
    """Return what is wrong with a name for a stage of a model; None: nothing is."""
    if not re.fullmatch(r"\w[\w .+-]*", stage):
        return f"{stage!r} is no name of letters, digits, underscores, blanks, dots, + and -"
    if stage in (RECORDED, REPORTED):
        return f'"{stage}" is the stage of numbers that nodes record'
    return None


class MetricRow(NamedTuple):
    """Row of `metrics/`: a number measured on one node's published model.

    Where several stages of a metric are measured at one time, the one written last is the
    headline in `summary.json` and in the figures.

    Attributes
    ----------
    t_ns, node : int
    metric : str
        For instance `accuracy`, `accuracy_all_classes`, `accuracy_validation`, `loss`.
    stage : str
        Which model was measured: `received`, `mixed`, `trained`.
    value : float
    steps, bits_transmitted : int
        Local steps and bits that this node has transmitted since the start.
    energy_j : float
        Energy that it has drawn since the start [J].
    """

    t_ns: Annotated[int, Column("t_s", "time")]
    node: Annotated[int, Column("node", "id", is_node=True)]
    metric: Annotated[str, Column("metric", "word")]
    stage: Annotated[str, Column("stage", "word")]
    value: Annotated[float, Column("value", "real", -inf, is_unknown=True)]
    steps: Annotated[int, Column("steps", "count")]
    bits_transmitted: Annotated[int, Column("bits_transmitted", "count", is_later=True)]
    energy_j: Annotated[float, Column("energy_j", "real")]


class TrafficRow(NamedTuple):
    """Row of `traffic/`: what the whole network, servers included, had spent by an evaluation."""

    t_ns: Annotated[int, Column("t_s", "time", ascends=True)]
    bits_transmitted: Annotated[int, Column("bits_transmitted", "count")]
    airtime_s: Annotated[float, Column("airtime_s", "real")]


WEIGHTS: tuple[Literal["applied"], Literal["learned"]] = ("applied", "learned")
"""Kinds of weights in `graph/`: shares of a mixture, or what the node's method believes."""


class GraphRow(NamedTuple):
    """Row of `graph/`: the weight that a node gives to a peer.

    Attributes
    ----------
    t_ns, node : int
    peer : int
        Equal to `node` for the node's own weight.
    weight : float
    what : {"applied", "learned"}
    """

    t_ns: Annotated[int, Column("t_s", "time")]
    node: Annotated[int, Column("node", "id", is_node=True)]
    peer: Annotated[int, Column("peer", "id", is_node=True)]
    weight: Annotated[float, Column("weight", "real", -inf, is_unknown=True)]
    what: Annotated[str, Column("what", "word", words=WEIGHTS, is_later=True)] = "applied"


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


class UseRow(NamedTuple):
    """Row of `uses/`: the fate of a message that arrived with values.

    `message` is the number of the row of `messages/`, from 0.
    """

    message: Annotated[int, Column("message", "count")]
    t_sent_ns: Annotated[int, Column("t_sent_s", "time")]
    t_arrived_ns: Annotated[int, Column("t_arrived_s", "time")]
    src: Annotated[int, Column("src", "id", is_node=True)]
    dst: Annotated[int, Column("dst", "id", is_node=True)]
    kind: Annotated[str, Column("kind", "word")]
    fate: Annotated[str, Column("fate", "word", words=FATES)]
    t_used_s: Annotated[float | None, Column("t_used_s", "real", is_unknown=True)]
    age_at_use_s: Annotated[float | None, Column("age_at_use_s", "real", is_unknown=True)]
    used_by: Annotated[str, Column("used_by", "word")]
    weight: Annotated[float | None, Column("weight", "real", -inf, is_unknown=True)]


class OtherEventRow(NamedTuple):
    """Row of `wakes/`: an event that is no message.

    Attributes
    ----------
    messages_before : int
        How many messages had been logged: fixes its place among them.
    t_ns, node : int
    what : str
        `woke`, `skipped`, `on`, `off` or `job`.
    number : int
        Of the wake-up, or local steps of the job; 0 for a switch.
    """

    messages_before: Annotated[int, Column("messages_before", "count")]
    t_ns: Annotated[int, Column("t_s", "time")]
    node: Annotated[int, Column("node", "id", is_node=True)]
    what: Annotated[str, Column("what", "word", words=(*WAKES, "on", "off", "job"))]
    number: Annotated[int, Column("count", "count")]


class IntervalRow(NamedTuple):
    """Row of `intervals/`: a time in which a node was in one state.

    `busy_ns`: for how long of it the radio was at work, where senders take turns or back off.
    """

    t_begin_ns: Annotated[int, Column("t_begin_s", "time")]
    t_end_ns: Annotated[int, Column("t_end_s", "time")]
    node: Annotated[int, Column("node", "id", is_node=True)]
    what: Annotated[str, Column("what", "word", words=STATES)]
    busy_ns: Annotated[int, Column("busy_s", "time")]


class HopRow(NamedTuple):
    """Row of `hops/`: one hop of a message by relays, from `relay` to `to`.

    `src`, `dst` and `t_sent_ns` are those of its row in `messages/`, in which attempts and bits of
    all hops are summed up.
    """

    t_begin_ns: Annotated[int, Column("t_begin_s", "time")]
    t_end_ns: Annotated[int, Column("t_end_s", "time")]
    relay: Annotated[int, Column("relay", "id", is_node=True)]
    to: Annotated[int, Column("to", "id", is_node=True)]
    src: Annotated[int, Column("src", "id", is_node=True)]
    dst: Annotated[int, Column("dst", "id", is_node=True)]
    t_sent_ns: Annotated[int, Column("t_sent_s", "time")]
    bits: Annotated[int, Column("bits", "count")]
    outcome: Annotated[str, Column("outcome", "word", words=OUTCOMES)]
    attempts: Annotated[int, Column("attempts", "count")]
    bits_transmitted: Annotated[int, Column("bits_transmitted", "count")]


TABLES = {
    "messages": columns_of(MessageRow),
    "wakes": columns_of(OtherEventRow),
    "metrics": columns_of(MetricRow),
    "traffic": columns_of(TrafficRow),
    "graph": columns_of(GraphRow),
    "uses": columns_of(UseRow),
    "intervals": columns_of(IntervalRow),
    "hops": columns_of(HopRow),
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
    Column("delay_s", "real", is_later=True),
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
    Column("mobility_id", "word", is_unknown=True, is_later=True),
    Column("contact_id", "word", is_unknown=True, is_later=True),
    Column("topology_id", "word", is_unknown=True, is_later=True),
)
"""Of `nodes.parquet`, one row per node in order of id; which there are depends on the scenario."""

WHY_MISSING = {
    "messages": "[run] log_messages is false, or the run has not ended",
    "wakes": "[run] log_messages is false, or the run has not ended",
    "traffic": "it was recorded before traffic was counted",
    "uses": "[run] log_messages is false, or it was recorded before uses were",
    "intervals": "it was played without [metrics] timeline = true",
}
"""Why a run folder may lack a table."""
