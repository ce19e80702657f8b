"""Messages between nodes: their classes and sizes, mailboxes, and the barrier of rounds."""
