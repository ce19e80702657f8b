"""Device of a node: its on and off times, computing speed and energy."""
