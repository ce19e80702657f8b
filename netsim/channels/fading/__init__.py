"""One fading model a file; the file's name is its `kind` in a scenario."""
