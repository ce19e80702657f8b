"""Every error that netsim raises on purpose.

    NetsimError
    ├── ScenarioError    bad input: file, key, value and remedy (exit code 2, nothing written)
    │   └── DataError    a data set that is not there or not what it should be
    ├── ProtocolError    an algorithm used the node's verbs wrongly (exit code 1)
    │   └── DeadlockError    every process waits and nothing will ever happen
    └── ComputeError     a learning job failed: node, virtual time, job (exit code 1)

Each takes one positional message, because SimPy re-raises a crash as `type(error)(*error.args)`.
"""


class NetsimError(Exception):
    """Base of all errors raised on purpose."""


class ScenarioError(NetsimError):
    """Bad input. The message lists every problem found, one a line."""


class DataError(ScenarioError):
    """A data set is missing or malformed; says where it was looked for and how to get it."""


class ProtocolError(NetsimError):
    """An algorithm used a verb wrongly: a foreign Ref, an unserved request, a bad schedule."""


class DeadlockError(ProtocolError):
    """No event is left, yet processes wait; the message names them."""


class ComputeError(NetsimError):
    """A learning job failed; the message names node, virtual time and job."""
