"""Messages about a run that failed."""

import traceback

from netsim.errors import NetsimError
from netsim.scenario.component_files import author_line


def failure_text(error: BaseException) -> str:
    """An error of a run in short: what it is, the algorithm's line that led to it, and its notes.

    Returns
    -------
    str
        One or several lines. The line of code is the last one of an algorithm; where no algorithm
        is involved and the error is none of netsim's own, the one that raised it.
    """
    text, line = str(error), author_line(error)
    if not isinstance(error, NetsimError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = line or f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    if is_out_of_memory(error) and "out of memory" not in text.lower():
        text = f"out of memory: {text}"
    notes = getattr(error, "__notes__", [])
    return "\n".join([text, *([line] if line else []), *notes])


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that Python, NumPy, PyTorch or Arrow could not get memory."""
    text = str(error).lower()
    said = ("allocate memory", "out of memory", "std::bad_alloc", "malloc of size", "alloc_cpu")
    return isinstance(error, MemoryError) or any(words in text for words in said)
