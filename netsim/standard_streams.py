"""Standard output and error of a process that computes: printing never ends it.

Whoever reads may go away (`netsim run s | head`), a file may grow on a full disk, a stream may be
closed before the process begins (`>&-`), and an encoding may lack a sign. None of this changes what
is computed or the exit code: signs that can't be encoded are replaced, and what can't be written is
left out.
"""

import codecs
import errno
import io
import os
import sys
import time
import unicodedata
from typing import TextIO

_PLAIN = {
    **dict.fromkeys("\u00b7\u2013\u2014\u2212", "-"),
    "\u00b1": "+-",
    "\u00b5": "u",
    "\u03bc": "u",
    "\u00d7": "x",
    "\u2026": "...",
    "\u2192": "->",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u0394": "D",
}
"""Stand-in for a sign that can't be encoded; a letter loses its accent, all else is `?`."""
_WAIT_S = 0.01
"""Until a reader that is slow (a pipe that does not block) is tried again."""


class _Unfailing(io.RawIOBase):
    """A file descriptor that takes everything; after its first error it drops what it is given.

    Attributes
    ----------
    lost : OSError or None
        That error.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.lost: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, content: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Write all of it, or note why that fails."""
        with memoryview(content) as whole, whole.cast("B") as rest:
            written = 0
            while written < len(rest) and self.lost is None:
                try:
                    written += os.write(self._descriptor, rest[written:])
                except BlockingIOError:
                    time.sleep(_WAIT_S)
                except OSError as error:
                    self.lost = error
            return len(rest)


def never_fail() -> None:
    """Let nothing that is printed in this process fail, from now on to its end."""
    _open_closed_ones()
    sys.stdout, sys.stderr = _replacing(sys.stdout, 1), _replacing(sys.stderr, 2)


def take_input() -> int:
    """Descriptor of what standard input was: for orders. What else reads there finds nothing."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


def tell_what_was_lost() -> None:
    """Say on standard error if standard output is incomplete.

    Nothing is said where the reader has gone away, or the stream was closed on purpose.
    """
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    error = raw.lost if isinstance(raw, _Unfailing) else None
    if error is not None and error.errno not in (errno.EPIPE, errno.EBADF):
        sys.stderr.write(f"standard output is incomplete: {error.strerror}\n")
    sys.stderr.flush()


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Write signs that can't be encoded in ASCII: an error handler of codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    bare = (_PLAIN.get(sign) or unicodedata.normalize("NFKD", sign)[:1] for sign in signs)
    return "".join(sign if sign.isascii() else "?" for sign in bare), error.end


codecs.register_error("netsim.plainer", _plainer)


def _open_closed_ones() -> None:
    """Let closed standard descriptors lead to nowhere.

    Else the next file opened takes their number, and what a library prints goes into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)


def _replacing(stream: TextIO | None, descriptor: int) -> TextIO:
    """A stream like another one that neither fails nor refuses a sign.

    Parameters
    ----------
    stream : text file or None
        None: the descriptor was closed when the process began.
    descriptor : int
        What the stream writes to, if it writes to a descriptor at all.
    """
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8", errors="replace")
    try:
        descriptor = stream.fileno()
        stream.flush()
    except (OSError, ValueError, AttributeError):
        return stream  # of a notebook or a test: no descriptor
    line_by_line = bool(getattr(stream, "line_buffering", False))
    return io.TextIOWrapper(
        io.BufferedWriter(_Unfailing(descriptor)),  # type: ignore[type-var]
        encoding=stream.encoding,
        errors="netsim.plainer",
        line_buffering=line_by_line,
        write_through=bool(getattr(stream, "write_through", False)),
    )
