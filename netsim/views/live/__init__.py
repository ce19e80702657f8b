"""The page of a run that is still being played, on this machine's own loopback address.

`server` answers browsers, on a thread of the run's process; `builder` makes the page's numbers of
what the run has written by then, in a process of its own at low priority, so that the run does not
wait for it; `pages` says when that is due. `assets/live.js` of the report asks for what is new.
"""
