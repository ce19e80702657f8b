"""Scripts in Tcl, cut into statements and words; nothing in them is executed.

Statements end with a line or a semicolon, words are separated by blanks; quotes, braces and
brackets hold words together, a backslash at the end of a line goes on with the next, and `#` begins
a comment where a statement may begin (Ousterhout, Tcl(n), rules 1 to 10).
"""

from collections.abc import Iterator
from typing import NamedTuple

from netsim.traces.files import Text

_CLOSING = {"{": "}", "[": "]"}


class Word(NamedTuple):
    """A word of a statement.

    Attributes
    ----------
    text : str
        Without its quotes or braces; nothing is substituted.
    line : int
        Where it begins, from 1.
    whole : bool
        Whether quotes or braces hold it together, so that it may be a script.
    """

    text: str
    line: int
    whole: bool


def statements(text: Text, script: str, line: int = 1) -> Iterator[list[Word]]:
    """The statements of a script, each as its words.

    Parameters
    ----------
    text : Text
        The file, for errors.
    script : str
        Of the file, or a part of it.
    line : int
        Where it begins in the file.

    Raises
    ------
    DataError
        If a quote, brace or bracket has no end.
    """
    at, size = 0, len(script)
    found: list[Word] = []
    while at < size:
        sign = script[at]
        if script.startswith("\\\n", at):
            at, line = at + 2, line + 1
        elif sign in "\n;":
            if found:
                yield found
                found = []
            line += sign == "\n"
            at += 1
        elif sign.isspace():
            at += 1
        elif sign in "#%" and not found:
            while at < size and (script[at] != "\n" or script[at - 1] == "\\"):
                line += script[at] == "\n"
                at += 1
        else:
            end, word = _read_word(text, script, at, line)
            found.append(word)
            line += script.count("\n", at, end)
            at = end
    if found:
        yield found


def _read_word(text: Text, script: str, at: int, line: int) -> tuple[int, Word]:
    """Read the word that begins at a place: where it ends, and the word."""
    if script[at] == '"':
        end = at + 1
        while end < len(script) and script[end] != '"':
            end += 2 if script[end] == "\\" else 1
        if end >= len(script):
            raise text.error('a quote (") has no end', line)
        return end + 1, Word(script[at + 1 : end], line, True)
    if script[at] == "{":
        end = _find_closing(text, script, at, line)
        return end, Word(script[at + 1 : end - 1], line, True)
    end = at
    while end < len(script) and not script[end].isspace() and script[end] != ";":
        if script[end] == "[":
            end = _find_closing(text, script, end, line)
        else:
            end += 2 if script[end] == "\\" and script[end + 1 : end + 2] != "\n" else 1
    return min(end, len(script)), Word(script[at:end], line, False)


def _find_closing(text: Text, script: str, at: int, line: int) -> int:
    """Behind the brace or bracket that closes the one at a place."""
    opening, closing, depth, end = script[at], _CLOSING[script[at]], 0, at
    while end < len(script):
        depth += (script[end] == opening) - (script[end] == closing)
        end += 2 if script[end] == "\\" else 1
        if depth == 0:
            return end
    raise text.error(f"a {opening} has no {closing}", line)
