"""Training and looking at models by a kernel of our own in C++, whole nodes at a time.

`trace` follows a module's forward pass, `plan` lays its layers out as a table, `kernel` runs it.
"""
