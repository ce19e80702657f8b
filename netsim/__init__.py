"""netsim: a discrete-event network simulator in which nodes learn."""
