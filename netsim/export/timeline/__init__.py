"""Activity of every node over time: totals, and a picture that Perfetto opens.

`chrome` writes the Chrome Trace Event format; `messages` and `counters` say what of a run becomes
which of its events, `netsim.recording.node_states` what every node was at.
"""
