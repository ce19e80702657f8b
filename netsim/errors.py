"""Every error that netsim raises on purpose.

    NetsimError
    ├── ScenarioError    bad input: file, key, value and remedy (exit code 2, nothing written)
    │   ├── DataError    a data set that is not there or not what it should be
    │   ├── FolderBusyError    another process holds the folder of results
    │   └── ReplayError    a run that was broken off can't go on
    ├── ProtocolError    an algorithm used the node's verbs wrongly (exit code 1)
    │   ├── DeadlockError    every process waits and nothing will ever happen
    │   └── UnsuitableError  a scenario that the algorithm can't play (exit code 2)
    ├── ComputeError     a learning job failed: node, virtual time, job (exit code 1)
    ├── AlteredError   a file of a run is not what the run has written (exit code 1)
    ├── InvariantError   a run contradicts itself: which fact, node, time, numbers (exit code 1)
    └── FolderError      the folder of results can't be written any more (exit code 1)
        └── FolderLostError    it was removed, or another process took it over

Each takes one positional message, because SimPy re-raises a crash as `type(error)(*error.args)`.
What comes from outside stands in a message as `one_line` gives it.
"""

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, ends of lines, signs that change the direction of text, half surrogates."""


def one_line(text: object) -> str:
    r"""A text from outside as it may stand in a line of a message.

    Ends of lines and all else that controls a terminal become what Python writes for them, such as
    `\n` and `\x1b`.
    """
    return _UNPRINTABLE.sub(_escape, str(text))


def printable(text: str) -> str:
    """A text of several lines as a terminal may see it; see `one_line`."""
    return _UNPRINTABLE.sub(lambda m: m[0] if m[0] in "\n\t" else _escape(m), text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


class NetsimError(Exception):
    """Base of all errors raised on purpose."""


class ScenarioError(NetsimError):
    """Bad input. The message lists every problem found, one a line."""


class DataError(ScenarioError):
    """A data set is missing or malformed; says where it was looked for and how to get it."""


class FolderBusyError(ScenarioError):
    """Another process writes into the folder of results, or left it unfinished; names it."""


class ReplayError(ScenarioError):
    """A run can't go on: played again, it takes another course than it did at first."""


class ProtocolError(NetsimError):
    """An algorithm used a verb wrongly: a foreign Ref, an unserved request, a bad schedule."""


class UnsuitableError(ScenarioError, ProtocolError):
    """An algorithm can't play the scenario, which it finds when it makes its processes."""


class DeadlockError(ProtocolError):
    """No event is left, yet processes wait; the message names them."""


class ComputeError(NetsimError):
    """A learning job failed; the message names node, virtual time and job."""


class FolderError(NetsimError):
    """A file of a folder of results can't be written: which one, and why."""


class FolderLostError(FolderError):
    """A folder of results was removed, or taken over by another process, during a run."""


class AlteredError(NetsimError):
    """A file of a run folder is missing, or is not what the run has written: which, and how."""


class InvariantError(NetsimError):
    """A run contradicts itself; the message names the fact, node, virtual time and both numbers."""


class RunWarning(UserWarning):
    """Something to know before reading the numbers of a run; `run.warnings` has it, too."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that Python, NumPy, PyTorch or Arrow could not get memory."""
    text = str(error).lower()
    said = ("allocate memory", "out of memory", "std::bad_alloc", "malloc of size", "alloc_cpu")
    return isinstance(error, MemoryError) or any(words in text for words in said)
