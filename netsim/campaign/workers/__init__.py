"""Playing the runs of a sweep: here, in processes of this machine, or on a Ray cluster."""
