"""Activity of every node over time: totals, and a picture that Perfetto opens.

`states` reads intervals, `chrome` writes them in the Chrome Trace Event format, `messages` and
`counters` say what of a run becomes which of its events.
"""
