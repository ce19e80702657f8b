"""Standard output and standard error as consoles that wrap sentences and show text as text."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from netsim.errors import printable


class _Printable:
    """Text for the terminal without control characters of its own."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


class _OnlyText(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(inner) for inner in renderables]


class _Console(Console):
    """Console that breaks sentences between words where the width of the reader is known.

    That is on a terminal, and of results also where COLUMNS is set. Elsewhere (in a pipe or a file)
    a sentence stays one line. No word is broken: names and paths stay whole.
    """

    def __init__(self, stderr: bool) -> None:
        # Text comes from anywhere: in it are neither markup nor control characters.
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True, markup=False, emoji=False)
        self.push_render_hook(_OnlyText())
        self.wraps = self.is_terminal or (not stderr and "COLUMNS" in os.environ)

    def print(self, *objects: Any, **options: Any) -> None:
        if len(objects) == 1 and isinstance(objects[0], Table):  # no name in it is cut
            endless = self.options.update(max_width=10_000)
            least = Measurement.get(self, endless, objects[0]).minimum
            objects[0].width = least if least > self.width else objects[0].width
        if self.wraps and len(objects) == 1 and isinstance(objects[0], str | Text) and not options:
            objects = (_wrapped(objects[0], self.width),)
        super().print(*objects, **options)

    def print_whole(self, *lines: str) -> None:
        """Print lines that somebody copies, such as commands: they are never broken."""
        for line in lines:
            self.print(Text(line), soft_wrap=True)

    def print_beside(self, rows: Sequence[tuple[Text, Text]], most: int) -> None:
        """Print names and, beside each, what it is; no name and no other word is broken.

        Parameters
        ----------
        rows : sequence of (Text, Text)
            A name with its indent, and a sentence.
        most : int
            Columns for names; where one has more, its sentence stands below it.
        """
        widest = max((len(name) for name, _ in rows if len(name) <= most), default=0)
        for name, said in rows:
            gap = widest + 2
            if len(name) > widest and said:
                self.print(_wrapped(name, self.width, len(name) - len(name.plain.lstrip()) + 2))
                name = Text()
            for line in _wrapped(said, max(20, self.width - gap)).split("\n", allow_blank=True):
                first = Text.assemble(name, " " * (gap - len(name)), line)
                first.rstrip()
                super().print(first)
                name = Text()

    def warn(self, text: str) -> None:
        """Print what a user should know."""
        self.print(Text(text, style="yellow"))

    def print_item(self, mark: str, text: str) -> None:
        """Print a mark and a sentence whose other lines begin below its first word."""
        item = Text(f"{mark} {text}")
        self.print(_wrapped(item, self.width, len(mark) + 1) if self.wraps else item)


def _wrapped(text: str | Text, width: int, hanging: int | None = None) -> Text:
    """Break lines at blanks, where they are longer than `width` columns.

    Number, ± and deviation stay together.

    Parameters
    ----------
    hanging : int or None
        Columns before the later lines of a broken one; None: as many as before its first word.
    """
    lines = []
    for line in (Text(text) if isinstance(text, str) else text).split("\n", allow_blank=True):
        plain = line.plain
        indent = len(plain) - len(plain.lstrip()) if hanging is None else hanging
        breaks, column = [], 0
        for word in re.finditer(r"\s*\S+(?: ± \S+)*", plain):
            if column and column + cell_len(word.group()) > width:
                breaks.append(word.end() - len(word.group().lstrip()))
                column = indent + cell_len(word.group().lstrip())
            else:
                column += cell_len(word.group())
        first, *others = line.divide(breaks)
        lines += [first, *(Text(" " * indent) + other for other in others)]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def out() -> _Console:
    """Results: standard output."""
    return _Console(stderr=False)


def err() -> _Console:
    """Progress and errors: standard error."""
    return _Console(stderr=True)


@contextmanager
def waiting(words: str, quiet: bool = False) -> Iterator[None]:
    """Say on a terminal what is waited for, in a line that goes when it is over."""
    console = err()
    if quiet or not console.is_terminal:
        yield
    else:
        with console.status(Text(words), refresh_per_second=8):
            yield


def loading(quiet: bool = False) -> AbstractContextManager[None]:
    """Say on a terminal that libraries are imported, for seconds."""
    return waiting("loading PyTorch", quiet)
