"""Papers' tables beside our own: played, collected and written by one command each."""
