"""Python interface of `import netsim`: scenarios, runs and sweeps as Python objects.

`netsim/__init__.py` brings these names on first use; `docs/python.md` shows them at work.
"""
