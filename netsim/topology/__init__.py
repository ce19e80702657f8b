"""Who may talk to whom; one topology a file, its name is its `kind` in a scenario."""
