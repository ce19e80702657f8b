"""Play many runs: grids and searches, worker processes and Ray, resume, verify."""
