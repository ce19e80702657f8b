"""Activity of every node, its messages and numbers over time, for ui.perfetto.dev.

A trace in JSON, of a run that has ended or of what there is of one; see `docs/timeline.md`.
"""

from collections.abc import Mapping
from pathlib import Path

from netsim.export.timeline import counters, messages
from netsim.export.timeline.chrome import Writer, lanes, open_writer, process_of
from netsim.recording import node_states as states
from netsim.recording import run_folder
from netsim.recording.node_states import Spans, nanoseconds
from netsim.recording.reader import RunFolder

SUFFIX = ".trace.json"
TABLES = ("intervals", "messages", "wakes")
THREADS = {"compute": 10_000, "train": 10_000, "transmit": 20_000, "receive": 30_000}
"""The first thread of each state that may overlap with itself; `off`, `asleep`, `wait`: `_REST`."""
_NAMES = {10_000: "processor", 20_000: "radio sends", 30_000: "radio receives"}
_REST, _WAKES = 2, 1


def write_run(folder: Path, path: Path) -> None:
    """Write a run as a trace.

    Parameters
    ----------
    folder : Path
        Its folder.
    path : Path
        A name that ends in `.gz` gets a packed file.
    """
    run = RunFolder.begun(folder)
    about = {
        "run": run.label,
        "state": run.state,
        "virtual_s": run.end_s,
        "intervals": "recorded" if run_folder.has(folder, "intervals") else states.NOT_RECORDED,
    }
    node_table = run_folder.nodes(folder)
    roles = (
        node_table["role"].tolist() if "role" in node_table else ["node"] * len(node_table["node"])
    )
    with open_writer(path, about) as writer:
        writer.process(counters.NETWORK, "network")
        for node, role in enumerate(roles):
            name = f"node {node}" + ("" if role == "node" else f" ({role})")
            writer.process(process_of(node), name)
        if run_folder.has(folder, "intervals"):
            for node, spans in states.by_node(folder, run.end_ns):
                _states(writer, node, spans)
        if run_folder.has(folder, "wakes"):
            _wakes(writer, folder)
        if run_folder.has(folder, "messages"):
            messages.write(folder, writer, len(roles))
        counters.write(folder, writer, run.main.name)


def _states(writer: Writer, node: int, spans: Mapping[str, Spans]) -> None:
    pid = process_of(node)
    used: dict[int, str] = {}
    for state, stretches in spans.items():
        begin_ns, end_ns = stretches.begin_ns.tolist(), stretches.end_ns.tolist()
        first = THREADS.get(state, _REST)
        places = lanes(zip(begin_ns, end_ns, strict=True))
        cells = zip(begin_ns, end_ns, stretches.busy_ns.tolist(), places, strict=True)
        for begin, end, busy, lane in cells:
            used[first + lane] = _NAMES.get(first, "off, asleep, waiting")
            details = None if busy == end - begin else {"busy_s": busy / 1e9}
            writer.slice(pid, first + lane, state, begin, end, details)
    for tid, name in used.items():
        writer.thread(pid, tid, name)


def _wakes(writer: Writer, folder: Path) -> None:
    """Instants at which nodes woke, began a training, or were switched."""
    rows = run_folder.read(folder, "wakes", ("t_s", "node", "what", "count"))
    at_ns = nanoseconds(rows["t_s"]).tolist()
    cells = zip(at_ns, rows["node"].tolist(), rows["what"], rows["count"].tolist(), strict=True)
    for time_ns, node, what, count in cells:
        name = {
            "woke": f"wake-up {count}",
            "skipped": f"wake-up {count} skipped",
            "job": f"training of {count} steps asked for",
        }.get(what, f"switched {what}")
        writer.instant(process_of(node), _WAKES, name, time_ns)
    for node in sorted(set(rows["node"].tolist())):
        writer.thread(process_of(node), _WAKES, "wake-ups")
