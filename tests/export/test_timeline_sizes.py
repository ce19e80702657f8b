"""Bits of sendings in a timeline: those of every message, of whatever sizes a sender has sent."""

import json

from netsim.export.timeline import messages
from netsim.export.timeline.chrome import open_writer
from netsim.recording.recorder import Recorder


def test_messages_of_one_instant_have_their_own_bits(tmp_path):
    """A slice of several receivers names one size, so it has messages of that size alone."""
    sizes = {1: 100, 2: 7_000, 3: 100, 4: 20}
    recorder = Recorder(tmp_path / "run")
    for dst, bits in sizes.items():
        recorder.message(0, 10**9, 0, dst, "Model", bits, 1, 0, None, "delivered", 1, 1.0, bits)
    recorder.close()
    with open_writer(tmp_path / "out.json", {}) as writer:
        messages.write(tmp_path / "run", writer, 5)
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    told = {}
    for event in events:
        for dst in event.get("args", {}).get("to", ()):
            told[dst] = event["args"]["bits"]
    assert told == sizes
