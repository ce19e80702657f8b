"""Links: wired and ideal ones, and radios in the air."""
