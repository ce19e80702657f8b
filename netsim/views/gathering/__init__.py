"""The numbers that views share: tables of runs and sweeps, estimates, names of axes."""
