"""What is said of a run that failed."""

import traceback

from netsim.errors import NetsimError
from netsim.scenario.algorithm_files import author_line


def failure_text(error: BaseException) -> str:
    """An error of a run in short: what it is, the algorithm's line that led to it, and its notes.

    Returns
    -------
    str
        One or several lines. The line of code is the last one of an algorithm; where no algorithm
        is involved and the error is none of netsim's own, the one that raised it.
    """
    text, line = str(error), author_line(error)
    if is_out_of_memory(error):
        text = f"out of memory ({type(error).__name__}: {text.partition(chr(10))[0]})"
    elif not isinstance(error, NetsimError):
        text = f"{type(error).__name__}: {text}"
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = line or f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    notes = getattr(error, "__notes__", [])
    return "\n".join([text, *([line] if line else []), *notes])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, NumPy, PyTorch or Arrow could not get memory."""
    said = ("can't allocate memory", "out of memory", "std::bad_alloc", "malloc of size")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | OSError) and any(words in str(error) for words in said)
    )
